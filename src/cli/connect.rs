//! `adjutant connect`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::Failure;

/// Arguments of `adjutant connect`.
#[derive(Debug, Args)]
pub(super) struct ConnectArgs {}

/// Runs it.
pub(super) fn run(_args: ConnectArgs, _common: Common) -> Result<ExitCode, Failure> {
    Err(Failure::new("not built yet"))
}
