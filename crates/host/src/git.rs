//! Git in the repository around a folder. Nothing is written into the repository except a requested worktree, and its
//! configuration starts no process: no hooks, no file watchers, no external diffs.

mod status;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use status::Facts;

use crate::process::{self, CommandOutput};

/// Timeout of one command. A snapshot of a huge tree that takes longer is left out of the run report.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum bytes of a listing.
const LISTING: u64 = 4 * 1024 * 1024;

/// Maximum files listed in a difference; the others are counted.
const FILES: usize = 500;

/// Settings that win over the repository's configuration.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.safecrlf=false",
    "core.autocrlf=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
];

/// The repository around a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top folder of its working tree.
    pub top: PathBuf,
    /// The folder below `top`, empty for `top` itself.
    pub below: PathBuf,
    /// The folder of the objects.
    objects: PathBuf,
    /// The index of this working tree.
    index: PathBuf,
    /// `None` before the first commit.
    pub head: Option<String>,
}

/// A working tree at one moment: the commit, and a tree of the files that were really there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub head: Option<String>,
    pub tree: String,
}

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedFile {
    pub path: String,
    /// Lines added and removed; absent for a binary file.
    pub insertions: Option<u64>,
    pub deletions: Option<u64>,
}

/// The changes between two snapshots.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    pub files: Vec<ChangedFile>,
    /// Files beyond the listed ones.
    pub more: u64,
    pub insertions: u64,
    pub deletions: u64,
}

/// Runs git on one repository.
#[derive(Clone, Debug)]
pub struct Git {
    /// The whole environment of git: the given `PATH`, fixed settings, and `scratch` as the home.
    env: Vec<(OsString, OsString)>,
    /// The folder of the snapshots' objects, so that the repository stays unchanged.
    scratch: PathBuf,
}

impl Git {
    /// Creates a `Git` with its files below `scratch`, which exists.
    pub fn new(scratch: &Path, path: Option<OsString>) -> Self {
        let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut env = vec![
            set("GIT_CONFIG_NOSYSTEM", "1"),
            set("GIT_CONFIG_GLOBAL", "/dev/null"),
            set("GIT_TERMINAL_PROMPT", "0"),
            set("GIT_OPTIONAL_LOCKS", "0"),
            set("LC_ALL", "C"),
            (OsString::from("HOME"), scratch.as_os_str().to_owned()),
        ];
        env.extend(path.map(|path| (OsString::from("PATH"), path)));
        Self { env, scratch: scratch.to_owned() }
    }

    /// Returns the repository around `folder`; the error is a sentence fragment.
    pub async fn find(&self, folder: &Path) -> Result<Repository, String> {
        // Most folders without a repository are found without running git.
        if !folder.ancestors().any(|above| above.join(".git").exists()) {
            return Err("no folder above it has a `.git`".to_owned());
        }
        let answer = self
            .ask(
                folder,
                &[
                    "rev-parse",
                    "--path-format=absolute",
                    "--show-toplevel",
                    "--git-path",
                    "objects",
                    "--git-path",
                    "index",
                ],
                &[],
                LISTING,
            )
            .await?;
        let text = text(&answer.stdout)?;
        let [top, objects, index] = text.lines().collect::<Vec<_>>()[..] else {
            return Err("git's answer cannot be read".to_owned());
        };
        let top = PathBuf::from(top);
        let below = folder.strip_prefix(&top).map_err(|_| "it lies outside of the working tree")?.to_owned();
        let head = self.head(folder).await;
        Ok(Repository { top, below, objects: objects.into(), index: index.into(), head })
    }

    async fn head(&self, folder: &Path) -> Option<String> {
        let arguments = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let answer = self.ask(folder, &arguments, &[], LISTING).await.ok()?;
        Some(text(&answer.stdout).ok()?.trim().to_owned())
    }

    /// Takes a snapshot of the working tree of `repository`, with files that are neither committed nor ignored.
    pub async fn snapshot(&self, repository: &Repository) -> Result<Snapshot, String> {
        let index = self.scratch.join("index");
        // A copy of the repository's index shows which files did not change, so that git reads only the others.
        match tokio::fs::copy(&repository.index, &index).await {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let _ = tokio::fs::remove_file(&index).await;
            }
            Err(error) => return Err(error.to_string()),
        }
        let env = self.aside(repository, &index);
        self.ask(&repository.top, &["add", "--all", "--ignore-errors", "--", "."], &env, LISTING).await?;
        let answer = self.ask(&repository.top, &["write-tree"], &env, LISTING).await?;
        let tree = text(&answer.stdout)?.trim().to_owned();
        Ok(Snapshot { head: self.head(&repository.top).await, tree })
    }

    /// Returns the changes from `before` to `after`.
    pub async fn difference(
        &self,
        repository: &Repository,
        before: &str,
        after: &str,
    ) -> Result<Difference, String> {
        let options = ["-z", "--numstat"];
        let answer = self.diff_tree(repository, &options, [before, after], LISTING).await?;
        Ok(numbers(&answer.stdout))
    }

    /// Returns the changes as a patch for `git apply`; `None` if it has more than `most` bytes or is not UTF-8.
    pub async fn patch(
        &self,
        repository: &Repository,
        before: &str,
        after: &str,
        most: usize,
    ) -> Result<Option<String>, String> {
        let options = ["-p", "--binary", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"];
        let answer = self.diff_tree(repository, &options, [before, after], most as u64).await?;
        // Git may take a file for text that is not UTF-8. A damaged patch is worse than none.
        Ok((!answer.cut).then(|| String::from_utf8(answer.stdout).ok()).flatten())
    }

    /// Compares two trees, without renames and without programs that the repository names.
    async fn diff_tree(
        &self,
        repository: &Repository,
        options: &[&str],
        trees: [&str; 2],
        most: u64,
    ) -> Result<CommandOutput, String> {
        let env = self.aside(repository, &self.scratch.join("index"));
        let fixed = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv"];
        self.ask(&repository.top, &[&fixed, options, &trees].concat(), &env, most).await
    }

    /// Creates a worktree of `repository` at its HEAD in `place`, which must not exist.
    pub async fn add_worktree(
        &self,
        repository: &Repository,
        place: &Path,
        reason: &str,
    ) -> Result<(), String> {
        let Some(head) = &repository.head else { return Err("it has no commit yet".to_owned()) };
        let arguments: [&OsStr; 8] = [
            "worktree".as_ref(),
            "add".as_ref(),
            "--detach".as_ref(),
            "--lock".as_ref(),
            "--reason".as_ref(),
            reason.as_ref(),
            place.as_ref(),
            head.as_ref(),
        ];
        self.ask(&repository.top, &arguments, &[], LISTING).await.map(drop)
    }

    /// Removes a worktree with all files in it.
    pub async fn remove_worktree(&self, repository: &Repository, place: &Path) -> Result<(), String> {
        let arguments: [&OsStr; 5] =
            ["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), "--force".as_ref(), place.as_ref()];
        self.ask(&repository.top, &arguments, &[], LISTING).await.map(drop)
    }

    /// Unlocks a worktree that is kept.
    pub async fn release_worktree(&self, repository: &Repository, place: &Path) {
        let arguments: [&OsStr; 3] = ["worktree".as_ref(), "unlock".as_ref(), place.as_ref()];
        let _ = self.ask(&repository.top, &arguments, &[], LISTING).await;
    }

    /// Returns the variables that move new objects and the index to the scratch folder.
    fn aside(&self, repository: &Repository, index: &Path) -> Vec<(OsString, OsString)> {
        vec![
            ("GIT_INDEX_FILE".into(), index.into()),
            ("GIT_OBJECT_DIRECTORY".into(), self.scratch.join("objects").into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), repository.objects.clone().into()),
            no_attributes(),
        ]
    }

    async fn ask(
        &self,
        folder: &Path,
        arguments: &[impl AsRef<OsStr>],
        env: &[(OsString, OsString)],
        most: u64,
    ) -> Result<CommandOutput, String> {
        let mut argv = vec![OsString::from("git")];
        argv.extend(SETTINGS.iter().flat_map(|setting| ["-c", setting]).map(OsString::from));
        argv.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        let env = [&self.env[..], env].concat();
        let answer = process::output(&argv, folder, &env, most, GIT_TIMEOUT).await?;
        if answer.code == Some(0) {
            return Ok(answer);
        }
        let complaint = String::from_utf8_lossy(&answer.stderr);
        let line = complaint.lines().next().unwrap_or("git failed without a word");
        Err(line.strip_prefix("fatal: ").unwrap_or(line).to_owned())
    }
}

/// Returns the variable that keeps git from reading attributes, because attributes can start programs as filters.
fn no_attributes() -> (OsString, OsString) {
    let empty_tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    ("GIT_ATTR_SOURCE".into(), empty_tree.into())
}

/// Parses the output of `--numstat -z`.
fn numbers(listing: &[u8]) -> Difference {
    let mut difference = Difference::default();
    for line in listing.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let mut parts = line.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (insertions, deletions): (Option<u64>, Option<u64>) = (added.parse().ok(), removed.parse().ok());
        difference.insertions += insertions.unwrap_or(0);
        difference.deletions += deletions.unwrap_or(0);
        if difference.files.len() < FILES {
            difference.files.push(ChangedFile { path: path.to_owned(), insertions, deletions });
        } else {
            difference.more += 1;
        }
    }
    difference
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "git's answer is not UTF-8".to_owned())
}
