//! Import: finds foreign prompt files below a path, reads each into a draft, and says what would happen to it.

mod discover;
mod error;
mod folder_scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Limits;
use super::formats::{self, Foreign, Format};
use adjutant_host::files::atomic_write;
use adjutant_host::files::atomic_write::Change;
use adjutant_host::files::{leaves, read_text};
pub use discover::find;
pub(crate) use discover::format_of;
pub use error::Error;
pub use folder_scan::ForeignFile;

/// One foreign file and what becomes of it.
#[derive(Debug)]
pub struct PlannedImport {
    pub from: PathBuf,
    pub format: Format,
    pub outcome: Outcome,
    /// What could not be carried over, a sentence fragment each.
    pub notes: Vec<String>,
}

/// The outcome for a foreign file.
#[derive(Debug)]
pub enum Outcome {
    /// `text` goes to `to`, as prompt `name`; `change` says what is there now.
    Place { name: String, to: PathBuf, text: String, change: Change },
    /// Another file of the same import has the same prompt name and other content.
    Taken { name: String, by: PathBuf },
    /// It is left out, for a reason.
    Bad(String),
}

/// Reads every file that was found and plans where it goes below `into`. Writes nothing.
pub fn plan(found: Vec<ForeignFile>, into: &Path, limits: Limits) -> Vec<PlannedImport> {
    let mut names: BTreeMap<String, (PathBuf, String)> = BTreeMap::new();
    let mut steps = Vec::with_capacity(found.len());
    for ForeignFile { file, format, name, fault } in found {
        let mut notes = Vec::new();
        let read = fault.map_or_else(|| draft(&file, format, name, limits), |fault| Err(fault.to_owned()));
        let outcome = match read {
            Err(reason) => Outcome::Bad(reason),
            Ok(draft) => {
                let text = draft.text();
                notes = draft.notes;
                let to = into.join(format!("{}.md", draft.name));
                match (names.get(&draft.name), atomic_write::compare(&to, &text)) {
                    (Some((by, other)), _) if *other != text => {
                        Outcome::Taken { name: draft.name, by: by.clone() }
                    }
                    (Some(_), _) => Outcome::Place { name: draft.name, to, text, change: Change::Same },
                    (None, Ok(change)) => {
                        names.insert(draft.name.clone(), (file.clone(), text.clone()));
                        Outcome::Place { name: draft.name, to, text, change }
                    }
                    (None, Err(reason)) => Outcome::Bad(reason),
                }
            }
        };
        steps.push(PlannedImport { from: file, format, outcome, notes });
    }
    steps
}

fn draft(file: &Path, format: Format, name: String, limits: Limits) -> Result<formats::Draft, String> {
    let text = read_text(file, limits.file)?;
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    let user = folder.join("user.md");
    let second = match format {
        Format::Fabric if user.is_file() && !leaves(folder, &user) => Some(read_text(&user, limits.file)?),
        _ => None,
    };
    let mut draft = formats::read(format, &Foreign { name, text, second })?;
    if format == Format::ClaudeSkill {
        let others = discover::others(folder);
        if others > 0 {
            draft.notes.push(format!(
                "left behind in its folder: {others} other {}",
                if others == 1 { "entry" } else { "entries" }
            ));
        }
    }
    Ok(draft)
}
