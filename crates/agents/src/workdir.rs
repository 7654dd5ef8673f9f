//! Working folder of an agent, validated once and recognized later.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An existing folder that is not the root of the file system, with all links resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workdir {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Why a text is not a working folder; a sentence fragment after `working_directory`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("must not be empty: give an absolute path")]
    Empty,
    #[error("must not hold a NUL character")]
    Nul,
    #[error("must be an absolute path, and `{0}` is relative")]
    Relative(String),
    #[error("must not be `/`: name the project's folder")]
    Root,
    #[error("does not exist: {0}")]
    Missing(String),
    #[error("must be a folder, and `{0}` is none")]
    NoFolder(String),
    #[error("cannot be used: {0}")]
    Unusable(String),
    #[error("is not the folder any more that it was when the task came in")]
    Swapped,
}

impl Workdir {
    /// Resolves and validates the path that a caller gave. Reads the disk.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        if text.contains('\0') {
            return Err(Error::Nul);
        }
        let given = Path::new(text);
        if !given.is_absolute() {
            return Err(Error::Relative(text.to_owned()));
        }
        let path = given.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Missing(text.to_owned()),
            std::io::ErrorKind::NotADirectory => Error::NoFolder(text.to_owned()),
            _ => Error::Unusable(error.to_string()),
        })?;
        if path.parent().is_none() {
            return Err(Error::Root);
        }
        let found = path.metadata().map_err(|error| Error::Unusable(error.to_string()))?;
        if !found.is_dir() {
            return Err(Error::NoFolder(text.to_owned()));
        }
        // The row is text, and so is the answer.
        if path.to_str().is_none() {
            return Err(Error::Unusable("its real path is not UTF-8".to_owned()));
        }
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    /// Checks that the folder of this path is still the validated one.
    pub fn check(&self) -> Result<(), Error> {
        let found = self.path.symlink_metadata().map_err(|_| Error::Swapped)?;
        let same = found.is_dir() && found.dev() == self.device && found.ino() == self.inode;
        // A replaced link in the middle changes the path, even where the folder at its end is the same.
        let straight = self.path.canonicalize().is_ok_and(|real| real == self.path);
        if same && straight { Ok(()) } else { Err(Error::Swapped) }
    }

    /// Returns the absolute path that was checked.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
