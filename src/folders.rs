//! Folders of files that are found, read and watched: what prompts and agents have in common.

use std::path::PathBuf;

/// Where something came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The root's label.
    pub(crate) root: String,
    /// The path below the root, with `/`, as shown to people and clients.
    pub(crate) relative: String,
    /// The file itself; `None` when compiled in. Never shown to an MCP client.
    pub(crate) file: Option<PathBuf>,
}

/// A file that is not served, or served with a fault, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) source: Source,
    /// A lower-case sentence fragment that names the fault.
    pub(crate) message: String,
}
