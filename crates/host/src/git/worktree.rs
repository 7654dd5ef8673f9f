//! Worktrees that the hub makes and removes. Their entries in the repository are written without git, because git would
//! read the repository's configuration; the files are checked out by git with a private directory.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::private_dir::{Attributes, PrivateDir, split};
use super::repository::{MAX_LINE_BYTES, Repository, read};
use super::{Git, MAX_LISTING_BYTES, WORKTREE_PREFIX, blocking, name};

/// The file that names the ignored files to copy, in the format of `.gitignore`.
pub(super) const INCLUDE: &str = ".worktreeinclude";

/// Maximum files that [`INCLUDE`] may name.
const MAX_INCLUDED_FILES: usize = 20_000;

/// Maximum bytes of the files that [`INCLUDE`] names.
const MAX_INCLUDED_BYTES: u64 = 1024 * 1024 * 1024;

impl Git {
    /// Creates a locked worktree of `repository` at its HEAD in `place`, with the files of its submodules and the files
    /// that `.worktreeinclude` names. Everything that an earlier attempt with the same `id` left is removed before.
    pub async fn add_worktree(&self, repository: &Repository, place: &Path, id: &str) -> Result<(), String> {
        let Some(head) = &repository.head else { return Err("the repository has no commit yet".to_owned()) };
        self.remove_worktree(repository, place, id).await?;
        let made = async {
            let admin = admin_folder(repository, id);
            let (link, commit, reason) = (place.join(".git"), head.clone(), format!("adjutant task {id}"));
            let (folder, entry) = (place.to_owned(), admin.clone());
            blocking(move || {
                register(&entry, &folder, &link, &commit, &reason).map_err(|error| error.to_string())
            })
            .await?;
            let index = admin.join("index");
            let private = PrivateDir::open(self.scratch.join("checkout"), repository).await?;
            self.check_out(&private, place, &index, head).await?;
            self.fill_submodules(repository.clone(), &private, place, &index).await?;
            self.include(repository, place).await
        };
        let made = made.await;
        if made.is_err() {
            self.remove_worktree(repository, place, id).await?;
        }
        made
    }

    /// Removes a worktree with all files in it, and its entry in the repository. An absent one is not an error.
    pub async fn remove_worktree(
        &self,
        repository: &Repository,
        place: &Path,
        id: &str,
    ) -> Result<(), String> {
        let (place, admin) = (place.to_owned(), admin_folder(repository, id));
        blocking(move || {
            remove_folder(&place).and_then(|()| remove_entry(&admin)).map_err(|error| error.to_string())
        })
        .await
    }

    /// Returns whether a worktree has nothing that would be lost with it: no new or changed file, and no commit without a
    /// branch. Files that git ignores do not count.
    pub async fn is_committed(&self, repository: &Repository) -> Result<bool, String> {
        // Git writes this log as soon as it moves HEAD; [`register`] does not.
        let is_moved = repository.git_dir.join("logs/HEAD").exists();
        let facts = self.facts(&repository.top).await?;
        Ok(facts.dirty == 0 && !facts.more && (repository.branch.is_some() || !is_moved))
    }

    /// Unlocks a worktree that is kept, so that `git worktree remove` removes it.
    pub fn release_worktree(&self, repository: &Repository, id: &str) {
        let _ = fs::remove_file(admin_folder(repository, id).join("locked"));
    }

    /// Writes the files of a commit, and the index that goes with them.
    async fn check_out(
        &self,
        private: &PrivateDir,
        top: &Path,
        index: &Path,
        commit: &str,
    ) -> Result<(), String> {
        let env = private.env(top, index, Attributes::Honored);
        let arguments = ["read-tree", "--reset", "-u", commit];
        self.ask(top, &arguments, &env, b"", MAX_LISTING_BYTES).await.map(drop)
    }

    /// Writes the files of each submodule that has files in the caller's tree, at the commit that `index` records.
    async fn fill_submodules(
        &self,
        repository: Repository,
        private: &PrivateDir,
        place: &Path,
        index: &Path,
    ) -> Result<(), String> {
        let gitlinks = |entries: Vec<super::private_dir::Entry>| {
            entries.into_iter().filter(|entry| entry.mode == "160000").map(|entry| (entry.path, entry.id))
        };
        let mut open: Vec<(PathBuf, String)> = Vec::new();
        let below = |folder: &Path, path: &[u8]| folder.join(OsStr::from_bytes(path));
        open.extend(
            gitlinks(self.entries(private, index).await?).map(|(path, id)| (below(Path::new(""), &path), id)),
        );
        let mut number = 0;
        while let Some((path, commit)) = open.pop() {
            let source = repository.top.join(&path);
            if source.join(".git").symlink_metadata().is_err() {
                // It has no files in the caller's tree either.
                continue;
            }
            let refused = |reason: &str| {
                let path = path.display();
                format!(
                    "its submodule {path} cannot be filled: {reason}; `git submodule update --init {path}` may help"
                )
            };
            let submodule = Repository::at(&source).ok_or_else(|| refused("it is not a repository"))?;
            number += 1;
            let private =
                PrivateDir::open(self.scratch.join(format!("submodule-{number}")), &submodule).await?;
            let (index, top) = (private.index(), place.join(&path));
            let folder = top.clone();
            blocking(move || fs::create_dir_all(folder).map_err(|error| error.to_string())).await?;
            self.check_out(&private, &top, &index, &commit).await.map_err(|reason| refused(&reason))?;
            open.extend(
                gitlinks(self.entries(&private, &index).await?).map(|(inner, id)| (below(&path, &inner), id)),
            );
        }
        Ok(())
    }

    /// Copies the files that `.worktreeinclude` names and git does not know.
    async fn include(&self, repository: &Repository, place: &Path) -> Result<(), String> {
        let paths = included(self, repository).await?;
        let (from, to) = (repository.top.clone(), place.to_owned());
        blocking(move || copy_files(&from, &to, paths.iter().map(Vec::as_slice))).await
    }
}

/// Returns the files that `.worktreeinclude` names and git does not know.
pub(super) async fn included(git: &Git, repository: &Repository) -> Result<Vec<Vec<u8>>, String> {
    let list = repository.top.join(INCLUDE);
    if !list.is_file() {
        return Ok(Vec::new());
    }
    let private = PrivateDir::open(git.scratch.join("include"), repository).await?;
    let (git_dir, copy) = (repository.git_dir.clone(), private.index());
    blocking(move || super::private_dir::copy_index(&git_dir, &copy)).await?;
    let arguments: [&OsStr; 6] = [
        "ls-files".as_ref(),
        "-z".as_ref(),
        "--others".as_ref(),
        "--ignored".as_ref(),
        "--exclude-from".as_ref(),
        list.as_ref(),
    ];
    let listing = git.look(&private, &private.index(), &arguments, b"").await?;
    Ok(split(&listing).map(<[u8]>::to_vec).collect())
}

/// Copies regular files and links below `from` to the same paths below `to`, where no file is replaced.
fn copy_files<'a>(from: &Path, to: &Path, paths: impl Iterator<Item = &'a [u8]>) -> Result<(), String> {
    let mut bytes = 0;
    for (number, path) in paths.enumerate() {
        let failed = |error: io::Error| format!("{INCLUDE}: {:?} cannot be copied: {error}", name(path));
        let (source, target) = (from.join(OsStr::from_bytes(path)), to.join(OsStr::from_bytes(path)));
        let Ok(found) = source.symlink_metadata() else { continue };
        bytes += found.len();
        if number >= MAX_INCLUDED_FILES || bytes > MAX_INCLUDED_BYTES {
            let limit = MAX_INCLUDED_BYTES >> 20;
            return Err(format!("{INCLUDE} names more than {MAX_INCLUDED_FILES} files or {limit} MiB"));
        }
        let parent = target.parent().unwrap_or(to);
        fs::create_dir_all(parent).map_err(failed)?;
        // A commit may have a link in the place of a folder.
        if !parent.canonicalize().is_ok_and(|parent| parent.starts_with(to))
            || target.symlink_metadata().is_ok()
        {
            continue;
        }
        if found.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source).map_err(failed)?, &target).map_err(failed)?;
        } else if found.is_file() {
            fs::copy(&source, &target).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the folder of a worktree's entry in its repository.
fn admin_folder(repository: &Repository, id: &str) -> PathBuf {
    repository.common_dir.join("worktrees").join(format!("{WORKTREE_PREFIX}{id}"))
}

/// Writes the entry of a worktree into its repository, and its link to the entry, as gitrepository-layout(5) has them.
fn register(admin: &Path, place: &Path, link: &Path, commit: &str, reason: &str) -> io::Result<()> {
    let worktrees = admin.parent().unwrap_or(admin);
    if worktrees.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::other("its `.git/worktrees` is a link"));
    }
    // The last worktree of another task may take the empty folder away in between.
    fs::create_dir_all(admin).or_else(|_| fs::create_dir_all(admin))?;
    fs::create_dir_all(place)?;
    let path_line = |path: &Path| [path.as_os_str().as_bytes(), b"\n"].concat();
    for (name, content) in [
        ("locked", reason.as_bytes().to_owned()),
        ("HEAD", format!("{commit}\n").into_bytes()),
        ("commondir", b"../..\n".to_vec()),
        ("gitdir", path_line(link)),
    ] {
        fs::write(admin.join(name), content)?;
    }
    fs::write(link, [b"gitdir: ", &*path_line(admin)].concat())
}

/// Returns whether the repository has a locked entry of the worktree in `place`, so that its task may still run.
pub fn has_locked_entry(place: &Path, id: &str) -> bool {
    entry_of(place, id).is_some_and(|admin| admin.join("locked").exists())
}

/// Removes a kept worktree with all files in it, and its entry in the repository.
pub fn remove_kept_worktree(place: &Path, id: &str) -> io::Result<()> {
    let admin = entry_of(place, id);
    remove_folder(place)?;
    admin.map_or(Ok(()), |admin| remove_entry(&admin))
}

/// Removes the entry of a worktree, and the folder of entries where it was the last one, as git does.
fn remove_entry(admin: &Path) -> io::Result<()> {
    let removed = remove_folder(admin);
    let _ = admin.parent().map(fs::remove_dir);
    removed
}

/// Returns the folder of a worktree's entry. An agent may have written another path into the link, so the folder has
/// to have the name of the task and to name the worktree.
fn entry_of(place: &Path, id: &str) -> Option<PathBuf> {
    let link = place.join(".git");
    let admin = PathBuf::from(read(&link, MAX_LINE_BYTES)?.strip_prefix("gitdir: ")?.trim_end());
    let named = read(&admin.join("gitdir"), MAX_LINE_BYTES)?;
    let is_entry =
        admin.ends_with(format!("worktrees/{WORKTREE_PREFIX}{id}")) && Path::new(named.trim_end()) == link;
    is_entry.then_some(admin)
}

/// Removes a folder with all files in it, also where folders in it are not writable. An absent one is not an error.
fn remove_folder(folder: &Path) -> io::Result<()> {
    let remove = || match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // An agent may have put a file in its place.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(folder),
        other => other,
    };
    remove().or_else(|_| {
        make_writable(folder);
        remove()
    })
}

fn make_writable(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
