//! Error of an import.

use std::path::PathBuf;

use super::super::formats::Format;

/// The reason for which nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} holds no {} files", path.display(), format.label())]
    Nothing { path: PathBuf, format: Format },
    #[error("cannot tell which program the prompts in {} are for", path.display())]
    Unclear { path: PathBuf },
    #[error("{} holds more than {limit} files", path.display())]
    TooMany { path: PathBuf, limit: usize },
}
