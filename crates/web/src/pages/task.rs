//! `/tasks/{id}`: one delegated task with its events, its result, and a button that cancels it.

pub(super) mod run_report;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Deserialize;

use super::tasks;
use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use adjutant_agents::TaskEvent;
use adjutant_agents::task::TaskEventKind;
use adjutant_agents::{Error, TaskId, Viewer};
use adjutant_app::App;

/// Lines of a run on one page.
const PAGE_SIZE: u32 = 200;

#[derive(Deserialize)]
pub(crate) struct Part {
    /// The page ends before this line's number; without it the page has the last lines.
    before: Option<i64>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Address(Part { before }): Address<Part>,
) -> Result<Response, Failure> {
    page(&app, parse_id(id)?, before, None).await
}

/// Shows a task; `fault` is why it was not run again.
async fn page(
    app: &App,
    id: TaskId,
    before: Option<i64>,
    fault: Option<String>,
) -> Result<Response, Failure> {
    let mut task = app.agents.get(&Viewer::User, &id).await.map_err(missing)?;
    let lines = app.agents.events_before(&Viewer::User, &id, before, PAGE_SIZE).await.map_err(missing)?;
    let event = if task.state.is_ended() { None } else { last_line(app, &id).await? };
    let outcome = task.outcome.take();
    let race: Vec<String> =
        app.agents.race(&id).await.map_err(missing)?.iter().map(ToString::to_string).collect();
    let values = context! {
        csrf => csrf::token()?,
        fault,
        race => (race.len() > 1).then(|| context! { count => race.len(), path => tasks::race_path(&race) }),
        task => tasks::row(&task),
        event,
        lines => lines.iter().map(line).collect::<Vec<_>>(),
        // Lines are numbered from 1, without a gap.
        earlier => lines.first().map(|first| first.seq).filter(|seq| *seq > 1),
        last => lines.last().map_or(0, |last| last.seq),
        latest => before.is_none(),
        outcome => outcome.as_deref().map(run_report::outcome),
    };
    page::page(app, Place::Section("/tasks"), "task.html", values).await
}

/// Cancels a task, and shows it again.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    _: SignedForm,
) -> Result<Response, Failure> {
    let id = parse_id(id)?;
    app.agents.cancel(&Viewer::User, &id).await.map_err(missing)?;
    Ok(page::redirect(&format!("/tasks/{id}")))
}

/// Delegates an ended task again, and shows the new one.
pub(crate) async fn run_again(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    _: SignedForm,
) -> Result<Response, Failure> {
    let id = parse_id(id)?;
    match app.agents.retry(&id, tasks::user()).await {
        Ok(new) => Ok(page::redirect(&format!("/tasks/{}", new.id))),
        Err(Error::UnknownTask { id }) => Err(Failure::not_found("task", id)),
        Err(error) => page(&app, id, None, Some(error.to_string())).await,
    }
}

fn parse_id(id: String) -> Result<TaskId, Failure> {
    TaskId::parse(&id).ok_or_else(|| Failure::not_found("task", id))
}

fn missing(error: Error) -> Failure {
    match error {
        Error::UnknownTask { id } => Failure::not_found("task", id),
        other => Failure::internal(other),
    }
}

/// Returns the last line of a task's run; `None` before the first.
pub(super) async fn last_line(app: &App, id: &TaskId) -> Result<Option<Value>, Failure> {
    let lines = app.agents.events_before(&Viewer::User, id, None, 1).await.map_err(Failure::internal)?;
    Ok(lines.last().map(line))
}

/// Returns lines as items of the page's list.
pub(crate) fn items(lines: &[TaskEvent]) -> Result<String, Failure> {
    page::text("task_lines.html", context! { lines => lines.iter().map(line).collect::<Vec<_>>() })
}

/// Returns a line: its kind for the style, a word that is readable without the style, and the text.
fn line(event: &TaskEvent) -> Value {
    let (kind, word, text) = match &event.kind {
        TaskEventKind::Started { runner, .. } => ("start", "starts", runner.clone()),
        TaskEventKind::Text { text } => ("says", "", text.clone()),
        TaskEventKind::Thinking { text } => ("thinks", "thinks", text.clone()),
        TaskEventKind::CommandStarted { command } => ("runs", "$", command.clone()),
        TaskEventKind::CommandEnded { command, exit: Some(0) } => ("done", "done", command.clone()),
        TaskEventKind::CommandEnded { command, exit: Some(code) } => {
            return context! { kind => "failed", word => format!("exit {code}"), text => command, ..Value::from(Serde(event)) };
        }
        TaskEventKind::CommandEnded { command, exit: None } => ("done", "ended", command.clone()),
        TaskEventKind::ToolStarted { tool } => ("runs", "uses", tool.clone()),
        TaskEventKind::ToolEnded { tool, failed: false } => ("done", "used", tool.clone()),
        TaskEventKind::ToolEnded { tool, failed: true } => ("failed", "failed", tool.clone()),
        TaskEventKind::Denied { call } => ("failed", "denied", call.clone()),
        TaskEventKind::FilesChanged { files } => ("changed", "changed", files.join(", ")),
        TaskEventKind::Notice { text } => ("notice", "notice", text.clone()),
        TaskEventKind::HubNotice { text } => ("notice", "hub", text.clone()),
        TaskEventKind::CheckStarted { command } => ("runs", "checks", command.clone()),
        TaskEventKind::CheckEnded { command, passed: true } => ("done", "passed", command.clone()),
        TaskEventKind::CheckEnded { command, passed: false } => ("failed", "failed", command.clone()),
    };
    context! { kind, word, text, ..Value::from(Serde(event)) }
}
