//! Working folder of an agent, validated once and recognized later.

use std::fs::Metadata;
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

impl Workdir {
    /// Resolves and validates the path that a caller gave. Reads the disk. The error is a sentence fragment after
    /// `working_directory`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let no_folder = || format!("must be a folder, and `{text}` is none");
        let unusable = |error: std::io::Error| format!("cannot be used: {error}");
        if text.trim().is_empty() {
            return Err("must not be empty: give an absolute path".to_owned());
        }
        if text.contains('\0') {
            return Err("must not hold a NUL character".to_owned());
        }
        let given = Path::new(text);
        if !given.is_absolute() {
            return Err(format!("must be an absolute path, and `{text}` is relative"));
        }
        let path = given.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("does not exist: {text}"),
            std::io::ErrorKind::NotADirectory => no_folder(),
            _ => unusable(error),
        })?;
        if path.parent().is_none() {
            return Err("must not be `/`: name the project's folder".to_owned());
        }
        let found = path.metadata().map_err(unusable)?;
        if !found.is_dir() {
            return Err(no_folder());
        }
        // The row is text, and so is the answer.
        if path.to_str().is_none() {
            return Err("cannot be used: its real path is not UTF-8".to_owned());
        }
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    /// Returns whether the folder of this path is still the validated one.
    pub(crate) fn is_unchanged(&self) -> bool {
        let is_same =
            |found: Metadata| found.is_dir() && found.dev() == self.device && found.ino() == self.inode;
        // A replaced link in the middle changes the path, even where the folder at its end is the same.
        let straight = self.path.canonicalize().is_ok_and(|real| real == self.path);
        straight && self.path.symlink_metadata().is_ok_and(is_same)
    }

    /// Returns the absolute path that was checked.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
