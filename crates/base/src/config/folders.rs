//! Folders with prompts or agents, and the limits of reading them.

use std::path::{Path, PathBuf};

/// A folder that is read. Earlier roots win over later ones.
#[derive(Clone, Debug)]
pub struct Root {
    /// What a person reads: `project`, `user`, `bundled`, or the folder as it was named.
    pub label: String,
    /// `None` for what is compiled into the binary.
    pub folder: Option<PathBuf>,
    /// The standing folders need not exist; one that was named by hand should.
    pub may_be_absent: bool,
}

impl Root {
    /// Makes a root of a folder that a person named.
    pub fn named(folder: PathBuf) -> Self {
        Self { label: folder.display().to_string(), folder: Some(folder), may_be_absent: false }
    }

    /// Makes a root of a folder that `config.toml` names; a relative one is below `home`.
    pub(super) fn configured(folder: PathBuf, home: &Path) -> Self {
        Self { folder: Some(home.join(&folder)), ..Self::named(folder) }
    }

    /// Makes a root of a folder that is always looked at.
    pub fn standing(label: &str, folder: impl AsRef<Path>) -> Self {
        Self { label: label.to_owned(), folder: Some(folder.as_ref().to_owned()), may_be_absent: true }
    }

    /// Makes the root of what is compiled in.
    pub fn bundled() -> Self {
        Self { label: "bundled".to_owned(), folder: None, may_be_absent: true }
    }
}

/// The depth of subfolders that is read.
pub(super) const MAX_DEPTH: usize = 8;

/// Limits of reading folders.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one file.
    pub file: usize,
    /// Number of files below all roots.
    pub files: usize,
    /// Depth of subfolders.
    pub depth: usize,
}
