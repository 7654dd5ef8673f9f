//! `adjutant agents import`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::file_report::{self, Handling};
use crate::cli::output::Failure;
use crate::cli::source_files::unreadable_hint;
use crate::cli::{Common, one_of};
use adjutant_agents::definition::Program;
use adjutant_agents::import::{self, Error};
use adjutant_base::config::Roots;
use adjutant_terminal::socket;

/// Arguments of `adjutant agents import`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// A file, a folder of agents, or a workspace or home that has such folders
    #[arg(value_name = "FROM")]
    path: PathBuf,
    /// Format of the files, if their path does not determine it
    #[arg(long, value_name = "FORMAT", value_parser = one_of(Program::FOREIGN.map(|program| (program.name(), program))))]
    from: Option<Program>,
    /// Write the agents into this folder instead of the home folder
    #[arg(long, value_name = "DIR", visible_alias = "agents-dir")]
    into: Option<PathBuf>,
    #[command(flatten)]
    handling: Handling,
}

/// Reads the files of another program and writes their agents.
pub(super) fn run(args: ImportArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    if args.into.is_none() && !args.handling.dry_run {
        socket::private_folder(&config.home).map_err(Failure::new)?;
    }
    let into = args.into.unwrap_or_else(|| config.home.join("agents"));
    let found = import::find(&args.path, args.from, false, config.agents.limits());
    let found = found.map_err(|error| failure(&error))?;
    let kind = ("agent", args.from.map(Program::name));
    let passed_over = found.passed_over.clone();
    file_report::import(import::plan(found, &into), kind, &passed_over, args.handling)
}

/// Returns the failure of an import, with a hint.
pub(super) fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        Error::Unclear { .. } => {
            let names: Vec<&str> = Program::FOREIGN.iter().map(|program| program.name()).collect();
            failure.hint(format!("name it with --from: {}", names.join(", ")))
        }
        Error::Nothing { .. } => failure.hint("they are files that end in .md, .toml or .yaml, by program"),
        Error::Unreadable { path, .. } => failure.hint(unreadable_hint(path)),
    }
}
