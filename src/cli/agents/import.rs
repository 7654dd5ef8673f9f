//! `adjutant agents import`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::super::Common;
use super::super::file_report;
use super::super::file_report::{Done, Handling, Row};
use super::super::output::Failure;
use super::super::source_files::shown;
use adjutant_agents::definition::Program;
use adjutant_agents::import::{self, Error, Outcome};
use adjutant_base::config::Roots;

/// Arguments of `adjutant agents import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// A file, a folder of agents, or a workspace or home that has such folders
    #[arg(value_name = "FROM")]
    path: PathBuf,
    /// Format of the files, if their path does not determine it
    #[arg(long, value_name = "FORMAT", value_parser = super::program())]
    from: Option<Program>,
    /// Put the agents into this folder instead of the user's own
    #[arg(long, value_name = "DIR", visible_alias = "agents-dir")]
    into: Option<PathBuf>,
    #[command(flatten)]
    handling: Handling,
}

/// Reads every file that is found and writes the agents it gives.
pub(super) fn run(args: ImportArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let into = args.into.unwrap_or_else(|| config.home.join("agents"));
    let found = import::find(&args.path, args.from, false, config.agents.limits());
    let found = found.map_err(|error| failure(&error))?;
    let base = std::env::current_dir()?;
    let shown = |path: &Path| shown(path, &base);
    let mut rows = Vec::new();
    for step in import::plan(found, &into) {
        let stem = step.from.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, done, to, reason) = match step.outcome {
            Outcome::Write { name, to, text, change } => {
                let (done, reason) = file_report::write(&to, &text, change, args.handling);
                (name, done, Some(shown(&to)), reason)
            }
            Outcome::Conflict { name, by } => {
                let reason = format!("{} gives an agent of the same name", shown(&by));
                (name, Done::Failed, None, Some(reason))
            }
            Outcome::Rejected(reason) => (stem, Done::Failed, None, Some(reason)),
        };
        let format = step.program.or(args.from).map_or("unknown", Program::name);
        rows.push(Row { done, name, from: shown(&step.from), format, to, reason, notes: step.notes });
    }
    file_report::print(&rows, args.handling)
}

/// Says why nothing is found, and what to do.
pub(super) fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        Error::Unclear { .. } => {
            let names: Vec<&str> = Program::FOREIGN.iter().map(|program| program.name()).collect();
            failure.hint(format!("name it with --from: {}", names.join(", ")))
        }
        Error::Nothing { .. } => failure.hint("they are files that end in .md, .toml or .yaml, by program"),
        Error::Unreadable { .. } => failure.hint("name a file or folder that you may read"),
    }
}
