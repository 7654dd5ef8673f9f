//! The status of a working tree, for a user who answers a question about it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::private_dir::{Attributes, Entry, PrivateDir, copy_index, join, split};
use super::repository::Repository;
use super::snapshot::parse_numbers;
use super::{Git, blocking, name};
use crate::temporary_folder;

/// Timeout of a status, because a user waits for it. A status that takes longer is left out.
const GLANCE: Duration = Duration::from_secs(2);

/// Maximum depth of submodules that are read.
const MAX_DEPTH: usize = 4;

/// Maximum bytes of a listing. A tree with more changes has [`Facts::more`] set.
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024;

/// Maximum names of changed files.
const NAMED: usize = 20;

/// The state of a working tree, from git alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit, abbreviated; `None` before the first one.
    pub commit: Option<String>,
    /// Number of files that differ from the commit, new ones included; a folder of new files counts once.
    pub dirty: usize,
    /// Set if there are more than were read.
    pub more: bool,
    /// The first of these files, each with git's two letters for its status.
    pub files: Vec<(String, String)>,
    /// Lines that differ from the commit in files that git knows.
    pub insertions: u64,
    pub deletions: u64,
}

impl Git {
    /// Returns the state of the working tree around `folder`. The error is a sentence fragment.
    pub async fn facts(&self, folder: &Path) -> Result<Facts, String> {
        tokio::time::timeout(GLANCE, self.read_facts(folder, MAX_DEPTH))
            .await
            .unwrap_or_else(|_| Err(format!("git took longer than {} s", GLANCE.as_secs())))
    }

    async fn read_facts(&self, folder: &Path, depth: usize) -> Result<Facts, String> {
        let repository = self.find(folder).await?;
        let scratch = Removed(temporary_folder::path());
        let private = PrivateDir::open(scratch.0.clone(), &repository).await?;
        if !repository.file_mode {
            let config = scratch.0.join("config");
            let add = |text: String| std::fs::write(&config, text + "[core]\n\tfileMode = false\n");
            std::fs::read_to_string(&config).and_then(add).map_err(|error| error.to_string())?;
        }
        let index = private.index();
        let (git_dir, copy) = (repository.git_dir.clone(), index.clone());
        blocking(move || copy_index(&git_dir, &copy)).await?;
        let entries = self.entries(&private, &index).await?;
        self.clear_flags(&private, &repository, &entries).await?;
        // Git would read the configuration of each submodule in the index, so submodules are taken out and compared
        // below.
        let submodules: Vec<&Entry> = entries.iter().filter(|entry| entry.mode == "160000").collect();
        let paths: Vec<Vec<u8>> = submodules.iter().map(|entry| entry.path.clone()).collect();
        self.forget(&private, &paths).await?;
        let status = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=normal",
            "--no-renames",
            "--ignore-submodules=all",
        ];
        let env = private.env(&repository.top, &index, Attributes::Ignored);
        let status = self.ask(&repository.top, &status, &env, b"", MAX_OUTPUT_BYTES).await?;
        let mut facts = read_status(&String::from_utf8_lossy(&status.stdout), &|path| {
            submodules.iter().any(|submodule| path.strip_suffix('/') == Some(&*name(&submodule.path)))
        });
        facts.more = status.cut;
        facts.commit = repository.head.as_ref().map(|commit| commit.chars().take(10).collect());
        facts.branch.clone_from(&repository.branch);
        if repository.head.is_some() {
            let diff = [
                "diff",
                "--numstat",
                "-z",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=all",
                "HEAD",
                "--",
            ];
            let diff = self.look(&private, &index, &diff, b"").await?;
            let numbers = parse_numbers(&diff);
            facts.insertions = numbers.values().filter_map(|numbers| numbers.0).sum();
            facts.deletions = numbers.values().filter_map(|numbers| numbers.1).sum();
        }
        let mut committed = Vec::new();
        if repository.head.is_some() && !submodules.is_empty() {
            let mut arguments = vec!["ls-tree".into(), "-z".into(), "HEAD".into(), "--".into()];
            arguments.extend(paths.iter().map(|path| OsStr::from_bytes(path).to_owned()));
            committed = self.look(&private, &index, &arguments, b"").await?;
        }
        for submodule in submodules {
            let path = name(&submodule.path);
            let recorded = format!("160000 commit {}\t{path}", submodule.id);
            let is_committed = split(&committed).any(|line| line == recorded.as_bytes());
            if !is_committed || self.differs(&repository.top.join(&path), &submodule.id, depth).await {
                facts.add(" M", &path);
            }
        }
        Ok(facts)
    }

    /// Returns whether a submodule's working tree differs from the commit `id`. Git itself would start a second git in
    /// it, with the submodule's own configuration.
    async fn differs(&self, top: &Path, id: &str, depth: usize) -> bool {
        let Some(submodule) = Repository::at(top) else { return top.join(".git").symlink_metadata().is_ok() };
        if submodule.head.as_deref() != Some(id) || depth == 0 {
            return true;
        }
        Box::pin(self.read_facts(top, depth - 1)).await.map_or(true, |facts| facts.dirty > 0)
    }

    /// Clears the flags of entries that would hide changes of their files.
    async fn clear_flags(
        &self,
        private: &PrivateDir,
        repository: &Repository,
        entries: &[Entry],
    ) -> Result<(), String> {
        let exists = |entry: &&Entry| repository.top.join(name(&entry.path)).symlink_metadata().is_ok();
        let assumed = entries.iter().filter(|entry| entry.tag.is_ascii_lowercase());
        let skipped = entries.iter().filter(|entry| entry.tag.eq_ignore_ascii_case(&b'S')).filter(exists);
        for (option, input) in [
            ("--no-assume-unchanged", join(assumed.map(|entry| entry.path.as_slice()))),
            ("--no-skip-worktree", join(skipped.map(|entry| entry.path.as_slice()))),
        ] {
            if !input.is_empty() {
                self.look(private, &private.index(), &["update-index", "-z", option, "--stdin"], &input)
                    .await?;
            }
        }
        Ok(())
    }
}

/// A folder that is removed when this is dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Facts {
    fn add(&mut self, letters: &str, name: &str) {
        self.dirty += 1;
        if self.files.len() < NAMED {
            self.files.push((letters.replace('.', " "), name.to_owned()));
        }
    }
}

/// Returns a word for git's two letters of a file in [`Facts::files`], because few know what `??` or `UU` means.
pub fn change_word(letters: &str) -> &'static str {
    match letters.trim_start().chars().next() {
        Some('?' | 'A') => "new",
        Some('D') => "deleted",
        Some('R') => "renamed",
        Some('U') => "in conflict",
        _ => "changed",
    }
}

/// Parses the output of `git status --porcelain=v2 -z`; git's manual defines the format. New folders that are known are
/// left out.
fn read_status(listing: &str, is_known: &dyn Fn(&str) -> bool) -> Facts {
    let mut facts = Facts::default();
    for entry in listing.split('\0') {
        let (kind, rest) = entry.split_once(' ').unwrap_or_default();
        let file = match kind {
            // A changed file: eight fields before the name, with the letters first. A conflict has ten.
            "1" => fields(rest, 7),
            "u" => fields(rest, 9),
            "?" => Some(("??", rest)).filter(|_| !is_known(rest)),
            _ => None,
        };
        if let Some((letters, name)) = file {
            facts.add(letters, name);
        }
    }
    facts
}

/// Returns the first field of an entry and its name, which follows after `before` fields.
fn fields(entry: &str, before: usize) -> Option<(&str, &str)> {
    let letters = entry.split(' ').next()?;
    Some((letters, entry.splitn(before + 1, ' ').nth(before)?))
}

#[cfg(test)]
mod tests {
    use super::{Facts, change_word, read_status};

    #[test]
    fn reads_a_status_with_every_kind_of_entry() {
        let listing = "1 .M N... 100644 100644 100644 aaaa bbbb a b.txt\0\
            u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both.rs\0? new/\0? sub/\0";
        let file = |letters: &str, name: &str| (letters.to_owned(), name.to_owned());
        assert_eq!(
            read_status(listing, &|folder| folder == "sub/"),
            Facts {
                dirty: 3,
                files: vec![file(" M", "a b.txt"), file("UU", "both.rs"), file("??", "new/")],
                ..Facts::default()
            }
        );
    }

    #[test]
    fn each_state_of_a_file_has_a_word() {
        let words = ["??", "A ", " D", "R ", "UU", " M", ""].map(change_word);
        assert_eq!(words, ["new", "new", "deleted", "renamed", "in conflict", "changed", "changed"]);
    }
}
