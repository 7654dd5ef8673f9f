//! Plan of an import: the file that each foreign file becomes. Nothing is written here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::atomic_write::{self, Change};

/// One foreign file with its planned outcome.
#[derive(Debug)]
pub struct PlannedImport {
    pub from: PathBuf,
    /// The name of the file's format, where it is known.
    pub format: Option<&'static str>,
    pub outcome: Outcome,
    /// Differences to the original, a sentence fragment each.
    pub notes: Vec<String>,
}

/// The planned outcome for a file.
#[derive(Debug)]
pub enum Outcome {
    /// `text` is written to `to`, as the item `name`; `change` compares it to the current file.
    Write { name: String, to: PathBuf, text: String, change: Change },
    /// Another file of the same import has the same name and other content.
    Conflict { name: String, by: PathBuf },
    /// It is left out, for this reason.
    Rejected(String),
}

/// The names that an import has given so far, each with the file and the text that it was given to.
#[derive(Debug, Default)]
pub struct GivenNames(BTreeMap<String, (PathBuf, String)>);

impl GivenNames {
    /// Plans the file `to` with `text` for the foreign file `from`.
    pub fn plan(&mut self, name: String, from: &Path, to: PathBuf, text: String) -> Outcome {
        match (self.0.get(&name), atomic_write::compare(&to, &text)) {
            (Some((by, other)), _) if *other != text => Outcome::Conflict { name, by: by.clone() },
            (Some(_), _) => Outcome::Write { name, to, text, change: Change::Same },
            (None, Err(reason)) => Outcome::Rejected(reason),
            (None, Ok(change)) => {
                self.0.insert(name.clone(), (from.to_owned(), text.clone()));
                Outcome::Write { name, to, text, change }
            }
        }
    }
}
