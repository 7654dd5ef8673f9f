//! What the prompts room is configured with: the folders it reads, in order, and its limits.

use std::path::Path;

use super::folders::{self, Root};

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

impl Limits {
    /// Returns what reading the files may cost.
    pub(crate) fn folders(self) -> folders::Limits {
        folders::Limits { file: self.file, files: self.files, depth: self.depth }
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
        self.roots.insert(0, Root::standing("project", folder.join(".adjutant").join("prompts")));
    }
}
