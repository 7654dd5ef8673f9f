//! Folders with prompts or agents, and the limits of reading them.

use std::path::{Path, PathBuf};

/// A folder that is read. Earlier roots win over later ones.
#[derive(Clone, Debug)]
pub struct Root {
    /// Shown to users: `project`, `user`, `bundled`, or the folder as it was named.
    pub label: String,
    /// `None` for files that are compiled in.
    pub folder: Option<PathBuf>,
    /// Set if a missing folder is not a problem.
    pub may_be_absent: bool,
    /// The project whose files `folder` belongs to: a link may not lead out of it.
    pub project: Option<PathBuf>,
}

impl Root {
    /// Creates a root of a folder that the user named.
    pub fn named(folder: PathBuf) -> Self {
        Self {
            label: folder.display().to_string(),
            folder: Some(folder),
            may_be_absent: false,
            project: None,
        }
    }

    /// Creates a root of a folder in `config.toml`; a relative one is below `home`.
    pub(super) fn configured(folder: PathBuf, home: &Path) -> Self {
        Self { folder: Some(home.join(&folder)), ..Self::named(folder) }
    }

    /// Creates a root of a folder that may be absent.
    pub fn optional(label: &str, folder: impl AsRef<Path>) -> Self {
        Self {
            label: label.to_owned(),
            folder: Some(folder.as_ref().to_owned()),
            may_be_absent: true,
            project: None,
        }
    }

    /// Creates a root of the folder `below` in a project, which may be absent.
    pub(super) fn of_project(label: &str, project: &Path, below: &Path) -> Self {
        Self { project: Some(project.to_owned()), ..Self::optional(label, project.join(below)) }
    }

    /// Creates the root of the files that are compiled in.
    pub fn bundled() -> Self {
        Self { label: "bundled".to_owned(), folder: None, may_be_absent: true, project: None }
    }
}

/// The depth of subfolders that is read.
pub const MAX_DEPTH: usize = 8;

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
