//! Snapshots of a working tree, and the differences between two of them.
//!
//! A snapshot reads the files themselves, without the repository's index: flags in it, a damaged index and a removed
//! `.git` hide nothing. Nested repositories and submodules are folders with files like all others. Files that are
//! ignored are left out; a snapshot has the names of what is ignored.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::private_dir::{Attributes, Entry, PrivateDir, copy_index, join, remove_file, split};
use super::repository::Repository;
use super::state::{State, add_nested, changes, read_state};
use super::{Git, MAX_LISTING_BYTES, blocking, name};

/// Maximum bytes of a file that is kept with its content for the patch.
const MAX_STORED_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum nested repositories that are read.
const MAX_NESTED: usize = 1_000;

/// Maximum files listed in a difference; the others are counted.
const MAX_LISTED: usize = 500;

/// Arguments that list untracked files, by the rules of `.gitignore` in the tree and of the private copy of
/// `info/exclude`.
const OTHERS: [&str; 5] =
    ["ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--exclude-from"];

/// A working tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub head: Option<String>,
    /// The mode and the id of each file that is not ignored. A file that git cannot read has its length and time.
    files: BTreeMap<String, String>,
    /// Files and folders that are ignored; of the first snapshot only.
    ignored: BTreeSet<String>,
    state: State,
}

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedFile {
    pub path: String,
    /// Lines added and removed; absent for a binary file, and where the old content cannot be read.
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
    /// Commits from the first HEAD to the second one; absent where git cannot count them.
    pub commits: Option<u64>,
    /// Changes of the repository besides files: references, hooks, configuration.
    pub repository: Vec<String>,
    /// Files and folders that are ignored since the ignore rules changed.
    pub hidden: Vec<String>,
    /// Whether there are rules by which files are ignored, and so not compared.
    pub ignores: bool,
    /// The change as a patch for `git apply`; absent if it is too long, not UTF-8, or lacks old content.
    pub patch: Option<String>,
}

/// The way in which a listed file is read.
enum Reading {
    /// There is no such file.
    Absent,
    /// By git; the content is stored.
    Stored,
    /// By git, for its id alone.
    Hashed,
    /// Not by git: its length and time count.
    Stat(String),
}

impl Git {
    /// Takes a snapshot of the working tree of `repository`. `look` names the folder of the private git directory;
    /// snapshots that are compared have the same one. The first of them copies the repository's index, so that git
    /// reads only files that differ from it.
    pub async fn snapshot(&self, repository: &Repository, look: &str) -> Result<Snapshot, String> {
        self.take_snapshot(repository, look, false).await
    }

    /// Takes the first snapshot of a worktree that [`Git::add_worktree`] has just made, where no program has run yet.
    /// Git would read nearly all files again, because they are as new as its index.
    pub async fn snapshot_of_checkout(
        &self,
        repository: &Repository,
        look: &str,
    ) -> Result<Snapshot, String> {
        self.take_snapshot(repository, look, true).await
    }

    async fn take_snapshot(
        &self,
        repository: &Repository,
        look: &str,
        is_as_in_index: bool,
    ) -> Result<Snapshot, String> {
        let private = PrivateDir::open(self.scratch.join(look), repository).await?;
        let index = private.index();
        let is_first = !index.exists();
        let mut entries = BTreeMap::new();
        if is_first {
            entries = self.adopt_index(repository, &private).await?;
        }
        let listing = self.look(&private, &index, &others(&private, &["--cached"]), b"").await?;
        let mut paths: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut nested: Vec<Vec<u8>> = Vec::new();
        let mut sort = |below: &[u8], listing: &[u8], nested: &mut Vec<Vec<u8>>| {
            for path in split(listing) {
                let path = [below, path].concat();
                if path.ends_with(b"/") {
                    nested.push(path);
                } else {
                    paths.insert(path);
                }
            }
        };
        sort(b"", &listing, &mut nested);
        let mut next = 0;
        while let Some(folder) = nested.get(next).cloned() {
            next += 1;
            if next > MAX_NESTED {
                return Err(format!("it has more than {MAX_NESTED} nested repositories"));
            }
            let listing =
                self.nested_files(&private, &repository.top.join(OsStr::from_bytes(&folder))).await?;
            sort(&folder, &listing, &mut nested);
        }
        // An entry that was left out, or a file that is in no entry, has to be read.
        let is_known = is_as_in_index && paths.len() == entries.len();
        let files =
            if is_known { entries } else { self.read_files(&private, &repository.top, paths).await? };
        // Later looks list what is ignored only where the rules have changed.
        let ignored = if is_first { self.ignored(&private).await? } else { BTreeSet::new() };
        let repository = repository.clone();
        blocking(move || {
            let mut state = read_state(&repository)?;
            let mut folders: BTreeSet<String> =
                nested.iter().map(|folder| name(folder.trim_ascii_end())).collect();
            folders.extend(
                files
                    .keys()
                    .flat_map(|path| Path::new(path).ancestors().skip(1))
                    .map(|folder| folder.to_string_lossy().into_owned()),
            );
            for folder in
                folders.iter().map(|folder| folder.trim_end_matches('/')).filter(|folder| !folder.is_empty())
            {
                if repository.top.join(folder).join(".git").symlink_metadata().is_ok() {
                    add_nested(&repository.top, folder, &mut state)?;
                }
            }
            Ok(Snapshot { head: repository.head_now(), files, ignored, state })
        })
        .await
    }

    /// Copies the repository's index, without the entries whose file has to be read: entries with a flag that hides
    /// changes, conflicts, submodules, and contents that a filter has converted. An index that git cannot read is left
    /// out, so that all files are read. Returns the modes and the ids of the copied entries.
    async fn adopt_index(
        &self,
        repository: &Repository,
        private: &PrivateDir,
    ) -> Result<BTreeMap<String, String>, String> {
        let index = private.index();
        let (git_dir, copy) = (repository.git_dir.clone(), index.clone());
        blocking(move || copy_index(&git_dir, &copy)).await?;
        if !index.exists() {
            return Ok(BTreeMap::new());
        }
        let Ok(entries) = self.entries(private, &index).await else {
            return remove_file(&index).map(|()| BTreeMap::new());
        };
        // Git 2.39 has no sizes in `ls-files --format`.
        let ids: String = entries.iter().flat_map(|entry| [entry.id.as_str(), "\n"]).collect();
        let sizes = ["cat-file", "--batch-check=%(objectsize)"];
        let sizes = self.look(private, &index, &sizes, ids.as_bytes()).await?;
        let top = repository.top.clone();
        let (dropped, kept) = blocking(move || {
            let sizes = String::from_utf8_lossy(&sizes);
            let mut sizes = sizes.lines().map(|line| line.parse::<u64>().ok());
            let (mut dropped, mut kept) = (Vec::new(), BTreeMap::new());
            for entry in entries {
                let size = sizes.next().flatten();
                let found = top.join(OsStr::from_bytes(&entry.path)).symlink_metadata().ok();
                let is_converted = size.zip(found).is_some_and(|(size, found)| found.len() != size);
                if is_converted
                    || entry.tag.is_ascii_lowercase()
                    || entry.tag == b'S'
                    || entry.stage != "0"
                    || entry.mode == "160000"
                {
                    dropped.push(entry.path);
                } else {
                    kept.extend([value(&entry)]);
                }
            }
            Ok((dropped, kept))
        })
        .await?;
        self.forget(private, &dropped).await?;
        Ok(kept)
    }

    /// Returns the files and folders that are ignored now.
    async fn ignored(&self, private: &PrivateDir) -> Result<BTreeSet<String>, String> {
        let arguments = others(private, &["--ignored", "--directory"]);
        let listing = self.look(private, &private.index(), &arguments, b"").await?;
        Ok(split(&listing).map(name).collect())
    }

    /// Lists the files of a nested repository: those in its index, and those that its `.gitignore` files do not ignore.
    async fn nested_files(&self, private: &PrivateDir, top: &Path) -> Result<Vec<u8>, String> {
        let index = private.folder.join("nested-index");
        let (folder, copy) = (top.to_owned(), index.clone());
        blocking(move || match Repository::at(&folder) {
            Some(repository) => copy_index(&repository.git_dir, &copy),
            None => remove_file(&copy),
        })
        .await?;
        let env = private.env(top, &index, Attributes::Ignored);
        let others = [&OTHERS[..4], &["--cached"]].concat();
        let answer = if let Ok(answer) = self.ask(top, &others, &env, b"", MAX_LISTING_BYTES).await {
            answer
        } else {
            remove_file(&index)?;
            self.ask(top, &others, &env, b"", MAX_LISTING_BYTES).await?
        };
        if answer.cut { Err("it has too many files".to_owned()) } else { Ok(answer.stdout) }
    }

    /// Reads the files of these paths into the private index. Returns the mode and the id of each.
    async fn read_files(
        &self,
        private: &PrivateDir,
        top: &Path,
        paths: BTreeSet<Vec<u8>>,
    ) -> Result<BTreeMap<String, String>, String> {
        let folder = top.to_owned();
        let (absent, stored, hashed, mut files) = blocking(move || {
            let (mut absent, mut stored, mut hashed, mut files) =
                (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
            let mut folders = HashMap::new();
            for path in paths {
                match reading(&folder, &path, &mut folders) {
                    Reading::Absent => absent.push(path),
                    Reading::Stored => stored.push(path),
                    Reading::Hashed => hashed.push(path),
                    Reading::Stat(stat) => {
                        files.insert(name(&path), stat);
                        absent.push(path);
                    }
                }
            }
            Ok((absent, stored, hashed, files))
        })
        .await?;
        self.forget(private, &absent).await?;
        let add = ["update-index", "-z", "--add", "--remove", "--replace"];
        for (options, paths) in [(&["--stdin"][..], &stored), (&["--info-only", "--stdin"], &hashed)] {
            if !paths.is_empty() {
                let input = join(paths.iter().map(Vec::as_slice));
                self.look(private, &private.index(), &[&add, options].concat(), &input).await?;
            }
        }
        files.extend(self.entries(private, &private.index()).await?.iter().map(value));
        // Git leaves out names that it does not allow, such as those below a folder `.GIT`.
        for path in stored.iter().chain(&hashed) {
            if let Ok(found) = top.join(OsStr::from_bytes(path)).symlink_metadata() {
                files.entry(name(path)).or_insert_with(|| stat(&found));
            }
        }
        Ok(files)
    }

    /// Returns the changes from `before` to `after`, with a patch of at most `max_patch` bytes where one is asked for.
    pub async fn difference(
        &self,
        repository: &Repository,
        look: &str,
        (before, after): (&Snapshot, &Snapshot),
        max_patch: Option<usize>,
    ) -> Result<Difference, String> {
        let private = PrivateDir::open(self.scratch.join(look), repository).await?;
        let changed: BTreeSet<&String> = before
            .files
            .keys()
            .chain(after.files.keys())
            .filter(|path| before.files.get(*path) != after.files.get(*path))
            .collect();
        let mut difference = Difference {
            repository: changes(&before.state, &after.state, before.head != after.head),
            ignores: !before.ignored.is_empty()
                || after.files.keys().any(|path| Path::new(path).ends_with(".gitignore")),
            more: changed.len().saturating_sub(MAX_LISTED) as u64,
            ..Difference::default()
        };
        if changed.iter().any(|path| Path::new(path).ends_with(".gitignore")) {
            let is_known = |path: &str| {
                let mut old = before.ignored.iter();
                old.any(|old| path == old || old.ends_with('/') && path.starts_with(old.as_str()))
            };
            let ignored = self.ignored(&private).await?;
            difference.hidden = ignored.into_iter().filter(|path| !is_known(path)).take(MAX_LISTED).collect();
        }
        if let (Some(old), Some(new)) = (&before.head, &after.head)
            && old != new
        {
            let count = self
                .look(&private, &private.index(), &["rev-list", "--count", &format!("{old}..{new}")], b"")
                .await;
            difference.commits =
                count.ok().and_then(|count| String::from_utf8_lossy(&count).trim().parse().ok());
        }
        let mut lines = HashMap::new();
        if !changed.is_empty()
            && let Ok((old, new)) = self.trees(&private, &changed, before, after).await
        {
            let range = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", &old, &new];
            let numbers = self
                .look(&private, &private.index(), &[&range[..], &["-z", "--numstat"]].concat(), b"")
                .await;
            lines = parse_numbers(&numbers.unwrap_or_default());
            let patch = [
                &range[..],
                &["-p", "--binary", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"],
            ]
            .concat();
            let env = private.env(&repository.top, &private.index(), Attributes::Ignored);
            if let Some(limit) = max_patch.filter(|_| lines.len() == changed.len()) {
                let patch = self.ask(&repository.top, &patch, &env, b"", limit as u64).await;
                // Git may take a file for text that is not UTF-8. A damaged patch is worse than none.
                let whole = patch.ok().filter(|patch| !patch.cut);
                difference.patch = whole.and_then(|patch| String::from_utf8(patch.stdout).ok());
            }
        }
        for path in changed {
            let (insertions, deletions) = lines.remove(path).unwrap_or_default();
            difference.insertions += insertions.unwrap_or(0);
            difference.deletions += deletions.unwrap_or(0);
            if difference.files.len() < MAX_LISTED {
                difference.files.push(ChangedFile { path: path.clone(), insertions, deletions });
            }
        }
        Ok(difference)
    }

    /// Writes two trees of the changed files alone, because the repository's own trees may be gone. A file is left out
    /// if its old or new content cannot be read.
    async fn trees(
        &self,
        private: &PrivateDir,
        changed: &BTreeSet<&String>,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<(String, String), String> {
        let index = private.folder.join("changed-index");
        let sides = [before, after];
        let values = |path: &String| sides.map(|side| side.files.get(path)).into_iter().flatten();
        let ids =
            changed.iter().flat_map(|path| values(path)).filter_map(|value| value.split(' ').next_back());
        let ids: String = ids.flat_map(|id| [id, "\n"]).collect();
        let found =
            self.look(private, &index, &["cat-file", "--batch-check=%(objectname)"], ids.as_bytes()).await?;
        let found = String::from_utf8_lossy(&found);
        let readable: HashSet<&str> = found.lines().filter(|line| !line.contains(' ')).collect();
        let is_readable =
            |value: &String| value.split(' ').next_back().is_some_and(|id| readable.contains(id));
        let mut trees = Vec::new();
        for side in sides {
            remove_file(&index)?;
            let entries = changed.iter().filter(|path| values(path).all(is_readable));
            let entries = entries.filter_map(|path| Some(format!("{} 0\t{path}\0", side.files.get(*path)?)));
            let entries: String = entries.collect();
            self.look(private, &index, &["update-index", "-z", "--index-info"], entries.as_bytes()).await?;
            let tree = self.look(private, &index, &["write-tree", "--missing-ok"], b"").await?;
            trees.push(String::from_utf8_lossy(&tree).trim().to_owned());
        }
        let [old, new] = trees.try_into().map_err(|_| "git wrote no tree".to_owned())?;
        Ok((old, new))
    }
}

/// Returns the path of an entry, and its mode and id.
fn value(entry: &Entry) -> (String, String) {
    (name(&entry.path), format!("{} {}", entry.mode, entry.id))
}

/// Returns [`OTHERS`] with the private copy of `info/exclude`, and `options` after it.
fn others(private: &PrivateDir, options: &[&str]) -> Vec<OsString> {
    let exclude = private.folder.join("info/exclude").into_os_string();
    OTHERS.iter().map(OsString::from).chain([exclude]).chain(options.iter().map(OsString::from)).collect()
}

/// Decides how a path is read. `folders` remembers which folders are real, so that none is entered through a link.
fn reading(top: &Path, path: &[u8], folders: &mut HashMap<PathBuf, bool>) -> Reading {
    let path = Path::new(OsStr::from_bytes(path));
    let parent = path.parent().unwrap_or(Path::new(""));
    if !is_real(top, parent, folders) {
        return Reading::Absent;
    }
    let file = top.join(path);
    let Ok(found) = fs::symlink_metadata(&file) else { return Reading::Absent };
    if found.is_symlink() {
        Reading::Stored
    } else if found.is_dir() {
        Reading::Absent
    } else if !found.is_file() || access(&file, Access::READ_OK).is_err() {
        Reading::Stat(stat(&found))
    } else if found.len() > MAX_STORED_BYTES {
        Reading::Hashed
    } else {
        Reading::Stored
    }
}

fn is_real(top: &Path, folder: &Path, folders: &mut HashMap<PathBuf, bool>) -> bool {
    if let Some(known) = folders.get(folder) {
        return *known;
    }
    let above = folder.parent().is_none_or(|above| is_real(top, above, folders));
    let real = above && fs::symlink_metadata(top.join(folder)).is_ok_and(|found| found.is_dir());
    folders.insert(folder.to_owned(), real);
    real
}

/// Returns the value of a file that git does not read. It holds no id.
fn stat(found: &Metadata) -> String {
    format!("{:o} {} bytes of {}.{}", found.mode(), found.len(), found.mtime(), found.mtime_nsec())
}

/// Parses the output of `--numstat -z`: lines added and removed by path.
pub(super) fn parse_numbers(listing: &[u8]) -> HashMap<String, (Option<u64>, Option<u64>)> {
    let mut numbers = HashMap::new();
    for line in split(listing) {
        let mut parts = line.splitn(3, |byte| *byte == b'\t');
        if let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) {
            let count = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
            numbers.insert(name(path), (count(added), count(removed)));
        }
    }
    numbers
}

#[cfg(test)]
mod tests;
