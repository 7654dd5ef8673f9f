//! A working tree on its way to another machine: what cannot travel, uncommitted changes as a commit, and ignored files.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::private_dir::{Attributes, PrivateDir, copy_index, join, split};
use super::repository::Repository;
use super::worktree::{INCLUDE, included};
use super::{Author, Git, MAX_LISTING_BYTES, blocking, name};

/// The references of the commits that tasks on other machines work on, as long as those run.
const BASES: &str = "refs/adjutant/base";

/// Files of attributes that are searched for Git LFS.
const MAX_ATTRIBUTE_FILES: usize = 1_000;

impl Git {
    /// Refuses a repository that cannot travel as a bundle, and names what is in the way.
    pub async fn check_travel(&self, repository: &Repository, head: &str) -> Result<(), String> {
        if repository.common_dir.join("shallow").exists() {
            return Err("the repository is a shallow clone; `git fetch --unshallow` completes it".to_owned());
        }
        let private = PrivateDir::open(self.scratch.join("travel"), repository).await?;
        let listing = self.look(&private, &private.index(), &["ls-tree", "-r", "-z", head], b"").await?;
        let mut attributes = Vec::new();
        for line in split(&listing) {
            let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let (entry, path) = (&line[..tab], &line[tab + 1..]);
            if entry.starts_with(b"160000 ") {
                return Err(format!(
                    "the repository has the submodule `{}`, which does not travel",
                    name(path)
                ));
            }
            let is_attributes = path == b".gitattributes" || path.ends_with(b"/.gitattributes");
            if let Some(id) = entry.rsplit(|byte| *byte == b' ').next().filter(|_| is_attributes) {
                attributes.push((name(id), name(path)));
            }
        }
        for (id, path) in attributes.into_iter().take(MAX_ATTRIBUTE_FILES) {
            let text = self.look(&private, &private.index(), &["cat-file", "blob", &id], b"").await?;
            if text.windows(b"filter=lfs".len()).any(|part| part == b"filter=lfs") {
                return Err(format!(
                    "the repository keeps files in Git LFS (`{path}`), which does not travel"
                ));
            }
        }
        Ok(())
    }

    /// Commits the files of a working tree as they are now, without those that are ignored, on its HEAD. Neither a branch nor
    /// the index nor a file changes. Returns HEAD where nothing differs from it; more than `limit` bytes of changed files are
    /// refused. A reference of the task keeps the commit until [`Git::forget_state`].
    pub async fn commit_state(
        &self,
        repository: &Repository,
        task: &str,
        author: &Author,
        limit: u64,
    ) -> Result<String, String> {
        let head = repository.head.clone().ok_or_else(|| "the repository has no commit yet".to_owned())?;
        let folder = self.scratch.join("state");
        let stale = folder.clone();
        blocking(move || fs::remove_dir_all(stale).or_else(absent).map_err(|error| error.to_string()))
            .await?;
        let private = PrivateDir::open(folder, repository).await?;
        let (git_dir, index) = (repository.git_dir.clone(), private.index());
        let copy = index.clone();
        blocking(move || copy_index(&git_dir, &copy)).await?;
        let mut env = private.env(&repository.top, &index, Attributes::Honored);
        env.push(("GIT_OBJECT_DIRECTORY".into(), repository.objects().into()));
        for role in ["AUTHOR", "COMMITTER"] {
            env.push((format!("GIT_{role}_NAME").into(), author.name.clone().into()));
            env.push((format!("GIT_{role}_EMAIL").into(), author.email.clone().into()));
        }
        let text = async |arguments: &[&str], input: &[u8]| {
            let answer = self.ask(&repository.top, arguments, &env, input, MAX_LISTING_BYTES).await?;
            Ok::<_, String>(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        };
        if !index.exists() {
            text(&["read-tree", &head], b"").await?;
        }
        let changed = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
        let changed = self.ask(&repository.top, &changed, &env, b"", MAX_LISTING_BYTES).await?.stdout;
        let top = repository.top.clone();
        let bytes = blocking(move || Ok(size_of(&top, split(&changed)))).await?;
        if bytes > limit {
            return Err(format!("its uncommitted files have {bytes} bytes, over the limit of {limit}"));
        }
        text(&["add", "--all"], b"").await?;
        let tree = text(&["write-tree"], b"").await?;
        if tree == text(&["rev-parse", &format!("{head}^{{tree}}")], b"").await? {
            return Ok(head);
        }
        let message = b"The working tree with its uncommitted changes\n";
        let commit = text(&["commit-tree", &tree, "-p", &head, "-F", "-"], message).await?;
        let (path, line) = (base_path(repository, task), format!("{commit}\n"));
        blocking(move || super::bundle::write_line(&path, &line)).await?;
        Ok(commit)
    }

    /// Removes the reference of a task's working tree; its result keeps the commit.
    pub fn forget_state(&self, repository: &Repository, task: &str) {
        let _ = fs::remove_file(base_path(repository, task));
    }

    /// Returns those of `commits` that a repository has.
    pub async fn known(&self, repository: &Repository, commits: &[String]) -> Result<Vec<String>, String> {
        let ids = commits.iter().filter(|id| is_id(id));
        let input = ids.fold(String::new(), |input, id| input + id + "^{commit}\n");
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let private = PrivateDir::open(self.scratch.join("travel"), repository).await?;
        let arguments = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let listing = self.look(&private, &private.index(), &arguments, input.as_bytes()).await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        Ok(listing.lines().filter_map(|line| line.strip_suffix(" commit")).map(ToOwned::to_owned).collect())
    }

    /// Writes the ignored files that `.worktreeinclude` names into the new bundle `file`, as a commit without history. Its
    /// objects are in no repository. Returns the commit; `None` where no file is named.
    pub async fn bundle_included(
        &self,
        repository: &Repository,
        file: &Path,
        limit: u64,
    ) -> Result<Option<String>, String> {
        let mut paths = included(self, repository).await?;
        if paths.is_empty() {
            return Ok(None);
        }
        // The list itself may be ignored too, and the other machine needs it.
        paths.push(INCLUDE.as_bytes().to_vec());
        let (top, listed) = (repository.top.clone(), paths.clone());
        let bytes = blocking(move || Ok(size_of(&top, listed.iter().map(Vec::as_slice)))).await?;
        if bytes > limit {
            return Err(format!("the files of {INCLUDE} have {bytes} bytes, over the limit of {limit}"));
        }
        let private = PrivateDir::open(self.scratch.join("included"), repository).await?;
        let index = self.scratch.join("included.index");
        let mut env = private.env(&repository.top, &index, Attributes::Ignored);
        env.push(("GIT_LITERAL_PATHSPECS".into(), "1".into()));
        for role in ["AUTHOR", "COMMITTER"] {
            env.push((format!("GIT_{role}_NAME").into(), "adjutant".into()));
            env.push((format!("GIT_{role}_EMAIL").into(), "adjutant@adjutant.invalid".into()));
        }
        let add = ["add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let input = join(paths.iter().map(Vec::as_slice));
        self.ask(&repository.top, &add, &env, &input, MAX_LISTING_BYTES).await?;
        let text = async |arguments: &[&str]| {
            let answer = self.ask(&repository.top, arguments, &env, b"files\n", MAX_LISTING_BYTES).await?;
            Ok::<_, String>(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        };
        let tree = text(&["write-tree"]).await?;
        let commit = text(&["commit-tree", &tree, "-F", "-"]).await?;
        super::bundle::set_reference(&private, super::bundle::REFERENCE, &commit).await?;
        let mut bundle: Vec<OsString> = ["bundle", "create", "--quiet"].map(OsString::from).to_vec();
        bundle.extend([file.into(), super::bundle::REFERENCE.into()]);
        self.ask(&repository.top, &bundle, &env, b"", MAX_LISTING_BYTES).await?;
        Ok(Some(commit))
    }

    /// Writes the files of a bundle of [`Git::bundle_included`] into the working tree at `place`, where no file is replaced.
    pub async fn unpack_included(&self, bundle: &Path, commit: &str, place: &Path) -> Result<(), String> {
        let index = place.join(".git/included.index");
        let env = vec![(OsString::from("GIT_INDEX_FILE"), index.clone().into_os_string())];
        let unbundle: [OsString; 3] = ["bundle".into(), "unbundle".into(), bundle.into()];
        self.ask(place, &unbundle, &env, b"", MAX_LISTING_BYTES).await?;
        self.ask(place, &["read-tree", commit], &env, b"", MAX_LISTING_BYTES).await?;
        let listing = self.ask(place, &["ls-files", "-z"], &env, b"", MAX_LISTING_BYTES).await?.stdout;
        let top = place.to_owned();
        let absent: Vec<Vec<u8>> = blocking(move || {
            let is_absent =
                |path: &&[u8]| top.join(std::ffi::OsStr::from_bytes(path)).symlink_metadata().is_err();
            Ok(split(&listing).filter(is_absent).map(<[u8]>::to_vec).collect())
        })
        .await?;
        let input = join(absent.iter().map(Vec::as_slice));
        self.ask(place, &["checkout-index", "-z", "--stdin"], &env, &input, MAX_LISTING_BYTES).await?;
        let _ = fs::remove_file(index);
        Ok(())
    }
}

fn base_path(repository: &Repository, task: &str) -> std::path::PathBuf {
    repository.common_dir.join(BASES).join(task)
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Returns the bytes of the files at these paths below `top`.
fn size_of<'a>(top: &Path, paths: impl Iterator<Item = &'a [u8]>) -> u64 {
    let found = paths.filter_map(|path| top.join(std::ffi::OsStr::from_bytes(path)).symlink_metadata().ok());
    found.map(|found| found.len()).sum()
}

#[cfg(test)]
mod tests;
