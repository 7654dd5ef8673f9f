//! `adjutant prompts export`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::{Folders, find};
use crate::cli::file_report::{self, Done, Handling, Row};
use crate::cli::output::{self, Failure};
use crate::cli::source_files::{label, relative};
use crate::cli::{Common, one_of};
use adjutant_prompts::export::{self, Outcome};
use adjutant_prompts::formats::Format;

/// Arguments of `adjutant prompts export`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// A workspace or home, or the folder of the files itself
    #[arg(value_name = "TO")]
    path: PathBuf,
    /// Which program the files are for
    #[arg(long = "to", value_name = "FORMAT", value_parser = one_of(Format::ALL.iter().map(|format| (format.name(), *format))))]
    format: Format,
    /// Only these prompts [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    handling: Handling,
    #[command(flatten)]
    folders: Folders,
}

/// Writes the prompts in the other program's format.
pub(super) fn run(args: &ExportArgs, common: Common) -> Result<ExitCode, Failure> {
    let catalogue = args.folders.load(common)?;
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
    let mut rows = Vec::new();
    for step in export::plan(prompts, args.format, &args.path) {
        let (done, to, reason) = match step.outcome {
            Outcome::Place { to, text, change } => {
                let (done, reason) = file_report::write(&to, &text, change, args.handling);
                (done, Some(relative(&to, &base)), reason)
            }
            Outcome::Unfit(reason) if args.names.is_empty() => (Done::LeftOut, None, Some(reason)),
            Outcome::Unfit(reason) | Outcome::Bad(reason) => (Done::Failed, None, Some(reason)),
        };
        let (name, from) = (step.prompt.name.clone(), label(&step.prompt.source));
        rows.push(Row { done, name, from, format: args.format.name(), to, reason, notes: step.notes });
    }
    let code = file_report::print(&rows, &BTreeMap::new(), args.handling)?;
    if args.format == Format::Codex {
        output::note(
            "note: Codex reads prompt files up to version 0.116; later ones read skills (--to claude-skill)",
        );
    }
    Ok(code)
}
