//! `adjutant serve`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::Failure;

/// Arguments of `adjutant serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {}

/// Runs it.
pub(super) fn run(_args: ServeArgs, _common: Common) -> Result<ExitCode, Failure> {
    Err(Failure::new("not built yet"))
}
