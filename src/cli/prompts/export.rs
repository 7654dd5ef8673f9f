//! `adjutant prompts export`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::super::Common;
use super::super::file_report;
use super::super::file_report::{Done, Handling, Row};
use super::super::output::{self, Failure};
use super::super::source_files::{place, shown};
use super::{Folders, find};
use adjutant_prompts::export::{self, Outcome};
use adjutant_prompts::formats::Format;

/// Arguments of `adjutant prompts export`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// A workspace or home, or the very folder the files go to
    #[arg(value_name = "TO")]
    path: PathBuf,
    /// Which program the files are for
    #[arg(long = "to", value_name = "FORMAT", value_parser = format())]
    format: Format,
    /// Only these prompts; all without
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    handling: Handling,
    #[command(flatten)]
    folders: Folders,
}

/// Returns the parser of format names.
pub(super) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::ALL.into_iter().find(|format| format.name() == name).ok_or("no such format"))
}

/// Writes the prompts in the other program's format.
pub(super) fn run(args: ExportArgs, common: Common) -> Result<ExitCode, Failure> {
    let (_, catalogue) = args.folders.load(common)?;
    let mut prompts = Vec::new();
    for name in &args.names {
        let prompt = find(&catalogue, name)?;
        if !prompts.iter().any(|known| Arc::ptr_eq(known, prompt)) {
            prompts.push(Arc::clone(prompt));
        }
    }
    if args.names.is_empty() {
        prompts = catalogue.prompts.values().cloned().collect();
    }
    let base = std::env::current_dir()?;
    let shown = |path: &Path| shown(path, &base);
    let mut rows = Vec::new();
    for step in export::plan(prompts, args.format, &args.path) {
        let format = args.format.name();
        let (name, from) = (step.prompt.name.clone(), place(&step.prompt.source));
        let row = match step.outcome {
            Outcome::Place { to, text, change } => {
                let (done, reason) = file_report::write(&to, &text, change, args.handling);
                Row { done, name, from, format, to: Some(shown(&to)), reason, notes: step.notes }
            }
            Outcome::Unfit(reason) => {
                let done = if args.names.is_empty() { Done::LeftOut } else { Done::Failed };
                Row { done, name, from, format, to: None, reason: Some(reason), notes: step.notes }
            }
            Outcome::Bad(reason) => Row {
                done: Done::Failed,
                name,
                from,
                format,
                to: None,
                reason: Some(reason),
                notes: step.notes,
            },
        };
        rows.push(row);
    }
    let code = file_report::print(&rows, args.handling)?;
    if args.format == Format::Codex && !args.handling.json {
        output::note(
            "note: Codex reads prompt files up to version 0.116; later ones read skills (--to claude-skill)",
        );
    }
    Ok(code)
}
