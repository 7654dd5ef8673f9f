//! One run of a task: runners in order, the answer validated against its schema, the checks, the outcome.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures::FutureExt as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::attempt::{attempt, failed};
use super::context::{ExecutorContext, RunState, TaskRun, make_private, now, remove_files, until_stored};
use super::event_writer::write_event;
use super::reattach::{NotResumed, end_run, reattach};
use super::{checks, rows, workspace};
use crate::output_schema;
use crate::run_report::{FailureReport, Outcome, RunReport, Verification};
use crate::runner::failure::Class;
use crate::runner::progress::AttemptResult;
use crate::selector::{Choice, Considered};
use crate::task::TaskEventKind;
use crate::worktrees::WORKTREE;
use adjutant_base::spans::{ActiveSpan, SpanKind};
use adjutant_base::trace_context::Trace;
use adjutant_host::process;
use adjutant_store::tasks::{self, Ending};

/// The answer of an attempt, read by the schema that was asked for.
enum Answer {
    /// Text: no schema was asked for, or the attempt failed.
    Text,
    /// A value that follows the schema.
    Structured(Value),
    /// An answer that does not follow the schema, with the reason.
    Invalid(String),
}

/// Runs a claimed task to its end and writes its outcome. `spool` is the folder of the attempt that the last hub left.
pub(super) async fn run(
    context: &ExecutorContext,
    row: tasks::Task,
    spool: Option<PathBuf>,
    cancelled: CancellationToken,
    stop: &CancellationToken,
) {
    let mut options = match rows::options(&row) {
        Ok(options) => options,
        Err(reason) => {
            let mut report = RunReport::default();
            if let Some(spool) = &spool {
                end_run(&mut report, process::resume(spool).await).await;
            }
            return finish(context, &row, &lost(&reason, report), stop).await;
        }
    };
    let trace = Trace::from_environment(&options.env);
    let mut span =
        ActiveSpan::start(trace.as_ref(), SpanKind::Internal, || format!("invoke_agent {}", row.agent));
    span.set("gen_ai.operation.name", || "invoke_agent".to_owned());
    span.set("gen_ai.agent.name", || row.agent.clone());
    if let Some(trace) = span.below(trace) {
        options.env.extend(trace.environment());
    }
    let folder = context.folder(&row.id);
    let mut state = spool.as_ref().and_then(|_| RunState::read(&folder)).unwrap_or_default();
    options.permission().name().clone_into(&mut state.report.permission);
    state.report.checks_may_fail = options.checks_may_fail;
    let mut run = TaskRun {
        workspace: options.workdir.path().to_owned(),
        folder,
        row: &row,
        options: &options,
        started: Instant::now(),
        state,
        cancelled: &cancelled,
        stop,
    };
    let mut outcome = match run.state.outcome.take() {
        // The last hub ended between the cleanup and the end of the task.
        Some(outcome) => outcome,
        None => {
            match AssertUnwindSafe(outcome_of(context, &mut run, spool.as_deref())).catch_unwind().await {
                Ok(Some(outcome)) => outcome,
                // The next hub resumes it.
                Ok(None) => return,
                Err(_) => end_after_panic(&run).await,
            }
        }
    };
    if options.worktree && run.folder.join(WORKTREE).exists() {
        run.state.outcome = Some(outcome.clone());
        let write = || std::future::ready(run.write_state());
        if until_stored(context, &row.id, "the state of a task", stop.cancelled(), write).await.is_none() {
            // The next hub makes the outcome again.
            return;
        }
    }
    workspace::cleanup(context, &run, &mut outcome.report).await;
    workspace::remove_scratch(&run).await;
    // From the claim on, also where the hub changed in between.
    outcome.report.wall_ms = u64::try_from(now() - row.started_at.unwrap_or_else(now)).unwrap_or(0);
    if let Some(failure) = &outcome.failure {
        span.fail(&failure.class);
    }
    finish(context, &row, &outcome, stop).await;
    if outcome.status == Ending::Succeeded {
        // The files of a failed run stay, because they may show why it failed.
        remove_files(context, &row.id).await;
    }
}

/// Runs the agent and the checks. `None` when the run was left to the next hub.
async fn outcome_of(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    spool: Option<&Path>,
) -> Option<Outcome> {
    let answered = answer(context, run, spool).await.transpose()?;
    let report = run.state.report.clone();
    let mut outcome = match answered {
        Ok((result, answer)) => outcome(report, result, answer),
        Err(reason) => lost(reason, report),
    };
    // Before the checks, because the report is about the agent.
    workspace::record_changes(context, run, &mut outcome.report).await;
    if outcome.status == Ending::Succeeded {
        checks::run(context, run, &mut outcome).await;
    }
    if outcome.report.read_only_changes().is_some() {
        outcome.verdict = Verification::Refuted;
    }
    Some(outcome)
}

/// Writes the outcome of a task.
async fn finish(context: &ExecutorContext, row: &tasks::Task, outcome: &Outcome, stop: &CancellationToken) {
    let class = outcome.failure.as_ref().map(|fault| fault.class.as_str());
    let (json, lease) = (rows::json(outcome), row.lease());
    let end = || tasks::finish(&context.store, &lease, outcome.status, class, &json, now());
    // When the hub stops before, the next one adopts the task.
    if until_stored(context, &row.id, "an outcome", stop.cancelled(), end).await == Some(false) {
        tracing::warn!(task = row.id, "another hub holds this task now");
    }
    context.notify_changed(&row.id);
}

/// Returns the outcome of a task with an unknown progress. It is never run again by itself.
fn lost(detail: &str, report: RunReport) -> Outcome {
    let failure = Some(FailureReport { class: "lost".to_owned(), detail: detail.to_owned() });
    Outcome { failure, report, ..Outcome::new(Ending::Lost) }
}

/// Ends the processes of a run that panicked, and returns the outcome of its task.
async fn end_after_panic(run: &TaskRun<'_>) -> Outcome {
    // The spools of all its runs hold the counts, so they are counted again from 0.
    let mut report = RunReport { processes_left: 0, is_uncounted: false, ..run.state.report.clone() };
    let folder = run.folder.clone();
    match tokio::task::spawn_blocking(move || process::run_folders(&folder)).await {
        Ok(spools) => {
            for spool in spools {
                end_run(&mut report, process::resume(&spool).await).await;
            }
        }
        Err(_) => report.is_uncounted = true,
    }
    if run.state.baseline.is_some() {
        report.files_unknown = Some("the hub had an internal error before it compared them".to_owned());
    }
    panicked(report)
}

/// Returns the outcome of a task after a panic in its run; the panic is in the log.
fn panicked(report: RunReport) -> Outcome {
    let detail = "the hub had an internal error while the task ran; its log has the details".to_owned();
    let failure = Some(FailureReport { class: "hub".to_owned(), detail });
    Outcome { failure, report, ..Outcome::new(Ending::Failed) }
}

/// Ends a task after a panic in the end of its run.
pub(super) async fn mark_failed(context: &ExecutorContext, row: &tasks::Task, stop: &CancellationToken) {
    let report = RunReport { is_uncounted: true, ..RunReport::default() };
    finish(context, row, &panicked(report), stop).await;
}

/// Runs the agent, and once more where its answer does not follow the schema. `None` when the run was left to the
/// next hub, an error when its end is unknown.
async fn answer(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    spool: Option<&Path>,
) -> Result<Option<(AttemptResult, Answer)>, &'static str> {
    if let Err(error) = make_private(&run.folder) {
        let result = failed(Class::Crashed, format!("the task's folder cannot be made: {error}"));
        return Ok(Some((result, Answer::Text)));
    }
    if let Err(reason) = workspace::prepare(context, run, spool.is_some()).await {
        // A setup command was ended with the task, which is not its failure.
        let result = if run.is_ending() { not_started(run) } else { failed(Class::Refused, reason) };
        return Ok(Some((result, Answer::Text)));
    }
    let prompt = format!("{}\n\nTask: {}", run.options.persona, run.row.text);
    let resumed = match spool {
        Some(spool) => reattach(context, run, spool).await,
        None => Err(NotResumed::NotBegun),
    };
    let (result, choice) = match resumed {
        Ok(result) => (result, None),
        // The state that describes the worktree is lost, so the worktree may be missing or not set up.
        Err(NotResumed::NotBegun) if run.options.worktree && run.state.baseline.is_none() => {
            return Err("the hub that ran it ended, and the state of its worktree cannot be read");
        }
        Err(NotResumed::NotBegun) => try_runners(context, run, &prompt).await,
        Err(NotResumed::Lost(reason)) => return Err(reason),
    };
    let Some(result) = result else { return Ok(None) };
    let answer = read_answer(run, &result);
    let (Answer::Invalid(fault), Some(schema), Some(choice)) = (&answer, &run.options.schema, choice) else {
        return Ok(Some((result, answer)));
    };
    if run.is_ending() {
        return Ok(Some((result, answer)));
    }
    let text = format!("the answer does not follow its schema, once more: {fault}");
    write_event(context, run.row, TaskEventKind::HubNotice { text }).await;
    let repair = output_schema::repair(schema, fault);
    let mut repaired = None;
    if let Some(session) = result.session.clone() {
        let Some(next) = attempt(context, run, &choice, &repair, Some(&session)).await else {
            return Ok(None);
        };
        // A runner that cannot resume a session gets a new run with the last answer and what was wrong with it.
        let refused = next.failure.as_ref().is_some_and(|failure| failure.class == Class::Refused);
        repaired = Some(next).filter(|_| !refused);
    }
    let result = if let Some(result) = repaired {
        result
    } else {
        let last = result.message.as_deref().unwrap_or_default();
        let prompt = format!("{prompt}\n\nYour last answer to this was:\n{last}\n\n{repair}");
        let Some(next) = attempt(context, run, &choice, &prompt, None).await else { return Ok(None) };
        next
    };
    let answer = read_answer(run, &result);
    Ok(Some((result, answer)))
}

/// Returns the result of a task that was cancelled, or left by a hub that stops, before its agent started.
fn not_started(run: &TaskRun<'_>) -> AttemptResult {
    if run.cancelled.is_cancelled() {
        failed(Class::Cancelled, "cancelled before the agent started")
    } else {
        failed(Class::HubGone, "the hub was stopped before the agent started")
    }
}

/// Tries the runners in the contract's order: only a usage limit leads to the next one. Returns the last result and
/// the runner that it is of.
async fn try_runners(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    prompt: &str,
) -> (Option<AttemptResult>, Option<Choice>) {
    let options = run.options;
    // A plan of now: since the delegation a runner may have been installed or have reached its usage limit.
    let (model, runner) = (options.model.as_deref(), options.runner.as_deref());
    let plan = context.selector.plan(model, runner, options.permission(), Instant::now());
    let reason = plan.no_runner_reason();
    run.state.report.instead = options.runner.as_deref().and_then(|named| plan.substitution_reason(named));
    let class = if plan.considered.iter().any(Considered::is_unknown) {
        Class::Refused
    } else if plan.considered.iter().any(Considered::is_limited) {
        Class::UsageLimit
    } else {
        Class::NotInstalled
    };
    let mut last = (failed(class, reason.unwrap_or_default()), None);
    let mut current = run.row.runner.clone();
    for mut choice in plan.choices {
        let name = choice.runner.name().to_owned();
        if name != current {
            let lease = run.row.lease();
            let change = || tasks::move_to_runner(&context.store, &lease, &name);
            match until_stored(context, &run.row.id, "the next runner", run.ending(), change).await {
                Some(true) => current = name,
                Some(false) => return (None, None),
                None => {
                    last = (not_started(run), None);
                    break;
                }
            }
        }
        let Some(mut result) = attempt(context, run, &choice, prompt, None).await else {
            return (None, None);
        };
        if let Some(variant) = result.failure.as_ref().and_then(|failure| failure.retry_with) {
            choice.variant = variant;
            let Some(next) = attempt(context, run, &choice, prompt, None).await else { return (None, None) };
            result = next;
        }
        let limited = result.failure.as_ref().filter(|failure| failure.class == Class::UsageLimit);
        let limited = limited.map(|failure| failure.retry_after);
        last = (result, Some(choice));
        match limited {
            Some(retry_after) if !run.is_ending() => {
                context.selector.mark_limited(&current, retry_after, Instant::now());
            }
            Some(_) | None => break,
        }
    }
    (Some(last.0), last.1)
}

/// Validates the message of an attempt against the schema that was asked for.
fn read_answer(run: &TaskRun<'_>, result: &AttemptResult) -> Answer {
    match (&run.options.schema, &result.failure) {
        (Some(schema), None) => {
            match output_schema::read(schema, result.message.as_deref().unwrap_or_default()) {
                Ok(value) => Answer::Structured(value),
                Err(fault) => Answer::Invalid(fault),
            }
        }
        (Some(_) | None, _) => Answer::Text,
    }
}

/// Returns the outcome of a task, without checks and repository.
fn outcome(report: RunReport, result: AttemptResult, answer: Answer) -> Outcome {
    let status = match &result.failure {
        Some(failure) if failure.class == Class::Cancelled => Ending::Cancelled,
        Some(_) => Ending::Failed,
        None if matches!(answer, Answer::Invalid(_)) => Ending::Failed,
        None => Ending::Succeeded,
    };
    let mut failure = result.failure.as_ref().map(Into::into);
    let mut structured = None;
    match answer {
        Answer::Text => {}
        Answer::Structured(value) => structured = Some(value),
        Answer::Invalid(reason) => {
            let detail =
                format!("the final message does not follow output_schema, also at the second try: {reason}");
            failure = Some(FailureReport { class: "schema".to_owned(), detail });
        }
    }
    Outcome { message: result.message, structured, failure, report, ..Outcome::new(status) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::run;
    use crate::executor::context::{ExecutorContext, lease_until, now};
    use crate::run_report::Outcome;
    use crate::selector::Selector;
    use crate::task::TaskId;
    use crate::workdir::Workdir;
    use crate::{CommandVariant, worktrees};
    use adjutant_base::config::Database;
    use adjutant_base::config::delegation::Delegation;
    use adjutant_base::config::recorder::RecorderConfig;
    use adjutant_base::config::runners::RunnersConfig;
    use adjutant_base::events::Events;
    use adjutant_host::recorder::Recorder;
    use adjutant_store::Store;
    use adjutant_store::tasks::{self, Claim, NewTask, QueueLimits, Slots};

    /// The runtime has no I/O, so the start of git panics, after the entry of the worktree was made.
    #[test]
    fn a_run_that_panics_ends_its_task_and_leaves_no_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let (work, spool) = (folder.path().join("work"), folder.path().join("spool"));
        for part in ["objects", "refs"] {
            fs::create_dir_all(work.join(".git").join(part)).unwrap();
        }
        fs::write(work.join(".git/HEAD"), "0".repeat(40)).unwrap();
        let id = TaskId::new().unwrap().to_string();
        let workdir = Workdir::parse(work.to_str().unwrap()).unwrap();
        let options = json!({"label": "", "persona": "", "permission": "read-only", "timeout_ms": 60_000, "keep": false,
            "env": {}, "checks": [], "worktree": true, "workdir": workdir});
        let new = NewTask {
            id: id.clone(),
            caller: String::new(),
            agent: String::new(),
            runner: "codex".to_owned(),
            text: String::new(),
            workdir: String::new(),
            priority: 0,
            parent: None,
            root: id.clone(),
            depth: 0,
            options: options.to_string(),
            created_at: now(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(async {
            let settings = Delegation { spool: Some(spool.clone()), ..Delegation::default() };
            let selector = Selector::new(&RunnersConfig::default(), None, CommandVariant::Native).unwrap();
            let recorder = Recorder::new(RecorderConfig::default());
            let store = Store::new(Database::Memory);
            let context = ExecutorContext::new(settings, selector, store, Events::new(), recorder);
            let limits = QueueLimits { each_caller: 1, total: 1 };
            tasks::enqueue(&context.store, new, limits).await.unwrap();
            let claim = Claim {
                hub: context.hub.clone(),
                now: now(),
                lease_until: lease_until(),
                total: 1,
                runners: vec![Slots { runner: "codex".to_owned(), slots: 1 }],
                at_most: 1,
            };
            let row = tasks::claim(&context.store, claim).await.unwrap().remove(0);
            Box::pin(run(&context, row, None, CancellationToken::new(), &CancellationToken::new())).await;
            tasks::outcome(&context.store, &id).await.unwrap().unwrap()
        });
        let outcome: Outcome = serde_json::from_str(&outcome).unwrap();
        assert_eq!(outcome.failure.unwrap().class, "hub");
        assert_eq!((outcome.report.processes_left, outcome.report.is_uncounted), (0, false));
        assert!(!work.join(".git/worktrees").exists(), "its entry is left");
        assert_eq!(worktrees::count(&spool), 0);
    }
}
