//! The private git directory with which a repository is read, and its index.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::repository::{Repository, read};
use super::{Git, MAX_LISTING_BYTES, blocking};

/// Maximum bytes of an index that is copied. Without a copy git reads all files.
const MAX_INDEX_BYTES: u64 = 1024 * 1024 * 1024;

/// Maximum bytes of the repository's list of ignored files.
const MAX_EXCLUDE_BYTES: u64 = 1024 * 1024;

/// A git directory that belongs to the hub. Its configuration has the format of the ids and nothing else.
pub(super) struct PrivateDir {
    pub(super) folder: PathBuf,
    top: PathBuf,
    sha256: bool,
}

/// Whether git converts lines and encodings as the `.gitattributes` of the working tree ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    Honored,
    Ignored,
}

impl PrivateDir {
    /// Opens the private directory in `folder`, or creates it for `repository`.
    pub(super) async fn open(folder: PathBuf, repository: &Repository) -> Result<Self, String> {
        let repository = repository.clone();
        blocking(move || {
            let private = Self { folder, top: repository.top.clone(), sha256: repository.sha256 };
            if !private.folder.join("HEAD").exists() {
                private.create(&repository).map_err(|error| error.to_string())?;
            }
            Ok(private)
        })
        .await
    }

    fn create(&self, repository: &Repository) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        for folder in ["objects/info", "refs", "info"] {
            fs::create_dir_all(self.folder.join(folder))?;
        }
        let format = if self.sha256 { "1\n[extensions]\n\tobjectFormat = sha256\n" } else { "0\n" };
        fs::write(
            self.folder.join("config"),
            format!("[core]\n\tbare = false\n\trepositoryFormatVersion = {format}"),
        )?;
        let mut objects = repository.objects().into_os_string().as_bytes().to_owned();
        if objects.contains(&b'\n') {
            return Err(std::io::Error::other("the repository's path has a line break"));
        }
        objects.push(b'\n');
        fs::write(self.folder.join("objects/info/alternates"), objects)?;
        // The list is copied once, so that a line that is added to it later hides no file from later snapshots.
        let exclude = read(&repository.common_dir.join("info/exclude"), MAX_EXCLUDE_BYTES);
        fs::write(self.folder.join("info/exclude"), exclude.unwrap_or_default())?;
        let head = repository.head.as_deref().unwrap_or("ref: refs/heads/none");
        fs::write(self.folder.join("HEAD"), format!("{head}\n"))
    }

    /// Returns the path of the private index.
    pub(super) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Returns git's variables for this directory and the working tree at `top`.
    pub(super) fn env(&self, top: &Path, index: &Path, attributes: Attributes) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("GIT_DIR".into(), self.folder.clone().into()),
            ("GIT_WORK_TREE".into(), top.into()),
            ("GIT_INDEX_FILE".into(), index.into()),
        ];
        if attributes == Attributes::Ignored {
            let empty_tree = if self.sha256 {
                "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
            } else {
                "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
            };
            env.push(("GIT_ATTR_SOURCE".into(), empty_tree.into()));
        }
        env
    }
}

/// Copies the index of a git directory to `copy`, with its time, because git reads a file again whose time is not older
/// than the index. Without a readable index the copy is absent, and git reads all files.
pub(super) fn copy_index(git_dir: &Path, copy: &Path) -> Result<(), String> {
    let index = git_dir.join("index");
    let found = index.metadata().ok().filter(|found| found.is_file() && found.len() <= MAX_INDEX_BYTES);
    let copied = found.map(|found| {
        fs::copy(&index, copy)?;
        let file = File::options().write(true).open(copy)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_modified(found.modified()?)
    });
    match copied {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(error.to_string()),
        None => remove_file(copy),
    }
}

/// Removes a file that need not exist.
pub(super) fn remove_file(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// An entry of an index: its letter for the flags, its mode and id, and its path.
pub(super) struct Entry {
    /// Lower case where the entry is assumed to be unchanged, `S` where its file is left out of the working tree.
    pub(super) tag: u8,
    pub(super) mode: String,
    pub(super) id: String,
    /// 0 without a conflict.
    pub(super) stage: String,
    pub(super) path: Vec<u8>,
}

impl Git {
    /// Runs git with the private directory on the working tree of its repository, and returns its stdout. No attribute
    /// converts the contents of files.
    pub(super) async fn look(
        &self,
        private: &PrivateDir,
        index: &Path,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let env = private.env(&private.top, index, Attributes::Ignored);
        let answer = self.ask(&private.top, arguments, &env, input, MAX_LISTING_BYTES).await?;
        if answer.cut { Err("it has too many files".to_owned()) } else { Ok(answer.stdout) }
    }

    /// Removes entries from the private index.
    pub(super) async fn forget(&self, private: &PrivateDir, paths: &[Vec<u8>]) -> Result<(), String> {
        if paths.is_empty() {
            return Ok(());
        }
        let input = join(paths.iter().map(Vec::as_slice));
        self.look(private, &private.index(), &["update-index", "-z", "--force-remove", "--stdin"], &input)
            .await
            .map(drop)
    }

    /// Returns the entries of an index.
    pub(super) async fn entries(&self, private: &PrivateDir, index: &Path) -> Result<Vec<Entry>, String> {
        let listing = self.look(private, index, &["ls-files", "-z", "-v", "-s"], b"").await?;
        Ok(split(&listing).filter_map(entry).collect())
    }
}

/// Parses an entry of `ls-files -v -s`.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split(' ').map(ToOwned::to_owned);
    let tag = *fields.next()?.as_bytes().first()?;
    let (mode, id, stage) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Entry { tag, mode, id, stage, path: line[tab + 1..].to_owned() })
}

/// Splits a listing of git with `-z`.
pub(super) fn split(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    listing.split(|byte| *byte == 0).filter(|line| !line.is_empty())
}

/// Returns paths as git's `-z --stdin` reads them.
pub(super) fn join<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path);
        input.push(0);
    }
    input
}
