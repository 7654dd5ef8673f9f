//! `adjutant supervise`: what the hub starts for every run. Not for people, so it stands in no help.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use super::output::Failure;
use crate::process;

/// What a shell says when a program cannot be executed.
const NOT_EXECUTED: u8 = 127;

/// Arguments of `adjutant supervise`.
#[derive(Debug, Args)]
pub(super) struct SuperviseArgs {
    /// Nothing, or what the stage before the runner is told
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) words: Vec<OsString>,
}

/// Supervises the run that is ordered on stdin, or becomes its runner.
pub(super) fn run(args: SuperviseArgs) -> Result<ExitCode, Failure> {
    match args.words.split_first() {
        None => process::supervise().map_err(Failure::new).map(|()| ExitCode::SUCCESS),
        Some((stage, words)) if stage == "--enter" => {
            let error = process::enter(words.iter().cloned());
            Failure::new(format!("the program cannot be executed: {error}")).report();
            Ok(ExitCode::from(NOT_EXECUTED))
        }
        Some(_) => Err(Failure::usage("the hub runs this, not a person")),
    }
}
