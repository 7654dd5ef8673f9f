//! Plan of an export: the foreign file of each prompt, and what its format cannot express.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::formats::{self, Format};
use super::{Prompt, skills};
use adjutant_base::text::suggest::to_valid_name;
use adjutant_host::file_catalogue::atomic_write::{self, Change};

/// A prompt with its planned outcome.
#[derive(Debug)]
pub struct PlannedExport {
    pub prompt: Arc<Prompt>,
    pub outcome: Outcome,
    /// Parts of the prompt that the format cannot express, a sentence fragment each.
    pub notes: Vec<String>,
}

/// The outcome for a prompt.
#[derive(Debug)]
pub enum Outcome {
    /// `text` is written to `to`; `change` compares it to the current file.
    Place { to: PathBuf, text: String, change: Change },
    /// The format cannot express it, for a reason.
    Unfit(String),
    /// The target cannot be used, for a reason.
    Bad(String),
}

/// Plans the files of `prompts` in the folder that `format` has below `to`. Writes nothing.
pub fn plan(prompts: Vec<Arc<Prompt>>, format: Format, to: &Path) -> Vec<PlannedExport> {
    let folder = folder(to, format);
    let names = names(&prompts, format);
    let steps = prompts.into_iter().zip(names).map(|(prompt, name)| {
        let mut notes = Vec::new();
        let outcome = match formats::write(format, &prompt, &name) {
            Err(reason) => Outcome::Unfit(reason),
            Ok(exported) => {
                if name != prompt.name {
                    notes.push(format!("it is called `{name}` there"));
                }
                notes.extend(exported.notes);
                let to = folder.join(format!("{name}{}", format.suffix()));
                match atomic_write::compare(&to, &exported.text) {
                    Ok(change) => Outcome::Place { to, text: exported.text, change },
                    Err(reason) => Outcome::Bad(reason),
                }
            }
        };
        PlannedExport { prompt, outcome, notes }
    });
    steps.collect()
}

/// Returns the folder for files of a format: `to` itself if it is such a folder already, else the folder below it.
fn folder(to: &Path, format: Format) -> PathBuf {
    let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    if format.folders().iter().any(|folder| absolute.ends_with(folder)) {
        return to.to_owned();
    }
    match format.folders() {
        [first, ..] => to.join(first),
        [] => to.to_owned(),
    }
}

/// Returns the name of each prompt in the format, all different. A prompt's name comes from its file and may hold
/// anything, but a name here becomes part of a path.
fn names(prompts: &[Arc<Prompt>], format: Format) -> Vec<String> {
    let names = prompts.iter().map(|prompt| prompt.name.as_str());
    let safe = |name: &str| match to_valid_name(name) {
        name if name.is_empty() => "prompt".to_owned(),
        name => name,
    };
    match format {
        // These formats have subfolders in names, as prompts have.
        Format::Claude | Format::Gemini | Format::Opencode => skills::distinct(names, safe),
        Format::ClaudeSkill => skills::names(names),
        Format::Codex | Format::Copilot | Format::Cursor | Format::Fabric => {
            skills::distinct(names, |name| safe(name).replace('/', "-"))
        }
    }
}
