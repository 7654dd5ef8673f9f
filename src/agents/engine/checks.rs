//! The checks: commands that the hub itself runs when the agent is gone. What they say is the verdict.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Instant;

use super::Engine;
use super::attempt::{TAIL, code, millis};
use super::run::Work;
use crate::agents::receipt::{Check, Outcome, Verdict};
use crate::agents::task::What;
use crate::process::{self, Cause, Command, Exit, OnHubExit, Timeouts};

impl Engine {
    /// Runs the checks one after the other. A wish to cancel ends the one that runs and leaves out the rest.
    pub(super) async fn check(&self, work: &Work<'_>, outcome: &mut Outcome) {
        for (number, argv) in work.options.checks.iter().enumerate() {
            if work.cancelled.is_cancelled() || work.stop.is_cancelled() {
                let reason = Some("it was left out, for the task was to end".to_owned());
                let check = Check { command: argv.clone(), reason, ..Check::default() };
                outcome.receipt.checks.push(check);
                continue;
            }
            let line = argv.join(" ");
            self.tell(work.row, What::CheckStarted { command: line.clone() }).await;
            let check = self.one_check(work, argv, number).await;
            self.tell(work.row, What::CheckEnded { command: line, passed: check.passed }).await;
            outcome.receipt.processes_left += check.processes_left;
            outcome.receipt.checks.push(check);
        }
        let checks = &outcome.receipt.checks;
        outcome.verdict = if checks.is_empty() {
            Verdict::Unverified
        } else if checks.iter().all(|check| check.passed) {
            Verdict::Verified
        } else if checks.iter().any(|check| !check.passed && check.exit.is_some()) {
            Verdict::Refuted
        } else {
            // None ran to its end and said no.
            Verdict::Unverified
        };
    }

    async fn one_check(&self, work: &Work<'_>, argv: &[String], number: usize) -> Check {
        let started = Instant::now();
        let command = Command {
            argv: argv.iter().map(Into::into).collect(),
            workdir: work.place.clone(),
            env: self.environment.of_check(),
            stdin: None,
            timeouts: Timeouts { wall: Some(self.settings.check_timeout), ..Timeouts::default() },
            grace: process::GRACE,
            spool: free_folder(work, &format!("check-{number}")),
            cap: self.settings.spool_cap,
            on_hub_exit: OnHubExit::Kill,
        };
        let mut check = Check { command: argv.to_vec(), ..Check::default() };
        match process::start(command).await {
            Ok(running) => {
                let canceller = running.canceller();
                let mut ended = pin!(running.ended());
                let outcome = tokio::select! {
                    outcome = &mut ended => outcome,
                    () = work.asked_to_end() => {
                        canceller.cancel();
                        ended.await
                    }
                };
                check.passed = outcome.cause == Cause::Exited && outcome.exit == Exit::Code(0);
                check.exit = code(outcome.exit);
                check.reason = match outcome.cause {
                    Cause::Exited => None,
                    Cause::TimedOut(_) => Some("it did not end in time".to_owned()),
                    Cause::Cancelled => Some("it was cancelled".to_owned()),
                    Cause::HubGone | Cause::Lost => Some("it was lost".to_owned()),
                };
                check.processes_left = outcome.processes_left;
                check.output_tail = format!("{}{}", outcome.stdout.tail(TAIL), outcome.stderr.tail(TAIL));
            }
            Err(error) => check.reason = Some(error.to_string()),
        }
        check.wall_ms = millis(started.elapsed());
        check
    }
}

/// Returns a folder of the task that does not exist, also when a hub that is gone began the same before.
fn free_folder(work: &Work<'_>, name: &str) -> PathBuf {
    let mut folder = work.folder.join(name);
    while folder.exists() {
        folder.as_mut_os_string().push("-again");
    }
    folder
}
