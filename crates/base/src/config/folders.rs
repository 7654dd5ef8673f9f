//! Folders that are read for prompts or agents, and what reading them may cost.

use std::path::{Path, PathBuf};

/// A folder that is read. Earlier roots win over later ones.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// What a person reads: `project`, `user`, `bundled`, or the folder as it was named.
    pub(crate) label: String,
    /// `None` for what is compiled into the binary.
    pub(crate) folder: Option<PathBuf>,
    /// The standing folders need not exist; one that was named by hand should.
    pub(crate) may_be_absent: bool,
}

impl Root {
    /// Makes a root of a folder that a person named.
    pub(crate) fn named(folder: PathBuf) -> Self {
        Self { label: folder.display().to_string(), folder: Some(folder), may_be_absent: false }
    }

    /// Makes a root of a folder that is always looked at.
    pub(crate) fn standing(label: &str, folder: impl AsRef<Path>) -> Self {
        Self { label: label.to_owned(), folder: Some(folder.as_ref().to_owned()), may_be_absent: true }
    }

    /// Makes the root of what is compiled in.
    pub(crate) fn bundled() -> Self {
        Self { label: "bundled".to_owned(), folder: None, may_be_absent: true }
    }
}

/// What reading folders may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one file.
    pub(crate) file: usize,
    /// Number of files below all roots.
    pub(crate) files: usize,
    /// Depth of subfolders.
    pub(crate) depth: usize,
}
