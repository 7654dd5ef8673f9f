//! An attempt that the last hub left: followed from its first line on, read, or ended.

use std::path::{Path, PathBuf};

use super::attempt::{count_left, finish, follow, not_run, prepare};
use super::context::{ExecutorContext, TaskRun};
use super::{recording, sandboxed};
use crate::run_report::RunReport;
use crate::runner::failure::Class;
use crate::runner::progress::AttemptResult;
use crate::runner::{CommandVariant, PreparedCommand};
use crate::selector::Choice;
use adjutant_host::process::{self, Cause, Resumed};

/// Why an attempt of the last hub has no result.
pub(super) enum NotResumed {
    /// Its runner was not started.
    NotBegun,
    /// Its end is unknown, with the reason.
    Lost(&'static str),
}

/// Resumes the attempt that the last hub left in `spool`, and reads its output again from the start. `None` when this
/// hub stops too.
pub(super) async fn reattach(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    spool: &Path,
) -> Result<Option<AttemptResult>, NotResumed> {
    let name = &run.row.runner;
    let candidates = context.selector.candidates();
    let Some(candidate) = candidates.iter().find(|candidate| candidate.runner.name() == name) else {
        return end_unfollowed(run, spool, "its runner is not configured any more").await;
    };
    let (runner, stall) = (candidate.runner.clone(), candidate.stall);
    let name_of_run = spool.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name_of_run.strip_prefix("run-").and_then(|number| number.parse().ok());
    let (scratch, _) = run.attempt_folders(number.unwrap_or(1));
    let variant = if run.state.contract { CommandVariant::Contract } else { CommandVariant::Native };
    let choice = Choice { program: PathBuf::from(runner.program()), runner, variant, stall };
    // The same command line as before; only its parser and the paths of its output files are used.
    let prepared = prepare(context, run, &choice, "", None, &scratch);
    let Ok(PreparedCommand { argv, output_files, mut parser, .. }) = prepared else {
        return end_unfollowed(run, spool, "its runner cannot be asked the same way any more").await;
    };
    match process::resume(spool).await {
        Ok(Resumed::Running(running)) => {
            let recording = recording::start(context, run, name, &argv, None);
            let proxy = sandboxed::proxy(sandboxed::network(context, run, &choice.runner), &scratch);
            let proxy = proxy.ok().flatten();
            let result = follow(context, run, running, parser, &output_files, &recording, stall).await;
            if let (Some(proxy), Some(attempt)) = (proxy, run.state.report.attempts.last_mut()) {
                attempt.refused_hosts = proxy.refused();
            }
            Ok(result)
        }
        Ok(Resumed::Ended(outcome)) if outcome.cause == Cause::Lost => {
            count_left(&mut run.state.report, &outcome);
            Err(NotResumed::Lost("the hub that ran it ended, and so did the run's supervisor"))
        }
        Ok(Resumed::Ended(outcome)) => {
            for line in outcome.stdout.lines(0) {
                parser.gap(line.missed);
                let _ = parser.line(&line.text);
                parser.gap(line.cut);
            }
            // A requested cancellation is in the store; without one the last hub ended the run when it stopped.
            Ok(Some(finish(run, &outcome, parser, &output_files, true)))
        }
        Ok(Resumed::NotBegun) => {
            let _ = not_run(run, Class::HubGone, "the hub ended before the runner was started");
            Err(NotResumed::NotBegun)
        }
        Err(error) => {
            tracing::warn!(%error, task = run.row.id, "a run could not be resumed");
            run.state.report.is_uncounted = true;
            Err(NotResumed::Lost("the hub that ran it ended, and its run cannot be read"))
        }
    }
}

/// Ends the attempt that the last hub left in `spool`, because nothing can read its output; `reason` says why.
async fn end_unfollowed(
    run: &mut TaskRun<'_>,
    spool: &Path,
    reason: &'static str,
) -> Result<Option<AttemptResult>, NotResumed> {
    let begun = end_run(&mut run.state.report, process::resume(spool).await).await;
    Err(if begun { NotResumed::Lost(reason) } else { NotResumed::NotBegun })
}

/// Ends a run that the last hub left. Returns false if it had not begun.
pub(super) async fn end_run(report: &mut RunReport, resumed: Result<Resumed, process::Error>) -> bool {
    match resumed {
        Ok(Resumed::Running(running)) => {
            running.cancel();
            count_left(report, &running.ended().await);
        }
        Ok(Resumed::Ended(outcome)) => count_left(report, &outcome),
        Ok(Resumed::NotBegun) => return false,
        Err(error) => {
            tracing::warn!(%error, "a run could not be resumed");
            report.is_uncounted = true;
        }
    }
    true
}
