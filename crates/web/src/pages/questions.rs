//! `/questions`: the pending questions, oldest first, and the user's availability.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use super::question::view;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::{csrf, timefmt};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;
use adjutant_questions::{Availability, Question};

/// Rows of one page.
const ROWS: u32 = 50;

/// Folders that are looked at for one list; git reads a whole tree.
const FOLDERS: usize = 12;

/// Rows on the overview.
const WAITING: u32 = 5;

#[derive(Deserialize)]
pub(crate) struct Part {
    /// The page begins behind this question's number.
    after: Option<i64>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Part { after }) = part.map_err(|_| Failure::BadRequest("The address is not readable."))?;
    let found = app.questions.pending(after, ROWS).await.map_err(Failure::internal)?;
    let availability = app.questions.availability().await.map_err(Failure::internal)?;
    let now = SystemTime::now();
    let values = context! {
        csrf => csrf::token()?,
        total => found.total,
        questions => rows(&app, &found.questions, now),
        next => found.next,
        first => after.is_none(),
        availability => availability.as_str(),
        until => availability.until().map(|until| timefmt::span(now, instant(until))),
    };
    page::page(&app, Place::Section("/questions"), "questions.html", values).await
}

/// Sets whether the person takes questions.
pub(crate) async fn set_availability(
    State(app): State<Arc<App>>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let pairs = page::fields(form)?;
    csrf::check(&pairs)?;
    let get =
        |name: &str| pairs.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value.as_str());
    let minutes: Option<i64> =
        get("minutes").parse().ok().filter(|minutes| (1..=7 * 24 * 60).contains(minutes));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let until = minutes.map(|minutes| now.saturating_add(minutes * 60_000));
    let availability = match get("availability") {
        "here" => Availability::Here,
        "do_not_disturb" => Availability::DoNotDisturb { until },
        "away" => Availability::Away { until },
        _ => return Err(Failure::BadRequest("The form does not say what to set.")),
    };
    app.questions.set_availability(availability).await.map_err(Failure::internal)?;
    Ok((page::headers(), Redirect::to("/questions")).into_response())
}

/// Returns the questions that wait for the overview: the rows that fit there, and how many there are.
pub(super) async fn waiting(app: &Arc<App>, now: SystemTime) -> Result<(Vec<Value>, u64), Failure> {
    let found = app.questions.pending(None, WAITING).await.map_err(Failure::internal)?;
    Ok((rows(app, &found.questions, now), found.total))
}

/// Returns the rows of a list. A folder that was never looked at has its branch the next time.
fn rows(app: &Arc<App>, questions: &[Question], now: SystemTime) -> Vec<Value> {
    let mut folders: Vec<&str> = questions.iter().map(|question| question.workspace.as_str()).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.truncate(FOLDERS);
    let looks = folders.into_iter().filter(|folder| !folder.is_empty()).map(|folder| {
        let known = app.repo_status.last_known(Path::new(folder)).and_then(|(_, seen)| seen.ok());
        (folder, known.and_then(|facts| facts.branch))
    });
    let branches: HashMap<&str, Option<String>> = looks.collect();
    let branch = |question: &Question| branches.get(question.workspace.as_str())?.as_deref();
    questions.iter().map(|question| view::row(question, branch(question), now)).collect()
}
