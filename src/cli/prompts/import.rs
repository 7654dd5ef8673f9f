//! `adjutant prompts import`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::super::Common;
use super::super::file_report;
use super::super::file_report::{Done, Handling, Row};
use super::super::output::Failure;
use super::super::source_files::shown;
use adjutant_base::config::Roots;
use adjutant_prompts::formats::Format;
use adjutant_prompts::import::{self, Error, Outcome};

/// Arguments of `adjutant prompts import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// A file, a folder of prompts, or a workspace or home that has such folders
    #[arg(value_name = "FROM")]
    path: PathBuf,
    /// Format of the files, if their path does not determine it
    #[arg(long, value_name = "FORMAT", value_parser = super::export::format())]
    from: Option<Format>,
    /// Put the prompts into this folder instead of the user's own
    #[arg(long, value_name = "DIR", visible_alias = "prompts-dir")]
    into: Option<PathBuf>,
    #[command(flatten)]
    handling: Handling,
}

/// Reads every file that is found and writes the prompts it gives.
pub(super) fn run(args: ImportArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let limits = config.prompts.limits();
    let into = args.into.unwrap_or_else(|| config.home.join("prompts"));
    let found = import::find(&args.path, args.from, limits).map_err(|error| failure(&error))?;
    let base = std::env::current_dir()?;
    let shown = |path: &Path| shown(path, &base);
    let mut rows = Vec::new();
    for step in import::plan(found, &into, limits) {
        let (from, format) = (shown(&step.from), step.format.name());
        let row = match step.outcome {
            Outcome::Place { name, to, text, change } => {
                let (done, reason) = file_report::write(&to, &text, change, args.handling);
                Row { done, name, from, format, to: Some(shown(&to)), reason, notes: step.notes }
            }
            Outcome::Taken { name, by } => {
                let reason = Some(format!("{} gives a prompt of the same name", shown(&by)));
                Row { done: Done::Failed, name, from, format, to: None, reason, notes: step.notes }
            }
            Outcome::Bad(reason) => {
                let name = step.from.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                Row {
                    done: Done::Failed,
                    name,
                    from,
                    format,
                    to: None,
                    reason: Some(reason),
                    notes: step.notes,
                }
            }
        };
        rows.push(row);
    }
    file_report::print(&rows, args.handling)
}

fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        Error::Unclear { .. } => {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            failure.hint(format!("name it with --from: {}", names.join(", ")))
        }
        Error::Nothing { format, .. } => failure.hint(format!(
            "they are looked for in {}, or as *{}",
            format.folders().join(" and "),
            format.suffix()
        )),
        Error::Unreadable { .. } => failure.hint("name a file or folder that you may read"),
        Error::TooMany { .. } => failure.hint("name a folder below it"),
    }
}
