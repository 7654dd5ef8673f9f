//! Checks of a task: commands that the hub itself runs after the agent has ended. Their results are the verdict.

mod changed_scripts;

use std::path::PathBuf;
use std::pin::pin;
use std::time::Instant;

use super::attempt::{MAX_TAIL, exit_code, millis};
use super::context::{ExecutorContext, TaskRun};
use super::event_writer::write_event;
use crate::run_report::{Check, Outcome, Verification};
use crate::task::TaskEventKind;
use adjutant_host::process::{self, Cause, Command, Exit, OnHubExit, Timeouts};

/// Runs the checks one after the other. A cancellation ends the running one and leaves out the rest.
pub(super) async fn run(context: &ExecutorContext, run: &TaskRun<'_>, outcome: &mut Outcome) {
    for (number, argv) in run.options.checks.iter().enumerate() {
        if run.is_ending() {
            let reason =
                Some("it was left out, because the task was cancelled or the hub stopped".to_owned());
            let check = Check { command: argv.clone(), reason, ..Check::default() };
            outcome.report.checks.push(check);
            continue;
        }
        let line = argv.join(" ");
        write_event(context, run.row, TaskEventKind::CheckStarted { command: line.clone() }).await;
        let mut check = run_command(context, run, argv, &format!("check-{number}")).await;
        check.changed_by_run = changed_scripts::find(argv, &outcome.report, run);
        write_event(context, run.row, TaskEventKind::CheckEnded { command: line, passed: check.passed })
            .await;
        outcome.report.processes_left += check.processes_left;
        outcome.report.is_uncounted |= check.is_uncounted;
        outcome.report.checks.push(check);
    }
    let checks = &outcome.report.checks;
    outcome.verdict = if checks.is_empty() {
        Verification::Unverified
    } else if checks.iter().all(|check| check.passed) {
        Verification::Verified
    } else if checks.iter().any(|check| !check.passed && check.exit.is_some()) {
        Verification::Refuted
    } else {
        // No check ran to its end and failed.
        Verification::Unverified
    };
}

/// Runs one command in the working folder. Its spool is the folder `name` of the task.
pub(super) async fn run_command(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    argv: &[String],
    name: &str,
) -> Check {
    let started = Instant::now();
    let command = Command {
        argv: argv.iter().map(Into::into).collect(),
        workdir: run.workspace.clone(),
        env: context.environment.for_check(),
        stdin: None,
        timeouts: Timeouts { wall: Some(context.settings.check_timeout), ..Timeouts::default() },
        grace: process::GRACE,
        spool: free_folder(run, name),
        cap: context.settings.spool_cap,
        on_hub_exit: OnHubExit::Kill,
        is_wrapped: false,
    };
    let mut check = Check { command: argv.to_vec(), ..Check::default() };
    match process::start(command).await {
        Ok(running) => {
            let canceller = running.canceller();
            let mut ended = pin!(running.ended());
            let outcome = tokio::select! {
                outcome = &mut ended => outcome,
                () = run.ending() => {
                    canceller.cancel();
                    ended.await
                }
            };
            check.passed = outcome.cause == Cause::Exited && outcome.exit == Exit::Code(0);
            check.exit = exit_code(outcome.exit);
            check.reason = match outcome.cause {
                Cause::Exited => None,
                Cause::TimedOut(_) => Some("it did not end in time".to_owned()),
                Cause::Cancelled => Some("it was cancelled".to_owned()),
                Cause::HubGone => Some("the hub ended while it ran".to_owned()),
                Cause::Lost => Some("its supervisor was killed".to_owned()),
            };
            check.processes_left = outcome.processes_left;
            check.is_uncounted = !outcome.is_counted;
            check.output_tail = format!("{}{}", outcome.stdout.tail(MAX_TAIL), outcome.stderr.tail(MAX_TAIL));
        }
        Err(error) => check.reason = Some(error.to_string()),
    }
    check.wall_ms = millis(started.elapsed());
    check
}

/// Returns a folder of the task that does not exist yet, also when an earlier hub ran the same check.
fn free_folder(run: &TaskRun<'_>, name: &str) -> PathBuf {
    let mut folder = run.folder.join(name);
    while folder.exists() {
        folder.as_mut_os_string().push("-again");
    }
    folder
}
