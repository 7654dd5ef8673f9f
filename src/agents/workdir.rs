//! The folder that an agent works in, checked once and known again.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An existing folder that is not the root of the file system, with all links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workdir {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Why a text is no working folder; reads after `working_directory`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
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
}

impl Workdir {
    /// Resolves and checks what a caller gave. Reads the disk.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        if text.trim().is_empty() {
            return Err(Fault::Empty);
        }
        if text.contains('\0') {
            return Err(Fault::Nul);
        }
        let given = Path::new(text);
        if !given.is_absolute() {
            return Err(Fault::Relative(text.to_owned()));
        }
        let path = given.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Fault::Missing(text.to_owned()),
            std::io::ErrorKind::NotADirectory => Fault::NoFolder(text.to_owned()),
            _ => Fault::Unusable(error.to_string()),
        })?;
        if path.parent().is_none() {
            return Err(Fault::Root);
        }
        let found = path.metadata().map_err(|error| Fault::Unusable(error.to_string()))?;
        if !found.is_dir() {
            return Err(Fault::NoFolder(text.to_owned()));
        }
        // The row is text, and so is the answer.
        if path.to_str().is_none() {
            return Err(Fault::Unusable("its real path is not UTF-8".to_owned()));
        }
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The numbers that name the folder whatever its path becomes.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}
