//! `adjutant open`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::Failure;

/// Arguments of `adjutant open`.
#[derive(Debug, Args)]
pub(super) struct OpenArgs {}

/// Runs it.
pub(super) fn run(_args: OpenArgs, _common: Common) -> Result<ExitCode, Failure> {
    Err(Failure::new("not built yet"))
}
