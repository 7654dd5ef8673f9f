//! `adjutant prompts import`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::file_report::{self, Handling};
use crate::cli::output::Failure;
use crate::cli::source_files::unreadable_hint;
use crate::cli::{Common, one_of};
use adjutant_base::config::Roots;
use adjutant_prompts::formats::Format;
use adjutant_prompts::import::{self, Error};
use adjutant_terminal::socket;

/// Arguments of `adjutant prompts import`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// A file, a folder of prompts, or a workspace or home that has such folders
    #[arg(value_name = "FROM")]
    path: PathBuf,
    /// Format of the files, if their path does not determine it
    #[arg(long, value_name = "FORMAT", value_parser = one_of(Format::ALL.iter().map(|format| (format.name(), *format))))]
    from: Option<Format>,
    /// Write the prompts into this folder instead of the home folder
    #[arg(long, value_name = "DIR", visible_alias = "prompts-dir")]
    into: Option<PathBuf>,
    #[command(flatten)]
    handling: Handling,
}

/// Reads the files of another program and writes their prompts.
pub(super) fn run(args: ImportArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let limits = config.prompts.limits();
    if args.into.is_none() && !args.handling.dry_run {
        socket::private_folder(&config.home).map_err(Failure::new)?;
    }
    let into = args.into.unwrap_or_else(|| config.home.join("prompts"));
    let holds_agents = || {
        let found = adjutant_agents::import::find(&args.path, None, false, config.agents.limits());
        found.is_ok_and(|found| !found.agents.is_empty())
    };
    let found = import::find(&args.path, args.from, limits).map_err(|error| match error {
        Error::Unclear { .. } if holds_agents() => Failure::new(error)
            .hint(format!("`adjutant agents import {}` imports the agents there", args.path.display())),
        error => failure(&error),
    })?;
    let planned = import::plan(found.files, &into, limits);
    file_report::import(planned, ("prompt", None), &found.passed_over, args.handling)
}

fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        Error::Unclear { .. } => {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            failure.hint(format!("name it with --from: {}", names.join(", ")))
        }
        Error::Nothing { format, .. } => failure.hint(format!(
            "they are searched for in {}, or as *{}",
            format.folders().join(" and "),
            format.suffix()
        )),
        Error::Unreadable { path, .. } => failure.hint(unreadable_hint(path)),
        Error::TooMany { .. } => failure.hint("name a folder below it"),
    }
}
