//! `adjutant supervise`: the supervisor process of a run. The help hides it, because only the hub starts it.

use std::ffi::OsString;
use std::io::{self, BufRead};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use adjutant_host::process::{self, Error, Outcome, Resumed, Running};

/// Exit code of a shell for a program that cannot be executed.
const NOT_EXECUTED: u8 = 127;

/// Arguments of `adjutant supervise`.
#[derive(Debug, Args)]
pub(super) struct SuperviseArgs {
    /// None, to supervise; `--guard SPOOL` for the process above; `--enter …` and `--become …` for the stages before
    /// the runner; `--inside …` for the process above it in a sandbox; `--start` and `--resume SPOOL` to act as the hub
    /// of one run
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) words: Vec<OsString>,
}

/// Supervises the run that is requested on stdin, becomes its runner, or acts as the hub of a run.
pub(super) fn run(args: &SuperviseArgs) -> Result<ExitCode, Failure> {
    match args.words.as_slice() {
        [] => process::supervise(None).map_err(Failure::new).map(|()| ExitCode::SUCCESS),
        [flag, guard] if flag == process::GUARDED => {
            process::supervise(guard.to_str()).map_err(Failure::new).map(|()| ExitCode::SUCCESS)
        }
        [flag, spool] if flag == "--guard" => {
            process::guard(Path::new(spool)).map_err(Failure::new).map(|()| ExitCode::SUCCESS)
        }
        [stage, words @ ..] if stage == "--enter" => {
            let error = process::enter(words.iter().cloned());
            Err(Failure::new(format!("the program cannot be executed: {error}")).with_code(NOT_EXECUTED))
        }
        [stage, words @ ..] if stage == "--become" || stage == process::BECOME_WITH_JSON => {
            if stage == process::BECOME_WITH_JSON {
                output::set_json();
            }
            let program = words.get(1).map(|program| Path::new(program).display().to_string());
            let error = process::become_child(words.iter().cloned());
            let program = program.unwrap_or_default();
            Err(Failure::new(format!("`{program}` cannot be executed: {error}"))
                .hint("enter the full path of an executable program")
                .with_code(NOT_EXECUTED))
        }
        [stage, words @ ..] if stage == "--inside" => {
            let code = runtime()?.block_on(process::run_inside(words)).map(ExitCode::from);
            code.map_err(|error| {
                Failure::new(format!("the program cannot be executed: {error}")).with_code(NOT_EXECUTED)
            })
        }
        [start] if start == "--start" => {
            let command = process::read_command().map_err(Failure::new)?;
            as_hub(async { process::start(command).await.map(Resumed::Running) })
        }
        [resume, spool] if resume == "--resume" => as_hub(process::resume(Path::new(spool))),
        _ => Err(Failure::usage("the hub runs this command; it is not for users")),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::new)
}

/// Prints all lines of a run and its end. Any line on stdin cancels the run.
fn as_hub(run: impl Future<Output = Result<Resumed, Error>>) -> Result<ExitCode, Failure> {
    runtime()?.block_on(async {
        let outcome = match run.await.map_err(Failure::new)? {
            Resumed::Ended(outcome) => outcome,
            Resumed::Running(running) => follow(running).await?,
            Resumed::NotBegun => return output::data(&json!({"event": "not_begun"}).to_string()),
        };
        output::data(&json!({"event": "ended", "outcome": outcome}).to_string())
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn follow(mut running: Running) -> Result<Outcome, Failure> {
    let canceller = running.canceller();
    // The thread ends with the process, because a read of stdin cannot be cancelled.
    std::thread::spawn(move || {
        if io::stdin().lock().lines().next().is_some_and(|line| line.is_ok()) {
            canceller.cancel();
        }
    });
    output::data(&json!({"event": "started", "supervisor": running.supervisor}).to_string())?;
    while let Some(line) = running.lines.recv().await {
        let event = json!({"event": "line", "text": line.text, "cut": line.cut, "missed": line.missed});
        output::data(&event.to_string())?;
    }
    Ok(running.ended().await)
}
