//! `/questions/{ticket}`: one question of an agent, and the form that answers it.
//!
//! The form works without script. Against a slip there are two bars, and the hub holds both: an answer that comes
//! within a moment of the page's making is shown again instead of taken, and one that is taken can be taken back
//! until its undo window is over.

mod form;
mod repo_status;
pub(super) mod view;

use std::sync::Arc;
use std::time::SystemTime;

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};

use crate::error::Failure;
use crate::page::{self, Place};
use crate::{csrf, early_submit, markdown, timefmt};
use adjutant_app::App;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{Channel, Error, Level, Outcome, Proof, Question, State as Standing, Ticket};
use form::{Fault, Filled};

type Fields = Result<Form<Vec<(String, String)>>, FormRejection>;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
) -> Result<Response, Failure> {
    let question = find(&app, ticket).await?;
    let filled = match &question.state {
        Standing::Pending => Filled::default(),
        Standing::Held { outcome, .. } | Standing::Decided(outcome) => given(outcome, &question),
    };
    page(&app, &question, &filled, None).await
}

/// Does what the pressed button says.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    form: Fields,
) -> Result<Response, Failure> {
    let pairs = page::fields(form)?;
    csrf::check(&pairs)?;
    let filled = Filled::new(pairs);
    let question = find(&app, ticket).await?;
    let ticket = &question.ticket;
    if early_submit::is_too_early(filled.get("made")) {
        let fault = Fault { field: None, message: early_submit::TOO_EARLY.to_owned() };
        return page(&app, &question, &filled, Some(fault)).await;
    }
    let note = filled.get("note").to_owned();
    // Whoever acts on a page has seen it, also where no script could say so.
    let _ = app.questions.mark_seen(ticket, Channel::Browser).await;
    let done = match filled.get("act") {
        "answer" => {
            let proof = match question.level {
                Level::Normal => Proof::Interface,
                // Nothing is no guess.
                Level::High => match filled.get("passphrase") {
                    "" => Proof::Interface,
                    given => Proof::Passphrase(given.to_owned()),
                },
            };
            let answer = filled.answer(&question.fields);
            app.questions.answer(ticket, proof, answer, Some(note), Channel::Browser).await.map(drop)
        }
        "decline" => app.questions.decline(ticket, Some(note), Channel::Browser).await.map(drop),
        "dismiss" => app.questions.dismiss(ticket, Some(note), Channel::Browser).await.map(drop),
        "redirect" => app.questions.redirect(ticket, note, Channel::Browser).await.map(drop),
        "snooze" => {
            let minutes = filled.get("minutes").parse().unwrap_or(0);
            app.questions.snooze(ticket, minutes, Channel::Browser).await.map(drop)
        }
        _ => return Err(Failure::BadRequest("The form names no action.")),
    };
    match done {
        // Somebody was first: the page says who.
        Ok(()) | Err(Error::AlreadyDecided { .. } | Error::Final) => Ok(back(ticket)),
        Err(Error::Unknown { ticket }) => Err(Failure::NoQuestion { ticket }),
        Err(error @ (Error::Store(_) | Error::Random | Error::Passphrase(_))) => {
            Err(Failure::internal(error))
        }
        Err(error) => {
            let fault = match error {
                Error::Answer { field, reason } => Fault { field: Some(field), message: reason },
                other => Fault { field: None, message: other.to_string() },
            };
            page(&app, &question, &filled, Some(fault)).await
        }
    }
}

/// Takes an answer back within its window, and shows the form as it was filled in.
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    form: Fields,
) -> Result<Response, Failure> {
    csrf::check(&page::fields(form)?)?;
    let before = find(&app, ticket).await?;
    let Standing::Held { outcome, .. } = &before.state else { return Ok(back(&before.ticket)) };
    match app.questions.take_back(&before.ticket, Channel::Browser).await {
        Ok(()) => {
            let question = app.questions.get(&before.ticket).await.map_err(missing)?;
            page(&app, &question, &given(outcome, &before), None).await
        }
        Err(Error::Final) => Ok(back(&before.ticket)),
        Err(error) => Err(missing(error)),
    }
}

/// Notes that the page is in front of somebody now; the script says so every few seconds while it is.
pub(crate) async fn seen(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    form: Fields,
) -> Result<Response, Failure> {
    csrf::check(&page::fields(form)?)?;
    let ticket = named(ticket)?;
    app.questions.mark_seen(&ticket, Channel::Browser).await.map_err(missing)?;
    Ok((StatusCode::NO_CONTENT, page::headers()).into_response())
}

fn back(ticket: &Ticket) -> Response {
    (page::headers(), Redirect::to(&format!("/questions/{ticket}"))).into_response()
}

fn named(ticket: String) -> Result<Ticket, Failure> {
    Ticket::parse(&ticket).ok_or(Failure::NoQuestion { ticket })
}

async fn find(app: &App, ticket: String) -> Result<Question, Failure> {
    app.questions.get(&named(ticket)?).await.map_err(missing)
}

fn missing(error: Error) -> Failure {
    match error {
        Error::Unknown { ticket } => Failure::NoQuestion { ticket },
        other => Failure::internal(other),
    }
}

fn given(outcome: &Outcome, question: &Question) -> Filled {
    let answer = outcome.answer.clone().unwrap_or_default();
    Filled::of(&answer, &question.fields, outcome.note.as_deref())
}

async fn page(
    app: &Arc<App>,
    question: &Question,
    filled: &Filled,
    fault: Option<Fault>,
) -> Result<Response, Failure> {
    let now = SystemTime::now();
    let queue = app.questions.queue(question.seq).await.map_err(Failure::internal)?;
    let pending = matches!(question.state, Standing::Pending);
    let (held, outcome) = match &question.state {
        Standing::Pending => (None, None),
        Standing::Held { until, outcome } => {
            let left = instant(*until).duration_since(now).unwrap_or_default();
            (Some(u64::try_from(left.as_millis()).unwrap_or(0)), Some(outcome))
        }
        Standing::Decided(outcome) => (None, Some(outcome)),
    };
    let snoozed = question.snoozed_until.map(instant).filter(|until| pending && *until > now);
    let default = question.default.as_ref().filter(|_| pending).map(|default| {
        let left =
            i64::try_from(default.after.as_millis()).unwrap_or(i64::MAX).saturating_sub(question.seen_ms);
        context! {
            answers => view::answers(&default.answer, &question.fields),
            left => left.max(0),
            after => timefmt::length(default.after),
        }
    });
    let happened = app.questions.audit(&question.ticket).await.map_err(Failure::internal)?;
    let values = context! {
        csrf => csrf::token()?,
        happened => view::happened(&happened, now),
        made => early_submit::render_time(now),
        ticket => question.ticket.as_str(),
        title => &question.title,
        message => Value::from_safe_string(markdown::html(&question.message)),
        hidden_characters => adjutant_base::text::escape_invisible::count(&question.message) + adjutant_base::text::escape_invisible::count(&question.title),
        who => view::who(question, None),
        facts => repo_status::of(app, &question.workspace, now),
        asked => timefmt::time(instant(question.asked_at), now),
        deadline => stamp(instant(question.deadline)),
        waits => pending.then(|| timefmt::span(now, instant(question.deadline))),
        deliveries => question.deliveries,
        waits_no_more => question.presence.absence_reason().filter(|_| pending),
        high => question.level == Level::High,
        passphrase_is_set => app.questions.has_passphrase(),
        pending,
        held,
        snoozed => snoozed.map(|until| timefmt::span(now, until)),
        outcome => outcome.map(|outcome| view::outcome(outcome, &question.fields, now)),
        default,
        fields => form::fields(&question.fields, filled, fault.as_ref()),
        note => filled.get("note"),
        fault => fault.filter(|fault| fault.field.is_none()).map(|fault| fault.message),
        place => queue.place,
        total => queue.total,
        next => queue.next.map(|ticket| ticket.to_string()),
    };
    page::page(app, Place::Section("/questions"), "question.html", values).await
}
