//! `/tasks/{id}`: one delegated task with what happens in it, what came of it, and a button that ends it.

mod receipt;

use std::sync::Arc;
use std::time::SystemTime;

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use super::tasks;
use crate::agents::task::{Happened, What};
use crate::agents::{Error, TaskId, Viewer};
use crate::app::App;
use crate::clock::instant;
use crate::web::error::Failure;
use crate::web::page::{self, Place};
use crate::web::{csrf, excerpt, when};

/// Lines of a run on one page.
const LINES: u32 = 200;

#[derive(Deserialize)]
pub(in crate::web) struct Part {
    /// The lines before the one of this number, instead of the last ones.
    before: Option<i64>,
}

pub(in crate::web) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Part { before }) =
        part.map_err(|_| Failure::BadRequest("The address is not readable text."))?;
    let id = named(id)?;
    let task = app.agents.get(&Viewer::Person, &id).await.map_err(missing)?;
    let lately = app.agents.happened_before(&Viewer::Person, &id, before, LINES).await.map_err(missing)?;
    let now = SystemTime::now();
    let values = context! {
        csrf => csrf::token()?,
        task => tasks::row(&task, now),
        text => excerpt::of(&task.text),
        lines => lately.iter().map(line).collect::<Vec<_>>(),
        // Lines are numbered from 1, without a gap.
        earlier => lately.first().map(|first| first.seq).filter(|seq| *seq > 1),
        last => lately.last().map_or(0, |last| last.seq),
        latest => before.is_none(),
        outcome => task.outcome.as_deref().map(receipt::outcome),
    };
    page::page(&app, Place::Room("/tasks"), "task.html", values).await
}

/// Ends a task, and shows it again.
pub(in crate::web) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    csrf::check(&page::fields(form)?)?;
    let id = named(id)?;
    app.agents.cancel(&Viewer::Person, &id).await.map_err(missing)?;
    Ok((page::headers(), Redirect::to(&format!("/tasks/{id}"))).into_response())
}

fn named(id: String) -> Result<TaskId, Failure> {
    TaskId::parse(&id).ok_or(Failure::NoTask { id })
}

fn missing(error: Error) -> Failure {
    match error {
        Error::UnknownTask { id } => Failure::NoTask { id },
        other => Failure::internal(other),
    }
}

/// Returns lines as the items of a list, as the page itself has them.
pub(in crate::web) fn items(lines: &[Happened]) -> Result<String, Failure> {
    page::text("lines.html", context! { lines => lines.iter().map(line).collect::<Vec<_>>() })
}

/// Returns a line: its kind for the style, a word for what cannot be seen by its style alone, and the text.
fn line(happened: &Happened) -> Value {
    let (kind, word, text) = match &happened.what {
        What::Started { runner, .. } => ("start", "starts", runner.clone()),
        What::Text { text } => ("says", "", text.clone()),
        What::Thinking { text } => ("thinks", "thinks", text.clone()),
        What::CommandStarted { command } => ("runs", "$", command.clone()),
        What::CommandEnded { command, exit: Some(0) } => ("done", "done", command.clone()),
        What::CommandEnded { command, exit: Some(code) } => {
            return context! { kind => "failed", word => format!("exit {code}"), text => command, ..place(happened) };
        }
        What::CommandEnded { command, exit: None } => ("done", "ended", command.clone()),
        What::ToolStarted { tool } => ("runs", "uses", tool.clone()),
        What::ToolEnded { tool, failed: false } => ("done", "used", tool.clone()),
        What::ToolEnded { tool, failed: true } => ("failed", "failed", tool.clone()),
        What::FilesChanged { files } => ("changed", "changed", files.join(", ")),
        What::Notice { text } => ("notice", "notice", text.clone()),
        What::CheckStarted { command } => ("runs", "checks", command.clone()),
        What::CheckEnded { command, passed: true } => ("done", "passed", command.clone()),
        What::CheckEnded { command, passed: false } => ("failed", "not passed", command.clone()),
    };
    context! { kind, word, text, ..place(happened) }
}

fn place(happened: &Happened) -> Value {
    context! { seq => happened.seq, at => when::clock(instant(happened.at)) }
}
