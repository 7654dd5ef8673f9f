//! `adjutant codex steer` and `interrupt`: a turn that runs.

use std::process::ExitCode;

use clap::Args;

use super::{prompt, whole};
use crate::cli::output::{self, Failure};
use crate::socket::person::Person;

/// Arguments of `adjutant codex steer`.
#[derive(Debug, Args)]
pub(super) struct SteerArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
    /// What Codex shall know; read from stdin when it is not given
    prompt: Option<String>,
}

/// Arguments of `adjutant codex interrupt`.
#[derive(Debug, Args)]
pub(super) struct InterruptArgs {
    /// The thread's id, or enough of its beginning
    thread: String,
}

/// Puts a prompt into a running turn.
pub(super) fn steer(args: SteerArgs, person: &mut Person) -> Result<ExitCode, Failure> {
    let text = prompt(args.prompt)?;
    let thread = whole(person, &args.thread)?;
    person.steer_codex(&thread, text)?;
    output::note("Codex took it into the running turn");
    Ok(ExitCode::SUCCESS)
}

/// Ends a running turn.
pub(super) fn interrupt(args: &InterruptArgs, person: &mut Person) -> Result<ExitCode, Failure> {
    let thread = whole(person, &args.thread)?;
    person.interrupt_codex(&thread)?;
    output::note("Codex was told to end the turn");
    Ok(ExitCode::SUCCESS)
}
