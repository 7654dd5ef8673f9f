//! One run of one runner: its command line, its lines, its report.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use super::journal::Journal;
use super::run::Work;
use super::{Engine, now};
use crate::agents::receipt::Attempt;
use crate::agents::runner::codex::session;
use crate::agents::runner::failure::{Class, Failure};
use crate::agents::runner::reader::{Ended, Reader, Report};
use crate::agents::runner::{Form, Leaves, Prepared, Refused, Request, Runner, SchemaHeld};
use crate::agents::schema;
use crate::agents::select::Choice;
use crate::agents::task::What;
use crate::config::log::Edge;
use crate::process::{self, Cause, Command, Exit, OnHubExit, Resumed, Timeouts};
use crate::recorder::entry::Direction;
use crate::recorder::{Subject, Tape};
use crate::store::tasks;

/// Bytes of stderr that are read at the end of a run, and that go into a receipt.
const STDERR: usize = 16 * 1024;
pub(super) const TAIL: usize = 4 * 1024;
/// Bytes of a final message that is left in a file.
const MESSAGE: u64 = 4 * 1024 * 1024;
/// How long the runner's version is waited for when the run is over already.
const VERSION: Duration = Duration::from_millis(300);
/// The least that a run gets of its task's time, unless the task as a whole has less.
const LEAST: Duration = Duration::from_secs(5);

/// What one run is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn<'a> {
    pub(super) choice: &'a Choice,
    pub(super) form: Form,
    pub(super) prompt: &'a str,
    /// The session to go on with.
    pub(super) resume: Option<&'a str>,
}

impl Engine {
    /// Runs one runner once. `None` when the run was left to the next hub, or is no longer ours.
    pub(super) async fn attempt(&self, work: &mut Work<'_>, turn: Turn<'_>) -> Option<Report> {
        let name = turn.choice.runner.name().to_owned();
        let number = work.notes.receipt.attempts.len() + 1;
        let (scratch, spool) = work.run_folders(number);
        if let Err(error) = make_private(&scratch) {
            return Some(failed(Class::Crashed, format!("the run's folder cannot be made: {error}")));
        }
        work.notes.contract = turn.form == Form::Contract;
        work.notes.receipt.attempts.push(Attempt {
            runner: name.clone(),
            started_at: now(),
            ..Attempt::default()
        });
        let prepared = match self.prepare(work, &turn.choice.runner, &turn.choice.program, turn, &scratch) {
            Ok(prepared) => prepared,
            Err(refused) => return Some(work.attempted(failed(Class::Refused, refused.to_string()), None)),
        };
        for (file, content) in &prepared.files {
            if let Err(error) = std::fs::write(file, content) {
                let report = failed(Class::Crashed, format!("a file for the run cannot be written: {error}"));
                return Some(work.attempted(report, None));
            }
        }
        let started = What::Started { runner: name, attempt: i64::try_from(number).unwrap_or(i64::MAX) };
        self.tell(work.row, started).await;
        work.write_notes();
        let place = spool.to_string_lossy();
        let noted =
            tasks::extend(&self.store, &work.row.lease(), super::work::lease_until(), Some(&place)).await;
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
        // The last look at the folder before the supervisor takes it; it looks again when it enters it.
        if let Err(fault) = work.options.workdir.check() {
            let report = failed(Class::Refused, format!("the working directory {fault}"));
            return Some(work.attempted(report, None));
        }
        let tape = self.tape(work, turn.choice.runner.name(), &prepared);
        let command = self.command(work, prepared.argv, prepared.env, prepared.stdin, spool.clone());
        let running = match process::start_known(command, |pid| self.note_supervisor(work.row, pid)).await {
            Ok(running) => running,
            Err(process::Error::NotFound { program }) => {
                let report = failed(Class::NotInstalled, format!("`{program}` is not installed"));
                return Some(work.attempted(report, None));
            }
            Err(error) => return Some(work.attempted(failed(Class::Crashed, error.to_string()), None)),
        };
        let probe = work.folder.join("version");
        let mut version = pin!(self.versions.of(&turn.choice.program, &self.environment, &probe));
        let mut told = None;
        let report = {
            let mut follow = pin!(self.follow(work, running, prepared.reader, &prepared.leaves, &tape));
            loop {
                tokio::select! {
                    version = &mut version, if told.is_none() => told = Some(version),
                    report = &mut follow => break report,
                }
            }
        };
        if told.is_none() {
            told = tokio::time::timeout(VERSION, version).await.ok();
        }
        if let Some(attempt) = work.notes.receipt.attempts.last_mut() {
            attempt.version = told.flatten();
        }
        report
    }

    fn prepare(
        &self,
        work: &Work<'_>,
        runner: &Runner,
        program: &Path,
        turn: Turn<'_>,
        scratch: &Path,
    ) -> Result<Prepared, Refused> {
        let mut request = Request {
            program,
            prompt: turn.prompt,
            workdir: &work.place,
            scratch,
            permission: work.options.permission(),
            model: work.options.model.as_deref(),
            schema: work.options.schema.as_ref(),
            resume: turn.resume,
            form: turn.form,
            environment: &self.environment,
            env: &work.options.env,
        };
        let prepared = runner.prepare(&request)?;
        match &work.options.schema {
            // A runner without a flag for it is told in words.
            Some(schema) if prepared.schema == SchemaHeld::ByNobody => {
                let prompt = format!("{}{}", turn.prompt, schema::instruction(schema));
                request.prompt = &prompt;
                runner.prepare(&request)
            }
            Some(_) | None => Ok(prepared),
        }
    }

    /// The recording of a run, with what it is given.
    fn tape(&self, work: &Work<'_>, runner: &str, prepared: &Prepared) -> Tape {
        let words = prepared.argv.iter().map(|word| word.to_string_lossy().into_owned());
        let about = format!("{runner}, task {}", work.row.id);
        let tape = self.recorder.tape_of(Subject { edge: Edge::Runner, about, command: words.collect() });
        if let Some(input) = &prepared.stdin {
            tape.whole(Direction::C2s, input);
            tape.end(Direction::C2s);
        }
        tape
    }

    fn command(
        &self,
        work: &Work<'_>,
        argv: Vec<std::ffi::OsString>,
        mut env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        stdin: Option<Vec<u8>>,
        spool: PathBuf,
    ) -> Command {
        let limit = work.options.timeout();
        let left = limit.saturating_sub(work.started.elapsed());
        env.push(("ADJUTANT_TASK".into(), work.row.id.clone().into()));
        Command {
            argv,
            workdir: work.place.clone(),
            env,
            stdin,
            timeouts: Timeouts {
                wall: Some(left.max(LEAST.min(limit))),
                idle: self.settings.idle_timeout,
                first_output: self.settings.first_output_timeout,
            },
            grace: process::GRACE,
            spool,
            cap: self.settings.spool_cap,
            on_hub_exit: if work.options.keep { OnHubExit::Keep } else { OnHubExit::Kill },
        }
    }

    /// Takes up the run that a hub which is gone left in `spool`. What it said while nobody listened is read again.
    /// `None` when this hub stops too; an error when nobody knows how it ended.
    pub(super) async fn go_on(
        &self,
        work: &mut Work<'_>,
        spool: &Path,
    ) -> Result<Option<Report>, &'static str> {
        let name = &work.row.runner;
        let candidates = self.selector.candidates();
        let runner = candidates
            .iter()
            .find(|candidate| candidate.runner.name() == name)
            .ok_or("its runner is not configured any more")?
            .runner
            .clone();
        let number = work.notes.receipt.attempts.len().max(1);
        let (scratch, _) = work.run_folders(number);
        let form = if work.notes.contract { Form::Contract } else { Form::Own };
        let choice = Choice { program: PathBuf::from(runner.program()), runner, form };
        // The same command line as then; only its reader and the place of its message are wanted.
        let turn = Turn { choice: &choice, form, prompt: "", resume: None };
        let prepared = self.prepare(work, &choice.runner, &choice.program, turn, &scratch);
        let Ok(prepared) = prepared else { return Err("its runner cannot be asked the same way any more") };
        match process::resume(spool).await {
            Ok(Resumed::Running(running)) => {
                let again = Prepared { stdin: None, ..prepared };
                let tape = self.tape(work, name, &again);
                Ok(self.follow(work, running, again.reader, &again.leaves, &tape).await)
            }
            Ok(Resumed::Ended(outcome)) if outcome.cause == Cause::Lost => {
                Err("the hub that ran it ended, and so did the run's supervisor")
            }
            Ok(Resumed::Ended(outcome)) => {
                let mut reader = prepared.reader;
                for line in outcome.stdout.head(usize::MAX).lines() {
                    let _ = reader.line(line);
                }
                Ok(Some(work.ended(&outcome, reader, &prepared.leaves, Stopped::No)))
            }
            Err(error) => {
                tracing::warn!(%error, task = work.row.id, "a run could not be taken up");
                Err("the hub that ran it ended before the run began")
            }
        }
    }

    /// Notes below which process a task runs, in the place of an earlier one.
    fn note_supervisor(&self, row: &tasks::Task, pid: u32) {
        if let Some(entry) = self.running().get_mut(&row.id) {
            entry.supervisor = Some(pid);
        }
    }

    /// Reads a run's lines until its end. `None` when this hub stops and leaves the run to the next one.
    async fn follow(
        &self,
        work: &mut Work<'_>,
        mut running: process::Running,
        mut reader: Reader,
        leaves: &Leaves,
        tape: &Tape,
    ) -> Option<Report> {
        self.note_supervisor(work.row, running.supervisor);
        if let Some(entry) = self.running().get_mut(&work.row.id) {
            entry.run = Some(running.canceller());
        }
        if work.cancelled.is_cancelled() {
            running.cancel();
        }
        let mut journal = Journal::new(self.told(&work.row.id).await);
        let mut stopped = Stopped::No;
        loop {
            tokio::select! {
                line = running.lines.recv() => match line {
                    Some(line) => {
                        record(tape, &line);
                        reader.gap(line.missed);
                        journal.extend(reader.line(&line.text));
                        reader.gap(line.cut);
                    }
                    None => break,
                },
                () = journal.due() => self.append(work.row, journal.take()).await,
                () = work.stop.cancelled(), if stopped == Stopped::No => {
                    if work.options.keep {
                        self.append(work.row, journal.take()).await;
                        return None;
                    }
                    stopped = Stopped::Yes;
                    running.cancel();
                }
            }
        }
        self.append(work.row, journal.finish()).await;
        let canceller = running.canceller();
        let mut ended = pin!(running.ended());
        let outcome = loop {
            tokio::select! {
                outcome = &mut ended => break outcome,
                () = work.stop.cancelled(), if stopped == Stopped::No && !work.options.keep => {
                    stopped = Stopped::Yes;
                    canceller.cancel();
                }
            }
        };
        tape.bytes(Direction::Err, outcome.stderr.tail(STDERR).as_bytes());
        if let Some(code) = code(outcome.exit) {
            tape.exited(code);
        }
        if let Some(entry) = self.running().get_mut(&work.row.id) {
            (entry.run, entry.supervisor) = (None, None);
        }
        Some(work.ended(&outcome, reader, leaves, stopped))
    }
}

/// Whether the hub itself ended a run because it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    No,
    Yes,
}

impl Work<'_> {
    /// Reads the end of a run.
    fn ended(
        &mut self,
        outcome: &process::Outcome,
        reader: Reader,
        leaves: &Leaves,
        stopped: Stopped,
    ) -> Report {
        let message = leaves.final_message.as_deref().and_then(read_left);
        let usage = leaves.usage.as_deref().and_then(read_left);
        let stderr = outcome.stderr.tail(STDERR);
        let mut report = reader.finish(&Ended {
            exit: outcome.exit,
            cause: outcome.cause,
            stderr: &stderr,
            final_message: message.as_deref(),
            usage: usage.as_deref(),
        });
        if report.model.is_none() {
            let kept = leaves.sessions.as_deref().zip(report.session.as_deref());
            report.model = kept.and_then(|(sessions, id)| session::model(sessions, id));
        }
        match (outcome.cause, outcome.processes_left) {
            (Cause::Cancelled, left @ 1..) => {
                let detail = format!("it was cancelled, but {left} processes of it could not be ended");
                report.failure = Some(Failure::new(Class::Crashed, detail));
            }
            (Cause::Cancelled, 0) if stopped == Stopped::Yes && !self.cancelled.is_cancelled() => {
                let detail = "the hub was stopped while it ran; no process of it is left";
                report.failure = Some(Failure::new(Class::HubGone, detail));
            }
            (Cause::Cancelled, 0) => {
                report.failure = Some(Failure::new(Class::Cancelled, "cancelled; no process of it is left"));
            }
            (Cause::Exited | Cause::TimedOut(_) | Cause::HubGone | Cause::Lost, _) => {}
        }
        let receipt = &mut self.notes.receipt;
        receipt.cpu_ms += millis(outcome.cpu);
        receipt.peak_rss_bytes = receipt.peak_rss_bytes.max(outcome.peak_rss);
        receipt.processes_left += outcome.processes_left;
        if report.failure.is_some() {
            receipt.stderr_tail = outcome.stderr.tail(TAIL);
        }
        self.attempted(report, Some(outcome))
    }
}

/// Puts a line of the runner on the tape, as it was.
fn record(tape: &Tape, line: &process::OutputLine) {
    if line.missed > 0 {
        tape.note(&format!("{} bytes were lost before the next line", line.missed));
    }
    tape.whole(Direction::S2c, line.raw.as_deref().unwrap_or(line.text.as_bytes()));
    if line.cut > 0 {
        tape.note(&format!("{} bytes of the last line were cut", line.cut));
    }
}

pub(super) fn failed(class: Class, detail: impl AsRef<str>) -> Report {
    Report { failure: Some(Failure::new(class, detail)), ..Report::default() }
}

/// The exit code that a shell would show.
pub(super) fn code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(signal) => Some(128 + signal),
        Exit::NotStarted | Exit::Unknown => None,
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Makes a folder that only this user may enter; one that is there stays as it is.
pub(in crate::agents) fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Reads a file that a runner left, as far as a final message goes.
fn read_left(file: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(MESSAGE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
