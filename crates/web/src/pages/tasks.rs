//! `/tasks`: delegated tasks, newest first, by state and by search, a page at a time.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::Address;
use crate::timefmt;
use adjutant_agents::task::{self, Ending, Filter};
use adjutant_agents::{Task, Viewer};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;

/// Rows of one page.
const PAGE_SIZE: u32 = 50;

/// Rows on the overview.
const OVERVIEW_ROWS: u32 = 8;

/// The states of the filter with their labels.
const STATES: [(task::State, &str); 6] = [
    (task::State::Queued, "Queued"),
    (task::State::Running, "Running"),
    (task::State::Ended(Ending::Succeeded), "Succeeded"),
    (task::State::Ended(Ending::Failed), "Failed"),
    (task::State::Ended(Ending::Cancelled), "Cancelled"),
    (task::State::Ended(Ending::Lost), "Lost"),
];

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The name of a state; empty for all.
    #[serde(default)]
    state: String,
    /// The page begins before this task's number.
    before: Option<i64>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Search { q, state, before }): Address<Search>,
) -> Result<Response, Failure> {
    let wanted = match state.as_str() {
        "" => None,
        name => Some(task::State::from_name(name).ok_or(Failure::BadRequest("There is no such state."))?),
    };
    let query = q.trim();
    let filter = Filter {
        states: wanted.into_iter().collect(),
        text: (!query.is_empty()).then(|| query.to_owned()),
        ..Filter::default()
    };
    let found = app.agents.list(&Viewer::User, filter, before, PAGE_SIZE).await.map_err(Failure::internal)?;
    let now = SystemTime::now();
    let values = context! {
        query,
        state,
        states => page::choices(STATES, wanted.as_ref(), |state| state.as_str()),
        total => found.total,
        tasks => found.tasks.iter().map(|task| row(task, now)).collect::<Vec<_>>(),
        next => found.next,
        first => before.is_none(),
    };
    page::page(&app, Place::Section("/tasks"), "tasks.html", values).await
}

/// Returns the first queued and running tasks for the overview, and the number of all.
pub(super) async fn running(app: &App, now: SystemTime) -> Result<(Vec<Value>, u64), Failure> {
    let filter = Filter { states: vec![task::State::Queued, task::State::Running], ..Filter::default() };
    let found =
        app.agents.list(&Viewer::User, filter, None, OVERVIEW_ROWS).await.map_err(Failure::internal)?;
    Ok((found.tasks.iter().map(|task| row(task, now)).collect(), found.total))
}

/// Returns the values of a task that every page shows.
pub(super) fn row(task: &Task, now: SystemTime) -> Value {
    let started = task.started_at.map(instant);
    let ended = task.ended_at.map(instant);
    context! {
        id => task.id.as_str(),
        agent => &task.agent,
        runner => &task.runner,
        label => &task.label,
        text => &task.text,
        workdir => &task.workdir,
        state => task.state.as_str(),
        ended => task.state.is_ended(),
        cancelling => task.cancelling,
        position => task.position,
        created => timefmt::time(instant(task.created_at), now),
        started => started.map(|at| timefmt::time(at, now)),
        finished => ended.map(|at| timefmt::time(at, now)),
        // The time since its start, or until its end.
        took => started.map(|at| timefmt::length(ended.unwrap_or(now).duration_since(at).unwrap_or_default())),
    }
}
