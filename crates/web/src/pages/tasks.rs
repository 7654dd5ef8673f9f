//! `/tasks`: delegated tasks, newest first, by state and by search, a page at a time.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};
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
    let values = context! {
        query,
        state,
        states => page::choices(STATES, wanted.as_ref(), |state| state.as_str()),
        total => found.total,
        tasks => found.tasks.iter().map(row).collect::<Vec<_>>(),
        next => found.next,
        first => before.is_none(),
    };
    page::page(&app, Place::Section("/tasks"), "tasks.html", values).await
}

/// Returns the first queued and running tasks for the overview, and the number of all.
pub(super) async fn running(app: &App) -> Result<(Vec<Value>, u64), Failure> {
    let filter = Filter { states: vec![task::State::Queued, task::State::Running], ..Filter::default() };
    let found =
        app.agents.list(&Viewer::User, filter, None, OVERVIEW_ROWS).await.map_err(Failure::internal)?;
    Ok((found.tasks.iter().map(row).collect(), found.total))
}

/// Returns the values of a task that every page shows.
pub(super) fn row(task: &Task) -> Value {
    // The time since its start, or until its end.
    let took = task.started_at.map(|started| {
        let end = task.ended_at.map_or_else(SystemTime::now, instant);
        timefmt::length(end.duration_since(instant(started)).unwrap_or_default())
    });
    let place = task.machine.as_ref().map(ToString::to_string);
    context! { ended => task.state.is_ended(), took, place, ..Value::from(Serde(task)) }
}
