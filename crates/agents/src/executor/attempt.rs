//! One attempt: a runner's command line, its output while it runs, and its result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use super::context::{ExecutorContext, TaskRun, lease_until, make_private, now, until_stored};
use super::event_writer::{EventBatch, count_written, write_event, write_events};
use super::recording;
use super::sandboxed;
use crate::output_schema;
use crate::run_report::{Attempt, RunReport};
use crate::runner::codex::rollout;
use crate::runner::failure::{Class, Failure};
use crate::runner::output_parser::OutputParser;
use crate::runner::progress::{AttemptEnd, AttemptResult};
use crate::runner::run_state::add;
use crate::runner::{
    AttemptSpec, CommandVariant, OutputFiles, PreparedCommand, Rejection, SchemaEnforcement,
};
use crate::sandbox::Holder;
use crate::selector::Choice;
use crate::task::TaskEventKind;
use adjutant_base::spans::{ActiveSpan, SpanKind};
use adjutant_base::trace_context::Trace;
use adjutant_host::process::{self, Cause, Command, Exit, Limit, OnHubExit, Timeouts};
use adjutant_host::recorder::Recording;
use adjutant_host::recorder::format::Direction;
use adjutant_store::tasks;

/// Bytes of stderr that are read at the end of an attempt.
const MAX_STDERR: usize = 16 * 1024;
/// Bytes of stderr, and of a check's output, that go into a run report.
pub(super) const MAX_TAIL: usize = 4 * 1024;
/// Bytes of a file that a runner writes at its end.
const MAX_OUTPUT_FILE: u64 = 4 * 1024 * 1024;
/// How long an attempt that is over waits for the runner's version.
const VERSION_TIMEOUT: Duration = Duration::from_millis(300);
/// The least time that an attempt gets, unless the task as a whole has less.
const MIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs one runner once. `session` is the runner's session to resume. `None` when the attempt was left to the next
/// hub, or another hub holds the task.
#[expect(clippy::too_many_lines, reason = "one attempt in its order: each step needs those before it")]
pub(super) async fn attempt(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    choice: &Choice,
    prompt: &str,
    session: Option<&str>,
) -> Option<AttemptResult> {
    let name = choice.runner.name().to_owned();
    let mut number = run.state.report.attempts.len() + 1;
    // A folder of an earlier hub may exist although the report lists no such attempt: the state may not have been
    // written.
    while run.attempt_folders(number).1.exists() {
        number += 1;
    }
    let (scratch, spool) = run.attempt_folders(number);
    if let Err(error) = make_private(&scratch) {
        return Some(failed(Class::Crashed, format!("the run's folder cannot be made: {error}")));
    }
    run.state.contract = choice.variant == CommandVariant::Contract;
    run.state.report.attempts.push(Attempt { runner: name.clone(), started_at: now(), ..Attempt::default() });
    let prepared = match prepare(context, run, choice, prompt, session, &scratch) {
        Ok(prepared) => prepared,
        Err(refused) => return Some(not_run(run, Class::Refused, refused.to_string())),
    };
    let (permission, runner) = (run.options.permission(), &choice.runner);
    let network = sandboxed::network(context, run, runner);
    let holder = match context.sandbox.holder(runner, permission, &run.options.networks()).await {
        Ok(holder) => holder,
        Err(reason) => {
            let name = runner.name();
            let detail = format!("{name} cannot run at permission level `{}`: {reason}", permission.name());
            return Some(not_run(run, Class::Refused, detail));
        }
    };
    if let Some((holder, attempt)) = holder.zip(run.state.report.attempts.last_mut()) {
        holder.name().clone_into(&mut attempt.held_by);
        if !network.is_all() {
            attempt.network = network.to_string();
        }
    }
    for (file, content) in &prepared.files {
        if let Err(error) = std::fs::write(file, content) {
            return Some(not_run(
                run,
                Class::Crashed,
                format!("a file for the run cannot be written: {error}"),
            ));
        }
    }
    let started = TaskEventKind::Started { runner: name, attempt: i64::try_from(number).unwrap_or(i64::MAX) };
    write_event(context, run.row, started).await;
    if let Err(error) = run.write_state() {
        tracing::warn!(error, task = run.row.id, "the state of a task could not be written");
        // The next hub would not know what the agent changed in its worktree.
        if run.options.worktree {
            return Some(not_run(run, Class::Crashed, format!("the state of the task {error}")));
        }
    }
    // The row names the spool before the run starts, so that the next hub finds every run that may have started.
    let (lease, folder) = (run.row.lease(), spool.to_string_lossy());
    let extend = || tasks::extend(&context.store, &lease, lease_until(), Some(&folder));
    match until_stored(context, &run.row.id, "a run", run.ending(), extend).await {
        Some(Some(false)) if !run.cancelled.is_cancelled() => {}
        Some(None) => return None,
        None if !run.cancelled.is_cancelled() => {
            return Some(not_run(run, Class::HubGone, "the hub was stopped before the agent started"));
        }
        Some(Some(_)) | None => return Some(not_run(run, Class::Cancelled, "cancelled before it ran")),
    }
    // The supervisor checks the folder again when it enters it.
    if !run.options.workdir.is_unchanged() {
        let detail = "the working directory was replaced after the task was delegated";
        return Some(not_run(run, Class::Refused, detail));
    }
    let PreparedCommand { mut argv, mut env, stdin, output_files, parser, .. } = prepared;
    let trace = Trace::from_environment(&run.options.env);
    let mut span =
        ActiveSpan::start(trace.as_ref(), SpanKind::Client, || format!("run {}", choice.runner.name()));
    span.set("adjutant.runner", || choice.runner.name().to_owned());
    span.set("adjutant.attempt", || number.to_string());
    for (name, value) in span.below(trace).map(|trace| trace.environment()).into_iter().flatten() {
        env.retain(|(known, _)| known != name.as_str());
        env.push((name.into(), value.into()));
    }
    let mut sandboxed = None;
    if holder.is_some_and(Holder::is_kernel) {
        match sandboxed::wrap(context, run, choice, argv, &env, &scratch, network).await {
            Ok(mut made) => {
                argv = std::mem::take(&mut made.argv);
                sandboxed = Some(made);
            }
            Err(reason) => {
                span.fail(Class::Refused.name());
                return Some(not_run(run, Class::Refused, reason));
            }
        }
    }
    // Podman passes signals on to its container, in which no process is in its group.
    let is_wrapped = holder == Some(Holder::Bubblewrap);
    let recording = recording::start(context, run, choice.runner.name(), &argv, stdin.as_deref());
    // Text alone does not show whether the runner waits for its model, so only its silence counts.
    let silence = choice.stall.filter(|_| !parser.has_events()).or(context.settings.idle_timeout);
    let command = Command { is_wrapped, ..command(context, run, argv, env, stdin, spool, silence) };
    let running = match process::start_known(command, |pid| set_supervisor(context, run.row, pid)).await {
        Ok(running) => running,
        Err(process::Error::NotFound { program }) => {
            span.fail(Class::NotInstalled.name());
            return Some(not_run(run, Class::NotInstalled, format!("`{program}` is not installed")));
        }
        Err(error) => {
            span.fail(Class::Crashed.name());
            return Some(not_run(run, Class::Crashed, error.to_string()));
        }
    };
    let probe = run.folder.join("version");
    let mut probing =
        pin!(context.versions.version(&choice.runner, &choice.program, &context.environment, &probe));
    let mut version = None;
    let result = {
        let mut following =
            pin!(follow(context, run, running, parser, &output_files, &recording, choice.stall));
        loop {
            tokio::select! {
                probed = &mut probing, if version.is_none() => version = Some(probed),
                result = &mut following => break result,
            }
        }
    };
    if version.is_none() {
        version = tokio::time::timeout(VERSION_TIMEOUT, probing).await.ok();
    }
    if let Some(attempt) = run.state.report.attempts.last_mut() {
        attempt.version = version.flatten();
        let proxy = sandboxed.and_then(|sandboxed| sandboxed.proxy);
        attempt.refused_hosts = proxy.map(|proxy| proxy.refused()).unwrap_or_default();
    }
    if let Some(failure) = result.as_ref().and_then(|result| result.failure.as_ref()) {
        span.fail(failure.class.name());
    }
    result
}

/// Builds the command line of an attempt.
pub(super) fn prepare(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    choice: &Choice,
    prompt: &str,
    session: Option<&str>,
    scratch: &Path,
) -> Result<PreparedCommand, Rejection> {
    let mut spec = AttemptSpec {
        program: &choice.program,
        prompt,
        workdir: &run.workspace,
        scratch,
        permission: run.options.permission(),
        model: run.options.model.as_deref(),
        schema: run.options.schema.as_ref(),
        session,
        variant: choice.variant,
        environment: &context.environment,
        env: &run.options.env,
    };
    let prepared = choice.runner.prepare(&spec)?;
    match &run.options.schema {
        // The prompt asks for the schema where the runner has no flag for it.
        Some(schema) if prepared.schema == SchemaEnforcement::None => {
            let prompt = format!("{prompt}{}", output_schema::instruction(schema));
            spec.prompt = &prompt;
            choice.runner.prepare(&spec)
        }
        Some(_) | None => Ok(prepared),
    }
}

fn command(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    argv: Vec<OsString>,
    mut env: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    spool: PathBuf,
    silence: Option<Duration>,
) -> Command {
    let limit = run.options.timeout();
    let left = limit.saturating_sub(run.started.elapsed());
    env.push(("ADJUTANT_TASK".into(), run.row.id.clone().into()));
    Command {
        argv,
        workdir: run.workspace.clone(),
        env,
        stdin,
        timeouts: Timeouts {
            wall: Some(left.max(MIN_TIMEOUT.min(limit))),
            idle: silence,
            first_output: context.settings.first_output_timeout,
        },
        grace: process::GRACE,
        spool,
        cap: context.settings.spool_cap,
        on_hub_exit: if run.options.keep { OnHubExit::Keep } else { OnHubExit::Kill },
        is_wrapped: false,
    }
}

/// Adds to the run report how many processes of a run are left.
pub(super) fn count_left(report: &mut RunReport, outcome: &process::Outcome) {
    report.processes_left += outcome.processes_left;
    report.is_uncounted |= !outcome.is_counted;
}

/// Records the process below which a task runs, in the place of an earlier one.
fn set_supervisor(context: &ExecutorContext, row: &tasks::Task, pid: u32) {
    if let Some(active) = context.active().get_mut(&row.id) {
        active.supervisor = Some(pid);
    }
}

/// Reads an attempt's output until its end. Ends a run that waits for its model without progress for longer than `stall`.
/// `None` when this hub stops and leaves the run to the next one.
pub(super) async fn follow(
    context: &ExecutorContext,
    run: &mut TaskRun<'_>,
    mut running: process::Running,
    mut parser: OutputParser,
    output_files: &OutputFiles,
    recording: &Recording,
    stall: Option<Duration>,
) -> Option<AttemptResult> {
    set_supervisor(context, run.row, running.supervisor);
    if let Some(active) = context.active().get_mut(&run.row.id) {
        active.run = Some(running.canceller());
    }
    if run.cancelled.is_cancelled() {
        running.cancel();
    }
    let mut batch = EventBatch::new(count_written(context, &run.row.id).await);
    let mut hub_stops = false;
    let (mut progress, mut has_stalled) = (tokio::time::Instant::now(), false);
    loop {
        tokio::select! {
            line = running.lines.recv() => match line {
                Some(line) => {
                    recording::line(recording, &line);
                    parser.gap(line.missed);
                    batch.extend(parser.line(&line.text));
                    parser.gap(line.cut);
                    if !parser.is_retrying() {
                        progress = tokio::time::Instant::now();
                    }
                }
                None => break,
            },
            () = tokio::time::sleep_until(progress + stall.unwrap_or_default()),
                if stall.is_some() && !has_stalled && !hub_stops && parser.waits_for_model() =>
            {
                has_stalled = true;
                running.cancel();
            }
            () = batch.wait_for_batch() => write_events(context, run.row, batch.take()).await,
            () = run.stop.cancelled(), if !hub_stops => {
                if run.options.keep {
                    write_events(context, run.row, batch.take()).await;
                    return None;
                }
                hub_stops = true;
                running.cancel();
            }
        }
    }
    write_events(context, run.row, batch.finish()).await;
    let canceller = running.canceller();
    let mut ended = pin!(running.ended());
    let mut outcome = loop {
        tokio::select! {
            outcome = &mut ended => break outcome,
            () = run.stop.cancelled(), if !hub_stops && !run.options.keep => {
                hub_stops = true;
                canceller.cancel();
            }
        }
    };
    if has_stalled && outcome.cause == Cause::Cancelled && !run.is_ending() {
        outcome.cause = Cause::TimedOut(Limit::Idle);
    }
    recording.bytes(Direction::Err, outcome.stderr.tail(MAX_STDERR).as_bytes());
    if let Some(code) = exit_code(outcome.exit) {
        recording.exited(code);
    }
    if let Some(active) = context.active().get_mut(&run.row.id) {
        (active.run, active.supervisor) = (None, None);
    }
    Some(finish(run, &outcome, parser, output_files, hub_stops))
}

/// Reads the result of an attempt whose processes have ended, and records it in the run report. `hub_stops` is set if
/// the hub itself ended the run because the hub stops.
pub(super) fn finish(
    run: &mut TaskRun<'_>,
    outcome: &process::Outcome,
    parser: OutputParser,
    output_files: &OutputFiles,
    hub_stops: bool,
) -> AttemptResult {
    let message = output_files.final_message.as_deref().and_then(read_output_file);
    let usage = output_files.usage.as_deref().and_then(read_output_file);
    let stderr = outcome.stderr.tail(MAX_STDERR);
    let mut result = parser.finish(&AttemptEnd {
        exit: outcome.exit,
        cause: outcome.cause,
        stderr: &stderr,
        final_message: message.as_deref(),
        usage: usage.as_deref(),
    });
    if result.model.is_none() {
        let rollout = output_files.sessions.as_deref().zip(result.session.as_deref());
        result.model = rollout.and_then(|(sessions, id)| rollout::model(sessions, id));
    }
    match (outcome.cause, outcome.processes_left) {
        (Cause::Cancelled, left @ 1..) => {
            let detail = format!("it was cancelled, but {left} processes of it could not be ended");
            result.failure = Some(Failure::new(Class::Crashed, detail));
        }
        (Cause::Cancelled, 0) if hub_stops && !run.cancelled.is_cancelled() => {
            let detail = "adjutant was stopped while it ran; no process of it is left";
            result.failure = Some(Failure::new(Class::HubGone, detail));
        }
        (Cause::Cancelled, 0) => {
            result.failure = Some(Failure::new(Class::Cancelled, "cancelled; no process of it is left"));
        }
        (Cause::Exited | Cause::TimedOut(_) | Cause::HubGone | Cause::Lost, _) => {}
    }
    let report = &mut run.state.report;
    report.cpu_ms += millis(outcome.cpu);
    report.peak_rss_bytes = report.peak_rss_bytes.max(outcome.peak_rss);
    count_left(report, outcome);
    if let Some(error) = &outcome.stdout.error {
        let missing = outcome.stdout.seen - outcome.stdout.kept;
        report.output_missing = Some(format!("{missing} bytes could not be written: {error}"));
    }
    if result.failure.is_some() {
        report.stderr_tail = outcome.stderr.tail(MAX_TAIL);
    }
    record_result(run, result, Some(outcome))
}

/// Completes the last attempt of the run report.
fn record_result(
    run: &mut TaskRun<'_>,
    result: AttemptResult,
    outcome: Option<&process::Outcome>,
) -> AttemptResult {
    let report = &mut run.state.report;
    if let Some(attempt) = report.attempts.last_mut() {
        attempt.failure = result.failure.as_ref().map(Into::into);
        attempt.session.clone_from(&result.session);
        // A runner that does not name its model uses the one that the agent names.
        attempt.model = result.model.clone().or_else(|| run.options.model.clone());
        attempt.wall_ms = outcome.map_or(0, |outcome| millis(outcome.wall));
        attempt.exit = outcome.and_then(|outcome| exit_code(outcome.exit));
    }
    let (usage, more) = (&mut report.usage, result.usage);
    add(&mut usage.input_tokens, more.input_tokens);
    add(&mut usage.cached_tokens, more.cached_tokens);
    add(&mut usage.output_tokens, more.output_tokens);
    add(&mut usage.cost_micro_usd, more.cost_micro_usd);
    report.commands.extend(result.commands.iter().cloned());
    report.denied.extend(result.denied.iter().cloned());
    report.files.extend(result.files.iter().cloned());
    result
}

/// Records an attempt that did not run.
pub(super) fn not_run(run: &mut TaskRun<'_>, class: Class, detail: impl AsRef<str>) -> AttemptResult {
    record_result(run, failed(class, detail), None)
}

/// Returns the result of an attempt that did not run.
pub(super) fn failed(class: Class, detail: impl AsRef<str>) -> AttemptResult {
    AttemptResult { failure: Some(Failure::new(class, detail)), ..AttemptResult::default() }
}

/// Returns the exit code that a shell would show.
pub(super) fn exit_code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(signal) => Some(128 + signal),
        Exit::NotStarted | Exit::Unknown => None,
    }
}

/// Returns a duration in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Reads at most [`MAX_OUTPUT_FILE`] bytes of a file that a runner has written.
fn read_output_file(file: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(MAX_OUTPUT_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
