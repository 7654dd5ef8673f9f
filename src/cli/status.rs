//! `adjutant status`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::Failure;

/// Arguments of `adjutant status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {}

/// Runs it.
pub(super) fn run(_args: StatusArgs, _common: Common) -> Result<ExitCode, Failure> {
    Err(Failure::new("not built yet"))
}
