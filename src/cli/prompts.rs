//! `adjutant prompts …`: work with prompt commands.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::Failure;

/// Arguments of `adjutant prompts`.
#[derive(Debug, Args)]
pub(super) struct PromptsArgs {}

/// Runs one of the commands.
pub(super) fn run(_args: PromptsArgs, _common: Common) -> Result<ExitCode, Failure> {
    Err(Failure::new("not built yet"))
}
