//! `adjutant supervise`: what the hub starts for every run. Not for people, so it stands in no help.

use std::ffi::OsString;
use std::io::{self, BufRead};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use crate::process::{self, Outcome, Resumed};

/// What a shell says when a program cannot be executed.
const NOT_EXECUTED: u8 = 127;

/// Arguments of `adjutant supervise`.
#[derive(Debug, Args)]
pub(super) struct SuperviseArgs {
    /// Nothing; `--enter …` for the stage before the runner; `--resume SPOOL` to take up a run without a hub
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) words: Vec<OsString>,
}

/// Supervises the run that is ordered on stdin, becomes its runner, or takes up a run.
pub(super) fn run(args: SuperviseArgs) -> Result<ExitCode, Failure> {
    match args.words.as_slice() {
        [] => process::supervise().map_err(Failure::new).map(|()| ExitCode::SUCCESS),
        [stage, words @ ..] if stage == "--enter" => {
            let error = process::enter(words.iter().cloned());
            Failure::new(format!("the program cannot be executed: {error}")).report();
            Ok(ExitCode::from(NOT_EXECUTED))
        }
        [resume, spool] if resume == "--resume" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let outcome = runtime.map_err(Failure::new)?.block_on(take_up(Path::new(spool)))?;
            output::data(&json!({"event": "ended", "outcome": outcome}).to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(Failure::usage("the hub runs this, not a person")),
    }
}

/// Shows the lines of a run that lost its hub, from the first one on, until it ends; any line on stdin cancels it.
async fn take_up(spool: &Path) -> Result<Outcome, Failure> {
    let mut running = match process::resume(spool).await.map_err(Failure::new)? {
        Resumed::Ended(outcome) => return Ok(outcome),
        Resumed::Running(running) => running,
    };
    let canceller = running.canceller();
    // It ends with the process: a read of stdin cannot be given up.
    std::thread::spawn(move || {
        if io::stdin().lock().lines().next().is_some_and(|line| line.is_ok()) {
            canceller.cancel();
        }
    });
    while let Some(line) = running.lines.recv().await {
        let event = json!({"event": "line", "text": line.text, "cut": line.cut, "missed": line.missed});
        output::data(&event.to_string())?;
    }
    Ok(running.ended().await)
}
