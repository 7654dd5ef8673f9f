//! `/tasks/race`: the same task of several agents, side by side.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::task::run_report;
use super::{task, tasks};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::Address;
use adjutant_agents::{Error, TaskId, Viewer};
use adjutant_app::App;

/// Maximum tasks of one page.
const MAX_TASKS: usize = 20;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Address(pairs): Address<Vec<(String, String)>>,
) -> Result<Response, Failure> {
    let ids = pairs.into_iter().filter(|(name, _)| name == tasks::TASK).map(|(_, id)| id).take(MAX_TASKS);
    let mut text = None;
    let mut racers = Vec::new();
    for id in ids {
        let unknown = || Failure::not_found("task", id.clone());
        let known = TaskId::parse(&id).ok_or_else(unknown)?;
        let mut racer = app.agents.get(&Viewer::User, &known).await.map_err(|error| match error {
            Error::UnknownTask { .. } => unknown(),
            other => Failure::internal(other),
        })?;
        let outcome = racer.outcome.take();
        text.get_or_insert_with(|| racer.text.clone());
        let last = task::last_line(&app, &known).await?.filter(|_| !racer.state.is_ended());
        racers.push(context! {
            outcome => outcome.as_deref().map(run_report::outcome),
            last,
            ..tasks::row(&racer)
        });
    }
    let Some(text) = text else { return Err(Failure::BadRequest("The address names no task.")) };
    let values: Value = context! { text, racers };
    page::page(&app, Place::Section("/tasks"), "race.html", values).await
}
