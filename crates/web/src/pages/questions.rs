//! `/questions`: the pending questions, oldest first, and the user's availability.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use futures::future::try_join_all;
use minijinja::{Value, context};
use serde::Deserialize;

use super::question::{self, view};
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use crate::{csrf, timefmt};
use adjutant_app::App;
use adjutant_base::config::Auth;
use adjutant_base::text::timefmt::millis;
use adjutant_questions::{Availability, PendingKind, Question};

/// Rows of one page.
const PAGE_SIZE: u32 = 50;

/// Maximum folders with a branch in one list, because Git reads a whole tree for each.
const MAX_FOLDERS: usize = 12;

/// Questions on the start page, each with its message.
const INBOX_ROWS: u32 = 8;

/// The kinds of the filter with their labels.
const KINDS: [(PendingKind, &str); 3] = [
    (PendingKind::Approval, "Approvals"),
    (PendingKind::HighRisk, "High risk"),
    (PendingKind::Snoozed, "Snoozed"),
];

#[derive(Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    q: String,
    /// The name of a kind; empty for all.
    #[serde(default)]
    kind: String,
    /// The page begins after this question's number.
    after: Option<i64>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Part { q, kind, after }): Address<Part>,
) -> Result<Response, Failure> {
    let chosen = match kind.as_str() {
        "" => None,
        name => Some(PendingKind::from_name(name).ok_or(Failure::BadRequest("There is no such kind."))?),
    };
    let query = q.trim();
    let found = if query.is_empty() && chosen.is_none() {
        app.questions.pending(after, PAGE_SIZE).await
    } else {
        app.questions.find_pending(query, chosen, after, PAGE_SIZE).await
    };
    let found = found.map_err(Failure::internal)?;
    let values = context! {
        csrf => csrf::token()?,
        query,
        kind,
        kinds => page::choices(KINDS, chosen.as_ref(), |kind| kind.name()),
        total => found.total,
        questions => rows(&app, &found.questions),
        approvals => found.questions.iter().filter(|question| is_approval(&app, question)).count(),
        next => found.next,
        first => after.is_none(),
        lacks_passphrase => found.total > 0 && !app.questions.has_passphrase(),
        asks_for_proof => app.config.http.auth != Auth::None,
        ..availability(&app).await?,
    };
    page::page(&app, Place::Section(page::INBOX), "questions.html", values).await
}

/// Sets whether the user takes questions.
pub(crate) async fn set_availability(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let minutes: Option<i64> =
        fields.get("minutes").parse().ok().filter(|minutes| (1..=7 * 24 * 60).contains(minutes));
    let now = millis(SystemTime::now());
    let until = minutes.map(|minutes| now.saturating_add(minutes * 60_000));
    let availability = match fields.get("availability") {
        "here" => Availability::Here,
        "do_not_disturb" => Availability::DoNotDisturb { until },
        "away" => Availability::Away { until },
        _ => return Err(Failure::BadRequest("The form does not say what to set.")),
    };
    app.questions.set_availability(availability).await.map_err(Failure::internal)?;
    Ok(page::redirect(page::INBOX))
}

/// Returns the values of the start page: the first pending questions, each with the answers that need no form, the
/// answers that can be undone, and the user's availability.
pub(super) async fn open(app: &Arc<App>) -> Result<Value, Failure> {
    let asked = &app.questions;
    let pending = async {
        let found = asked.pending(None, INBOX_ROWS).await?;
        // A list may redact texts, so the whole questions are read.
        let whole = try_join_all(found.questions.iter().map(|listed| asked.get(&listed.ticket))).await?;
        Ok((found, whole))
    };
    let risky = async {
        if asked.has_passphrase() {
            return Ok(0);
        }
        Ok(asked.find_pending("", Some(PendingKind::HighRisk), None, 1).await?.total)
    };
    let ((found, whole), held, risky) =
        tokio::try_join!(pending, asked.held(INBOX_ROWS), risky).map_err(Failure::internal)?;
    let questions = whole.iter().zip(rows(app, &found.questions)).map(|(question, row)| {
        let decides = app.questions.viewer().decides(&question.addressee);
        let form = question::inline_form(question);
        context! { ..context! { decides, form }, ..view::inline(question), ..row }
    });
    let now = millis(SystemTime::now());
    let held = held.iter().filter_map(|question| {
        let (until, outcome) = question.state.decision()?;
        let left = (until? - now).max(0);
        let decides = app.questions.viewer().decides(&question.addressee);
        Some(context! { ticket => question.ticket.as_str(), title => &question.title, left, decides, outcome => view::outcome(outcome, &question.fields) })
    });
    Ok(context! {
        questions => questions.collect::<Vec<_>>(),
        lacks_passphrase => risky > 0,
        total => found.total,
        approvals => found.questions.iter().filter(|question| is_approval(app, question)).count(),
        held => held.collect::<Vec<_>>(),
        ..availability(app).await?,
    })
}

pub(super) async fn availability(app: &App) -> Result<Value, Failure> {
    let availability = app.questions.availability().await.map_err(Failure::internal)?;
    Ok(context! {
        availability => availability.as_str(),
        until => availability.until().and_then(timefmt::left),
    })
}

/// Returns whether `/questions/approvals` can show a question, and the user may answer it.
pub(super) fn is_approval(app: &App, question: &Question) -> bool {
    question.approval_answer(true).is_some() && app.questions.viewer().decides(&question.addressee)
}

/// Returns the folder of a question; an empty text if it is on another machine, where this hub cannot read it.
fn folder(question: &Question) -> &str {
    if question.is_here { &question.workspace } else { "" }
}

/// Returns the rows of a list. The branch of a folder is shown once Git has read it.
pub(super) fn rows(app: &Arc<App>, questions: &[Question]) -> Vec<Value> {
    let mut folders: Vec<&str> = questions.iter().map(folder).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.truncate(MAX_FOLDERS);
    let read = folders.into_iter().filter(|folder| !folder.is_empty()).map(|folder| {
        let known = app.repo_status.last_known(Path::new(folder)).and_then(|(_, status)| status.ok());
        (folder, known.and_then(|facts| facts.branch))
    });
    let branches: HashMap<&str, Option<String>> = read.collect();
    let branch = |question: &Question| branches.get(folder(question))?.as_deref();
    questions.iter().map(|question| view::row(question, branch(question))).collect()
}
