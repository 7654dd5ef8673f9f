//! Creates prompt and agent files to start from.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{label, project};
use crate::cli::output::{self, Failure};
use adjutant_base::config::folders::MAX_DEPTH;
use adjutant_base::text::suggest::to_valid_name;
use adjutant_base::text::yaml::scalar;
use adjutant_host::file_catalogue::Source;
use adjutant_host::file_catalogue::atomic_write::{self, Change};
use adjutant_terminal::socket;

/// Arguments of `new`.
#[derive(Debug, Args)]
pub(in crate::cli) struct NewArgs<F: Args> {
    /// The name, with `/` for subfolders
    pub(in crate::cli) name: String,
    /// Purpose in one sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Create it for the project around the current folder, in its folder .adjutant
    #[arg(long, conflicts_with = "Folders")]
    project: bool,
    #[command(flatten)]
    pub(in crate::cli) folders: F,
}

/// The differences between prompt files and agent files.
pub(in crate::cli) struct Template {
    /// `prompt` or `agent`. The plural names the folder.
    pub(in crate::cli) noun: &'static str,
    pub(in crate::cli) extension: &'static str,
    /// A valid name.
    pub(in crate::cli) example: &'static str,
    /// The file, with `DESCRIPTION` in the place of the description.
    pub(in crate::cli) text: &'static str,
    /// The next step with the edited file, with `NAME` in the place of its name.
    pub(in crate::cli) next: &'static str,
}

impl Template {
    /// Creates the file `name` in `folder`, else in the project's folder, else in `home`, and prints its path. `existing`
    /// is a file of the same name that is in use.
    pub(in crate::cli) fn create<F: Args>(
        &self,
        name: &str,
        args: &NewArgs<F>,
        (folder, home): (Option<&PathBuf>, &Path),
        existing: Option<&Source>,
    ) -> Result<(), Failure> {
        let Self { noun, extension, example, text, next } = self;
        let valid = to_valid_name(name);
        if valid != name || name.is_empty() {
            let failure = Failure::usage(format!(
                "`{}` is not a valid name: use lower-case letters, digits, `-` and `_`, and `/` for subfolders",
                name.escape_debug()
            ));
            let valid = if valid.is_empty() { example } else { valid.as_str() };
            return Err(failure.hint(format!("a valid name is `{valid}`")));
        }
        if name.matches('/').count() > MAX_DEPTH {
            let failure = Failure::usage(format!("`{name}` has more than {MAX_DEPTH} folders"));
            return Err(failure.hint("files in deeper folders are not read; use fewer"));
        }
        let (bound, folder) = match (folder, args.project) {
            (Some(folder), _) => (folder.clone(), folder.clone()),
            (None, true) => {
                let project = project(home)?;
                let folder = project.join(".adjutant").join(format!("{noun}s"));
                (project, folder)
            }
            (None, false) => {
                socket::private_folder(home).map_err(Failure::new)?;
                let folder = home.join(format!("{noun}s"));
                (folder.clone(), folder)
            }
        };
        let file = folder.join(format!("{name}.{extension}"));
        if leaves(&bound, &file) {
            return Err(Failure::new(format!(
                "{} is below a link that leaves {}",
                file.display(),
                bound.display()
            ))
            .hint("a file there would not be served; remove the link, or choose another name"));
        }
        let description = args.description.as_deref().unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = match description.as_str() {
            "" => format!("Describe the purpose of this {noun} in one sentence."),
            given => given.to_owned(),
        };
        let text = text.replace("DESCRIPTION", &scalar(&description));
        if atomic_write::compare(&file, &text).map_err(Failure::new)? != Change::New {
            return Err(Failure::new(format!("{} exists already", file.display()))
                .hint("edit it, or choose another name"));
        }
        atomic_write::put(&file, &text).map_err(Failure::new)?;
        if output::is_json() {
            return output::json(&json!({"id": name, "name": name, "file": file}));
        }
        output::data(&file.display().to_string())?;
        if let Some(existing) = existing {
            output::note(format!(
                "note: another {noun} has the name `{name}` ({}); `adjutant {noun}s show {name}` shows which is used",
                label(existing)
            ));
        }
        output::note(format!("next: edit the file, then {}", next.replace("NAME", name)));
        Ok(())
    }
}

/// Returns whether a link leads a new file out of the folder that bounds it.
fn leaves(bound: &Path, file: &Path) -> bool {
    let there = file.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    let bound = bound.canonicalize().ok();
    bound.zip(there).is_some_and(|(bound, there)| !there.starts_with(&bound))
}
