//! One task: runners tried in turn, the answer held against its schema, the checks, the outcome.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::attempt::{Turn, failed, make_private, millis};
use super::place::Before;
use super::rows::{self, Options};
use super::{Engine, now};
use crate::agents::receipt::{Command as RanCommand, Fault, Outcome, Receipt};
use crate::agents::runner::failure::{Class, Failure};
use crate::agents::runner::reader::Report;
use crate::agents::schema;
use crate::agents::select::Choice;
use crate::agents::task::What;
use crate::process;
use crate::store::tasks::{self, Ending};

/// Where the notes of a task stand in its folder.
const NOTES: &str = "notes.json";

/// The worktree of a task in its folder.
pub(super) const TREE: &str = "tree";

/// A task while it runs here.
pub(super) struct Work<'a> {
    pub(super) row: &'a tasks::Task,
    pub(super) options: &'a Options,
    /// The task's own folder: its runs, its worktree, its notes.
    pub(super) folder: PathBuf,
    /// Where the agent works.
    pub(super) place: PathBuf,
    pub(super) started: Instant,
    pub(super) notes: Notes,
    pub(super) cancelled: &'a CancellationToken,
    pub(super) stop: &'a CancellationToken,
}

/// What the next hub has to know of a task that goes on.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Notes {
    pub(super) receipt: Receipt,
    pub(super) before: Option<Before>,
    /// The run that was started last has the contract's command line.
    pub(super) contract: bool,
}

/// What the answer of a run is worth.
enum Answer {
    /// There is none, or none was asked to have a shape.
    AsItIs,
    Structured(Value),
    /// It is not in the shape that was asked for, and why.
    Misshapen(String),
}

impl Engine {
    /// Runs a claimed task to its end and writes its outcome. `spool` is the folder of the run that a hub which is
    /// gone was at.
    pub(super) async fn run(
        &self,
        row: tasks::Task,
        spool: Option<PathBuf>,
        cancelled: CancellationToken,
        stop: &CancellationToken,
    ) {
        let options = match rows::options(&row) {
            Ok(options) => options,
            Err(reason) => return self.lose(&row, &reason, Receipt::default()).await,
        };
        let folder = self.folder(&row.id);
        let mut notes = read_notes(&folder).filter(|_| spool.is_some()).unwrap_or_default();
        options.permission().name().clone_into(&mut notes.receipt.permission);
        let mut work = Work {
            place: options.workdir.path().to_owned(),
            folder,
            row: &row,
            options: &options,
            started: Instant::now(),
            notes,
            cancelled: &cancelled,
            stop,
        };
        let (report, answer) = match self.answer(&mut work, spool.as_deref()).await {
            Ok(Some(answered)) => answered,
            // The next hub goes on with it.
            Ok(None) => return,
            Err(reason) => {
                let receipt = std::mem::take(&mut work.notes.receipt);
                return self.lose(&row, reason, receipt).await;
            }
        };
        let mut outcome = work.outcome(report, answer);
        if outcome.status == Ending::Succeeded.as_str() {
            self.check(&work, &mut outcome).await;
        }
        outcome.receipt.repository = self.changed_files(&work).await;
        self.clear_away(&work, outcome.receipt.repository.as_mut()).await;
        outcome.receipt.wall_ms = elapsed_ms(&row);
        self.finish(&row, &outcome).await;
        if outcome.status == Ending::Succeeded.as_str() {
            // What a run wrote is worth keeping where somebody has to find out why it failed.
            self.remove_files(&row.id).await;
        }
    }

    pub(super) async fn finish(&self, row: &tasks::Task, outcome: &Outcome) {
        let ending = match outcome.status.as_str() {
            "succeeded" => Ending::Succeeded,
            "cancelled" => Ending::Cancelled,
            "lost" => Ending::Lost,
            _ => Ending::Failed,
        };
        let class = outcome.failure.as_ref().map(|fault| fault.class.as_str());
        let json = rows::json(outcome);
        match tasks::finish(&self.store, &row.lease(), ending, class, &json, now()).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(task = row.id, "another hub speaks for this task now"),
            Err(error) => tracing::error!(%error, task = row.id, "an outcome could not be written"),
        }
        self.changed_now(&row.id);
    }

    /// Runs the agent, and once more where its answer has not the shape that was asked for. `None` when the run was
    /// left to the next hub, an error when nobody knows how it ended.
    async fn answer(
        &self,
        work: &mut Work<'_>,
        spool: Option<&Path>,
    ) -> Result<Option<(Report, Answer)>, &'static str> {
        if let Err(error) = make_private(&work.folder) {
            let report = failed(Class::Crashed, format!("the task's folder cannot be made: {error}"));
            return Ok(Some((report, Answer::AsItIs)));
        }
        if let Err(reason) = self.make_ready(work).await {
            return Ok(Some((failed(Class::Refused, reason), Answer::AsItIs)));
        }
        let prompt = format!("{}\n\nTask: {}", work.options.persona, work.row.text);
        let (report, choice) = match spool {
            Some(spool) => (self.go_on(work, spool).await?, None),
            None => self.try_runners(work, &prompt).await,
        };
        let Some(report) = report else { return Ok(None) };
        let answer = work.read(&report);
        let (Answer::Misshapen(fault), Some(asked), Some(choice)) = (&answer, &work.options.schema, choice)
        else {
            return Ok(Some((report, answer)));
        };
        if work.cancelled.is_cancelled() || work.stop.is_cancelled() {
            return Ok(Some((report, answer)));
        }
        let what =
            What::Notice { text: format!("the answer does not follow its schema, once more: {fault}") };
        self.tell(work.row, what).await;
        let repair = schema::repair(asked, fault);
        let session = report.session.clone();
        let form = choice.form;
        let mut again = None;
        if let Some(session) = &session {
            let turn = Turn { choice: &choice, form, prompt: &repair, resume: Some(session) };
            match self.attempt(work, turn).await {
                Some(next) if !refused(&next) => again = Some(next),
                // It cannot go on with a session: a fresh run is told what was wrong.
                Some(_) => {}
                None => return Ok(None),
            }
        }
        if again.is_none() {
            let last = report.message.as_deref().unwrap_or_default();
            let prompt = format!("{prompt}\n\nYour last answer to this was:\n{last}\n\n{repair}");
            let turn = Turn { choice: &choice, form, prompt: &prompt, resume: None };
            let Some(next) = self.attempt(work, turn).await else { return Ok(None) };
            again = Some(next);
        }
        let report = again.unwrap_or(report);
        let answer = work.read(&report);
        Ok(Some((report, answer)))
    }

    /// Tries the runners in the contract's order: only a usage limit moves on to the next. Returns the last report,
    /// and the runner that it is of.
    async fn try_runners(&self, work: &mut Work<'_>, prompt: &str) -> (Option<Report>, Option<Choice>) {
        let options = work.options;
        let plan = self.selector.plan(options.model.as_deref(), options.runner.as_deref(), Instant::now());
        let nobody = plan.nobody();
        work.notes.receipt.instead = options.runner.as_deref().and_then(|named| plan.instead(named));
        let mut last = (failed(Class::NotInstalled, nobody.unwrap_or_default()), None);
        let mut current = work.row.runner.clone();
        for mut choice in plan.choices {
            let name = choice.runner.name().to_owned();
            if name != current {
                let moved = tasks::move_to_runner(&self.store, &work.row.lease(), &name).await;
                if !moved.unwrap_or(false) {
                    return (None, None);
                }
                current = name;
            }
            let turn = Turn { choice: &choice, form: choice.form, prompt, resume: None };
            let Some(mut report) = self.attempt(work, turn).await else { return (None, None) };
            if let Some(form) = report.failure.as_ref().and_then(|failure| failure.retry_with) {
                choice.form = form;
                let turn = Turn { choice: &choice, form, prompt, resume: None };
                let Some(again) = self.attempt(work, turn).await else { return (None, None) };
                report = again;
            }
            let limited = report.failure.as_ref().filter(|failure| failure.class == Class::UsageLimit);
            let limited = limited.map(|failure| failure.retry_after);
            last = (report, Some(choice));
            match limited {
                Some(retry_after) if !work.cancelled.is_cancelled() && !work.stop.is_cancelled() => {
                    self.selector.limited(&current, retry_after, Instant::now());
                }
                Some(_) | None => break,
            }
        }
        (Some(last.0), last.1)
    }

    /// Removes the files of a task, see [`remove_but_tree`].
    pub(super) async fn remove_files(&self, task: &str) {
        let folder = self.folder(task);
        let removed = tokio::task::spawn_blocking(move || remove_but_tree(&folder)).await;
        if let Ok(Err(error)) = removed
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, task, "the files of a task could not be removed");
        }
    }
}

/// Removes a task's folder. A worktree that is still there was kept because its work may be nowhere else: it stays
/// until its person has `git worktree remove` do that.
pub(super) fn remove_but_tree(folder: &Path) -> std::io::Result<()> {
    if !folder.join(TREE).exists() {
        return std::fs::remove_dir_all(folder);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != TREE {
            let path = entry.path();
            if path.is_dir() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
    }
    Ok(())
}

impl Work<'_> {
    /// The folder for the files of a run, and the one of its spool.
    pub(super) fn run_folders(&self, number: usize) -> (PathBuf, PathBuf) {
        (self.folder.join(format!("scratch-{number}")), self.folder.join(format!("run-{number}")))
    }

    /// Writes down what the next hub would have to know.
    pub(super) fn write_notes(&self) {
        if let Err(error) = std::fs::write(self.folder.join(NOTES), rows::json(&self.notes)) {
            tracing::warn!(%error, task = self.row.id, "the notes of a task could not be written");
        }
    }

    /// Waits until the task is to end before its time.
    pub(super) async fn asked_to_end(&self) {
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Holds a report's message against the schema that was asked for.
    fn read(&self, report: &Report) -> Answer {
        match (&self.options.schema, &report.failure) {
            (Some(asked), None) => match schema::read(asked, report.message.as_deref().unwrap_or_default()) {
                Ok(value) => Answer::Structured(value),
                Err(fault) => Answer::Misshapen(fault),
            },
            (Some(_) | None, _) => Answer::AsItIs,
        }
    }

    /// Completes the last attempt of the receipt.
    pub(super) fn attempted(&mut self, report: Report, outcome: Option<&process::Outcome>) -> Report {
        let receipt = &mut self.notes.receipt;
        if let Some(attempt) = receipt.attempts.last_mut() {
            attempt.failure = report.failure.as_ref().map(fault);
            attempt.session.clone_from(&report.session);
            // A runner that does not tell was told, where the agent names a model.
            attempt.model = report.model.clone().or_else(|| self.options.model.clone());
            attempt.wall_ms = outcome.map_or(0, |outcome| millis(outcome.wall));
            attempt.exit = outcome.and_then(|outcome| super::attempt::code(outcome.exit));
        }
        let usage = &mut receipt.usage;
        for (sum, more) in [
            (&mut usage.input_tokens, report.usage.input_tokens),
            (&mut usage.cached_tokens, report.usage.cached_tokens),
            (&mut usage.output_tokens, report.usage.output_tokens),
            (&mut usage.cost_micro_usd, report.usage.cost_micro_usd),
        ] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
        let ran =
            report.commands.iter().map(|ran| RanCommand { command: ran.command.clone(), exit: ran.exit });
        receipt.commands.extend(ran);
        receipt.files.extend(report.files.iter().cloned());
        report
    }

    fn outcome(&mut self, report: Report, answer: Answer) -> Outcome {
        let receipt = std::mem::take(&mut self.notes.receipt);
        let status = match &report.failure {
            Some(failure) if failure.class == Class::Cancelled => Ending::Cancelled,
            Some(_) => Ending::Failed,
            None if matches!(answer, Answer::Misshapen(_)) => Ending::Failed,
            None => Ending::Succeeded,
        };
        let mut failure = report.failure.as_ref().map(fault);
        let mut structured = None;
        match answer {
            Answer::AsItIs => {}
            Answer::Structured(value) => structured = Some(value),
            Answer::Misshapen(reason) => {
                let detail = format!(
                    "the final message does not follow output_schema, also at the second try: {reason}"
                );
                failure = Some(Fault { class: "schema".to_owned(), detail });
            }
        }
        Outcome {
            status: status.as_str().to_owned(),
            message: report.message,
            structured,
            failure,
            receipt,
            ..Outcome::default()
        }
    }
}

/// Whether the runner would not even start what was asked.
fn refused(report: &Report) -> bool {
    report.failure.as_ref().is_some_and(|failure| failure.class == Class::Refused)
}

fn fault(failure: &Failure) -> Fault {
    Fault { class: failure.class.word().to_owned(), detail: failure.detail.clone() }
}

fn read_notes(folder: &Path) -> Option<Notes> {
    serde_json::from_slice(&std::fs::read(folder.join(NOTES)).ok()?).ok()
}

/// From the claim to now, also where hubs changed in between.
fn elapsed_ms(row: &tasks::Task) -> u64 {
    u64::try_from(now() - row.started_at.unwrap_or_else(now)).unwrap_or(0)
}
