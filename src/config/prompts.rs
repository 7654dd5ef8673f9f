//! What the prompts room is configured with: the folders it reads, in order, and its limits.

use std::path::{Path, PathBuf};

/// A folder that prompts are read from. Earlier roots win over later ones.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// What a person reads: `project`, `user`, `bundled`, or the folder as it was named on the command line.
    pub(crate) label: String,
    /// `None` for the prompts that are compiled into the binary.
    pub(crate) folder: Option<PathBuf>,
}

/// What one prompt, and one expansion, may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one prompt file.
    pub(crate) file: usize,
    /// Bytes of one expanded prompt; computed before it is built.
    pub(crate) expansion: usize,
    /// Number of files below all roots.
    pub(crate) files: usize,
    /// Depth of subfolders.
    pub(crate) depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file: 256 * 1024, expansion: 4 * 1024 * 1024, files: 20_000, depth: 8 }
    }
}

/// The prompts room's share.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptsConfig {
    /// In order of precedence.
    pub(crate) roots: Vec<Root>,
    pub(crate) limits: Limits,
}

impl PromptsConfig {
    /// Puts the prompts of the project in `folder` before all others.
    ///
    /// A prompt file starts no process, so a project's prompts need no trust question.
    pub(crate) fn enter_workspace(&mut self, folder: &Path) {
        let folder = Some(folder.join(".adjutant").join("prompts"));
        self.roots.insert(0, Root { label: "project".to_owned(), folder });
    }
}
