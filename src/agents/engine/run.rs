//! One task: runners tried in turn, their output followed, the outcome written.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::rows::{self, Options};
use super::{Engine, now};
use crate::agents::receipt::{Attempt, Check, Command as RanCommand, Fault, Outcome, Receipt, Verdict};
use crate::agents::runner::failure::{Class, Failure};
use crate::agents::runner::reader::{Ended, Progress, Reader, Report, ToolResult};
use crate::agents::runner::{Form, Request};
use crate::agents::select::Choice;
use crate::agents::task::What;
use crate::process::{self, Cause, Command, Exit, OnHubExit, Resumed, Timeouts};
use crate::store::tasks::{self, Ending, NewEvent};

/// Bytes of stderr that are read at the end of a run, and that go into a receipt.
const STDERR: usize = 16 * 1024;
const TAIL: usize = 4 * 1024;
/// Bytes of a final message that is left in a file.
const MESSAGE: u64 = 4 * 1024 * 1024;

/// A task while it runs here.
struct Work<'a> {
    row: &'a tasks::Task,
    options: &'a Options,
    folder: PathBuf,
    started: Instant,
    receipt: Receipt,
    cancelled: &'a CancellationToken,
    stop: &'a CancellationToken,
}

impl Engine {
    /// Runs a claimed task to its end and writes its outcome. `spool` is the folder of a run that went on while there
    /// was no hub.
    pub(super) async fn run(
        &self,
        row: tasks::Task,
        spool: Option<PathBuf>,
        cancelled: CancellationToken,
        stop: &CancellationToken,
    ) {
        let options = match rows::options(&row) {
            Ok(options) => options,
            Err(reason) => return self.lose(&row, &reason).await,
        };
        let mut work = Work {
            folder: self.spool.join(&row.id),
            row: &row,
            options: &options,
            started: Instant::now(),
            receipt: Receipt { permission: options.permission.clone(), ..Receipt::default() },
            cancelled: &cancelled,
            stop,
        };
        let report = match spool {
            Some(spool) => self.go_on(&mut work, &spool).await,
            None => self.try_runners(&mut work).await,
        };
        let Some(report) = report else { return };
        let mut outcome = work.outcome(report);
        if outcome.status == Ending::Succeeded.as_str() {
            self.check(&mut work, &mut outcome).await;
        }
        outcome.receipt.wall_ms = millis(work.started.elapsed());
        self.finish(&row, &outcome).await;
    }

    async fn finish(&self, row: &tasks::Task, outcome: &Outcome) {
        let ending = match outcome.status.as_str() {
            "succeeded" => Ending::Succeeded,
            "cancelled" => Ending::Cancelled,
            "lost" => Ending::Lost,
            _ => Ending::Failed,
        };
        let class = outcome.failure.as_ref().map(|fault| fault.class.as_str());
        let json = rows::json(outcome);
        if let Err(error) = tasks::finish(&self.store, &row.lease(), ending, class, &json, now()).await {
            tracing::error!(%error, task = row.id, "an outcome could not be written");
        }
    }

    /// Tries the runners in the contract's order: only a usage limit moves on to the next.
    async fn try_runners(&self, work: &mut Work<'_>) -> Option<Report> {
        let options = work.options;
        let plan = self.selector.plan(options.model.as_deref(), options.runner.as_deref(), Instant::now());
        let mut last = failed(Class::NotInstalled, plan.nobody().unwrap_or_default());
        for choice in plan.choices {
            if choice.runner.name() != work.row.runner {
                let moved = tasks::move_to_runner(&self.store, &work.row.lease(), choice.runner.name()).await;
                if !moved.unwrap_or(false) {
                    return None;
                }
            }
            last = self.attempt(work, &choice, choice.form).await?;
            if let Some(form) = last.failure.as_ref().and_then(|failure| failure.retry_with) {
                last = self.attempt(work, &choice, form).await?;
            }
            match &last.failure {
                Some(failure) if failure.class == Class::UsageLimit && !work.cancelled.is_cancelled() => {
                    self.selector.limited(choice.runner.name(), failure.retry_after, Instant::now());
                }
                Some(_) | None => break,
            }
        }
        Some(last)
    }

    /// Runs one runner once. `None` when the run was left to the next hub.
    async fn attempt(&self, work: &mut Work<'_>, choice: &Choice, form: Form) -> Option<Report> {
        let name = choice.runner.name().to_owned();
        let number = work.receipt.attempts.len() + 1;
        let scratch = work.folder.join(format!("scratch-{number}"));
        let spool = work.folder.join(format!("run-{number}"));
        if let Err(error) = make_private(&scratch) {
            return Some(failed(Class::Crashed, format!("the run's folder cannot be made: {error}")));
        }
        let version =
            self.versions.of(&choice.program, &self.environment, &work.folder.join("version")).await;
        let prompt = format!("{}\n\nTask: {}", work.options.persona, work.row.text);
        let prepared = choice.runner.prepare(&Request {
            program: &choice.program,
            prompt: &prompt,
            workdir: Path::new(&work.row.workdir),
            scratch: &scratch,
            permission: work.options.permission(),
            model: work.options.model.as_deref(),
            schema: work.options.schema.as_ref(),
            resume: None,
            form,
            environment: &self.environment,
            env: &work.options.env,
        });
        let started_at = now();
        work.receipt.attempts.push(Attempt {
            runner: name.clone(),
            version,
            started_at,
            ..Attempt::default()
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refused) => return Some(work.attempted(failed(Class::Refused, refused.to_string()), None)),
        };
        for (file, content) in &prepared.files {
            if let Err(error) = std::fs::write(file, content) {
                let report = failed(Class::Crashed, format!("a file for the run cannot be written: {error}"));
                return Some(work.attempted(report, None));
            }
        }
        if !same_folder(work) {
            let report =
                failed(Class::Refused, "the working directory is not the folder any more that was asked for");
            return Some(work.attempted(report, None));
        }
        self.tell(
            work,
            vec![What::Started { runner: name, attempt: i64::try_from(number).unwrap_or(i64::MAX) }],
        )
        .await;
        let on_hub_exit = if work.options.keep { OnHubExit::Keep } else { OnHubExit::Kill };
        let command = Command {
            argv: prepared.argv,
            workdir: PathBuf::from(&work.row.workdir),
            env: prepared.env,
            stdin: prepared.stdin,
            timeouts: Timeouts {
                wall: Some(work.options.timeout()),
                idle: self.settings.idle_timeout,
                first_output: self.settings.first_output_timeout,
            },
            grace: process::GRACE,
            spool: spool.clone(),
            cap: self.settings.spool_cap,
            on_hub_exit,
        };
        let lease = work.row.lease();
        let noted =
            tasks::extend(&self.store, &lease, super::work::lease_until(), Some(&spool.to_string_lossy()))
                .await;
        match noted {
            Ok(Some(asked)) if !asked && !work.cancelled.is_cancelled() => {}
            Ok(None) => return None,
            Ok(Some(_)) => {
                return Some(work.attempted(failed(Class::Cancelled, "cancelled before it ran"), None));
            }
            Err(error) => {
                tracing::error!(%error, "a run could not be noted");
                return Some(work.attempted(failed(Class::Crashed, "the hub's store does not answer"), None));
            }
        }
        match process::start(command).await {
            Ok(running) => {
                self.follow(work, running, prepared.reader, prepared.final_message.as_deref()).await
            }
            Err(process::Error::NotFound { program }) => {
                let report = failed(Class::NotInstalled, format!("`{program}` is not installed"));
                Some(work.attempted(report, None))
            }
            Err(error) => Some(work.attempted(failed(Class::Crashed, error.to_string()), None)),
        }
    }

    /// Follows a run that outlived its hub. What it said while nobody listened is read from its spool.
    async fn go_on(&self, work: &mut Work<'_>, spool: &Path) -> Option<Report> {
        let runner = work.row.runner.clone();
        work.receipt.attempts.push(Attempt {
            runner: runner.clone(),
            started_at: now(),
            ..Attempt::default()
        });
        let candidates = self.selector.candidates();
        let runner = candidates.iter().find(|candidate| candidate.runner.name() == runner)?.runner.clone();
        let scratch = spool.with_file_name(spool.file_name()?.to_string_lossy().replace("run-", "scratch-"));
        // The same command line as then: only its reader and the place of its message are wanted.
        let prepared = runner.prepare(&Request {
            program: Path::new(runner.program()),
            prompt: "",
            workdir: Path::new(&work.row.workdir),
            scratch: &scratch,
            permission: work.options.permission(),
            model: work.options.model.as_deref(),
            schema: work.options.schema.as_ref(),
            resume: None,
            form: Form::Own,
            environment: &self.environment,
            env: &work.options.env,
        });
        let Ok(prepared) = prepared else { return Some(failed(Class::Refused, "the runner changed")) };
        match process::resume(spool).await {
            Ok(Resumed::Running(running)) => {
                self.follow(work, running, prepared.reader, prepared.final_message.as_deref()).await
            }
            Ok(Resumed::Ended(outcome)) => {
                let mut reader = prepared.reader;
                for line in outcome.stdout.head(usize::MAX).lines() {
                    let _ = reader.line(line);
                }
                Some(work.ended(&outcome, reader, prepared.final_message.as_deref()))
            }
            Err(_) => Some(failed(Class::Crashed, "the run was lost with its hub")),
        }
    }

    /// Reads a run's lines until its end. `None` when this hub stops and leaves the run to the next one.
    async fn follow(
        &self,
        work: &mut Work<'_>,
        mut running: process::Running,
        mut reader: Reader,
        final_message: Option<&Path>,
    ) -> Option<Report> {
        if let Some(entry) = self.running().get_mut(&work.row.id) {
            entry.run = Some(running.canceller());
        }
        if work.cancelled.is_cancelled() {
            running.cancel();
        }
        loop {
            tokio::select! {
                line = running.lines.recv() => match line {
                    Some(line) => {
                        let news: Vec<What> = reader.line(&line.text).into_iter().map(what).collect();
                        if !news.is_empty() {
                            self.tell(work, news).await;
                        }
                    }
                    None => break,
                },
                () = work.stop.cancelled(), if work.options.keep => return None,
                () = work.stop.cancelled(), if !work.options.keep && !work.cancelled.is_cancelled() => {
                    work.cancelled.cancel();
                    running.cancel();
                }
            }
        }
        let outcome = running.ended().await;
        Some(work.ended(&outcome, reader, final_message))
    }

    /// Appends events; that they cannot be written does not end a run.
    async fn tell(&self, work: &Work<'_>, news: Vec<What>) {
        let event = |what: What| NewEvent { at: now(), kind: kind(&what), data: rows::json(&what) };
        let events = news.into_iter().map(event).collect();
        if let Err(error) = tasks::append_events(&self.store, &work.row.lease(), events).await {
            tracing::warn!(%error, "what happened in a run could not be written");
        }
        self.changed_now();
    }

    /// Runs the checks, one after the other, when the agent is gone: what the hub itself sees decides the verdict.
    async fn check(&self, work: &mut Work<'_>, outcome: &mut Outcome) {
        for (number, argv) in work.options.checks.iter().enumerate() {
            let line = argv.join(" ");
            self.tell(work, vec![What::CheckStarted { command: line.clone() }]).await;
            let check = self.one_check(work, argv, number).await;
            self.tell(work, vec![What::CheckEnded { command: line, passed: check.passed }]).await;
            outcome.verdict = match (outcome.verdict, check.passed) {
                (Verdict::Refuted, _) | (_, false) => Verdict::Refuted,
                (Verdict::Unverified | Verdict::Verified, true) => Verdict::Verified,
            };
            outcome.receipt.checks.push(check);
        }
    }

    async fn one_check(&self, work: &Work<'_>, argv: &[String], number: usize) -> Check {
        let started = Instant::now();
        let command = Command {
            argv: argv.iter().map(Into::into).collect(),
            workdir: PathBuf::from(&work.row.workdir),
            env: self.environment.of_check(),
            stdin: None,
            timeouts: Timeouts { wall: Some(self.settings.check_timeout), ..Timeouts::default() },
            grace: process::GRACE,
            spool: work.folder.join(format!("check-{number}")),
            cap: self.settings.spool_cap,
            on_hub_exit: OnHubExit::Kill,
        };
        let mut check = Check { command: argv.to_vec(), ..Check::default() };
        match process::start(command).await {
            Ok(running) => {
                let outcome = running.ended().await;
                check.passed = outcome.cause == Cause::Exited && outcome.exit == Exit::Code(0);
                check.exit = code(outcome.exit);
                check.reason = (outcome.cause != Cause::Exited).then(|| "it did not end in time".to_owned());
                check.output_tail = format!("{}{}", outcome.stdout.tail(TAIL), outcome.stderr.tail(TAIL));
            }
            Err(error) => check.reason = Some(error.to_string()),
        }
        check.wall_ms = millis(started.elapsed());
        check
    }
}

impl Work<'_> {
    /// Reads the end of a run.
    fn ended(&mut self, outcome: &process::Outcome, reader: Reader, final_message: Option<&Path>) -> Report {
        let message = final_message.and_then(read_message);
        let stderr = outcome.stderr.tail(STDERR);
        let mut report = reader.finish(&Ended {
            exit: outcome.exit,
            cause: outcome.cause,
            stderr: &stderr,
            final_message: message.as_deref(),
        });
        if self.cancelled.is_cancelled() && outcome.cause == Cause::Cancelled {
            report.failure = Some(Failure::new(Class::Cancelled, "cancelled; no process of it is left"));
        }
        self.receipt.cpu_ms += millis(outcome.cpu);
        self.receipt.peak_rss_bytes = self.receipt.peak_rss_bytes.max(outcome.peak_rss);
        self.receipt.processes_left += outcome.processes_left;
        if report.failure.is_some() {
            self.receipt.stderr_tail = outcome.stderr.tail(TAIL);
        }
        self.attempted(report, Some(outcome))
    }

    /// Completes the last attempt of the receipt.
    fn attempted(&mut self, report: Report, outcome: Option<&process::Outcome>) -> Report {
        if let Some(attempt) = self.receipt.attempts.last_mut() {
            attempt.failure = report.failure.as_ref().map(fault);
            attempt.session.clone_from(&report.session);
            attempt.model.clone_from(&report.model);
            attempt.wall_ms = outcome.map_or(0, |outcome| millis(outcome.wall));
            attempt.exit = outcome.and_then(|outcome| code(outcome.exit));
        }
        let usage = &mut self.receipt.usage;
        for (sum, more) in [
            (&mut usage.input_tokens, report.usage.input_tokens),
            (&mut usage.cached_tokens, report.usage.cached_tokens),
            (&mut usage.output_tokens, report.usage.output_tokens),
            (&mut usage.cost_micro_usd, report.usage.cost_micro_usd),
        ] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        }
        let ran =
            report.commands.iter().map(|ran| RanCommand { command: ran.command.clone(), exit: ran.exit });
        self.receipt.commands.extend(ran);
        self.receipt.files.extend(report.files.iter().cloned());
        report
    }

    fn outcome(&mut self, report: Report) -> Outcome {
        let receipt = std::mem::take(&mut self.receipt);
        let failure = report.failure.as_ref().map(fault).or_else(|| self.schema_fault(&report));
        let status = match &report.failure {
            Some(failure) if failure.class == Class::Cancelled => Ending::Cancelled,
            _ if failure.is_some() => Ending::Failed,
            _ => Ending::Succeeded,
        };
        let structured = self.options.schema.as_ref().and(report.message.as_deref());
        let structured =
            structured.filter(|_| failure.is_none()).and_then(|text| serde_json::from_str(text).ok());
        Outcome {
            status: status.as_str().to_owned(),
            verdict: Verdict::Unverified,
            message: report.message,
            structured,
            failure,
            receipt,
        }
    }

    /// Why a message does not follow the schema that was asked for.
    fn schema_fault(&self, report: &Report) -> Option<Fault> {
        let schema = self.options.schema.as_ref()?;
        let fault = |detail: String| Some(Fault { class: "schema".to_owned(), detail });
        let value: serde_json::Value =
            match serde_json::from_str(report.message.as_deref().unwrap_or_default()) {
                Ok(value) => value,
                Err(error) => return fault(format!("the final message is not JSON: {error}")),
            };
        let validator = jsonschema::validator_for(schema).ok()?;
        let error = validator.iter_errors(&value).next()?;
        fault(format!("the final message does not follow the schema at `{}`: {error}", error.instance_path()))
    }
}

fn failed(class: Class, detail: impl AsRef<str>) -> Report {
    Report { failure: Some(Failure::new(class, detail)), ..Report::default() }
}

fn fault(failure: &Failure) -> Fault {
    Fault { class: failure.class.word().to_owned(), detail: failure.detail.clone() }
}

fn code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(signal) => Some(128 + signal),
        Exit::NotStarted | Exit::Unknown => None,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn kind(what: &What) -> String {
    let json = serde_json::to_value(what).unwrap_or_default();
    json["kind"].as_str().unwrap_or("notice").to_owned()
}

fn what(progress: Progress) -> What {
    match progress {
        Progress::Text(text) => What::Text { text },
        Progress::Thinking(text) => What::Thinking { text },
        Progress::CommandStarted { command } => What::CommandStarted { command },
        Progress::CommandEnded { command, exit } => What::CommandEnded { command, exit },
        Progress::ToolStarted { tool } => What::ToolStarted { tool },
        Progress::ToolEnded { tool, result } => {
            What::ToolEnded { tool, failed: result == ToolResult::Failed }
        }
        Progress::FilesChanged(files) => What::FilesChanged { files },
        Progress::Notice(text) => What::Notice { text },
    }
}

/// Whether the working folder is still the one that was checked when the task came in.
fn same_folder(work: &Work<'_>) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::symlink_metadata(&work.row.workdir);
    found.is_ok_and(|found| found.is_dir() && (found.dev(), found.ino()) == work.options.folder)
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Reads what a runner left as its final message, as far as a message goes.
fn read_message(file: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(MESSAGE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
