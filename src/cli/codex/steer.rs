//! `adjutant codex steer` and `interrupt`, for a running turn.

use std::process::ExitCode;

use clap::Args;

use super::{prompt, resolve_full_id};
use crate::cli::output::{self, Failure};
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant codex steer`.
#[derive(Debug, Args)]
pub(super) struct SteerArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
    /// Prompt for Codex; read from stdin if missing
    prompt: Option<String>,
}

/// Arguments of `adjutant codex interrupt`.
#[derive(Debug, Args)]
pub(super) struct InterruptArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
}

/// Adds a prompt to a running turn.
pub(super) fn steer(args: SteerArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let text = prompt(args.prompt)?;
    let thread = resolve_full_id(client, &args.thread)?;
    client.steer_codex(&thread, text)?;
    output::note("the prompt was added to the running turn");
    Ok(ExitCode::SUCCESS)
}

/// Ends a running turn.
pub(super) fn interrupt(args: &InterruptArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let thread = resolve_full_id(client, &args.thread)?;
    client.interrupt_codex(&thread)?;
    output::note("Codex was asked to interrupt the turn");
    Ok(ExitCode::SUCCESS)
}
