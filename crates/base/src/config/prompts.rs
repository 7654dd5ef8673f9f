//! Settings of prompts: the folders in order of precedence, and limits.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::folders::{Limits, MAX_DEPTH, Root};
use super::table::{Notation, Plain, to_toml};

/// Folders with prompts, as `config.toml` names them.
struct Folders;

impl Notation<Vec<Root>> for Folders {
    type Written = Vec<PathBuf>;

    fn read(written: Vec<PathBuf>, home: &Path) -> Result<Vec<Root>, Error> {
        Ok(written.into_iter().map(|folder| Root::configured(folder, home)).collect())
    }

    fn show(value: &Vec<Root>) -> String {
        to_toml(&value.iter().map(|root| &root.label).collect::<Vec<_>>())
    }
}

super::table::settings! {
    /// The settings of prompts.
    #[derive(Clone, Debug)]
    pub struct PromptsConfig, file File, section "prompts" {
        /// Folders of prompts; the first folder with a name wins.
        roots: Vec<Root> = Vec::new(), folders as Folders;
        /// Maximum bytes of one prompt file.
        max_file_bytes: usize = 256 * 1024, max_file_bytes as Plain;
        /// Maximum bytes of one expanded prompt.
        max_expansion_bytes: usize = 4 * 1024 * 1024, max_expansion_bytes as Plain;
        /// Maximum number of files in all folders together.
        max_files: usize = 20_000, max_files as Plain;
    }
    others {}
}

impl PromptsConfig {
    /// Returns the limits of reading the files.
    pub fn limits(&self) -> Limits {
        Limits { file: self.max_file_bytes, files: self.max_files, depth: MAX_DEPTH }
    }

    /// Puts the prompts of the project in `folder` before all others.
    ///
    /// A prompt file starts no process, so a project's prompts need no trust question.
    pub fn enter_workspace(&mut self, folder: &Path) {
        self.roots.insert(0, Root::of_project("project", folder, Path::new(".adjutant/prompts")));
    }
}
