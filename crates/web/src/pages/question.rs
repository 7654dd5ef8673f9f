//! `/questions/{ticket}`: one question of an agent, and the form that answers it.
//!
//! The form works without script. Two checks of the hub prevent mistakes: an answer that comes right after the page was
//! rendered is shown again, and an accepted answer can be undone until its undo window is over.

mod form;
mod repo_status;
pub(super) mod view;

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Value, context};

use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{SignedForm, SignedUpload};
use crate::{csrf, early_submit, markdown, number_format, timefmt};
use adjutant_app::App;
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt::millis;
use adjutant_questions::{
    Channel, Error, Level, MAX_FILE_BYTES, MAX_FILES, Outcome, Proof, Question, State as QuestionState,
    Ticket,
};
use form::{Filled, InvalidAnswer};

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
) -> Result<Response, Failure> {
    let question = find(&app, ticket).await?;
    let filled = match &question.state {
        QuestionState::Pending => Filled::default(),
        QuestionState::Held { outcome, .. } | QuestionState::Decided(outcome) => filled(outcome, &question),
    };
    page(&app, &question, &filled, None).await
}

/// Does the action of the pressed button.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    SignedUpload(fields, files): SignedUpload,
) -> Result<Response, Failure> {
    let filled = Filled(fields);
    let question = find(&app, ticket).await?;
    let ticket = &question.ticket;
    if early_submit::is_too_early(filled.get("made")) {
        let error = InvalidAnswer { field: None, message: early_submit::TOO_EARLY.to_owned() };
        return page(&app, &question, &filled, Some(error)).await;
    }
    let note = filled.get("note").to_owned();
    // A user who acts on a page has seen it, even if no script reported that.
    let _ = app.questions.mark_seen(ticket, Channel::Browser).await;
    let done = match filled.get("act") {
        "answer" => {
            let proof = match question.level {
                Level::Normal => Proof::Interface,
                // An empty field does not count as a wrong passphrase.
                Level::High => match filled.get("passphrase") {
                    "" => Proof::Interface,
                    text => Proof::Passphrase(text.to_owned()),
                },
            };
            let answer = filled.answer(&question.fields);
            let shown = (ticket, filled.get("calls").parse().unwrap_or(0));
            let added = (Some(note), files);
            app.questions.answer_with_files(shown, proof, answer, added, Channel::Browser).await.map(drop)
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
        // The question was decided before; the page shows by whom.
        Ok(()) if filled.get("from") == "inbox" => Ok(page::redirect(page::INBOX)),
        Ok(()) | Err(Error::AlreadyDecided { .. } | Error::Final) => Ok(back(ticket)),
        Err(
            error @ (Error::Unknown { .. }
            | Error::NotYours { .. }
            | Error::Store(_)
            | Error::Random
            | Error::Passphrase(_)),
        ) => Err(missing(error)),
        Err(error) => {
            let error = match error {
                Error::Answer { field, reason } => InvalidAnswer { field: Some(field), message: reason },
                other => InvalidAnswer { field: None, message: other.to_string() },
            };
            // It may have got another request since.
            let question = app.questions.get(ticket).await.map_err(missing)?;
            page(&app, &question, &filled, Some(error)).await
        }
    }
}

/// Undoes an answer within its window, and shows the form with its values.
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let before = find(&app, ticket).await?;
    let QuestionState::Held { outcome, .. } = &before.state else { return Ok(back(&before.ticket)) };
    match app.questions.undo(&before.ticket, Channel::Browser).await {
        Ok(()) if fields.get("from") == "inbox" => Ok(page::redirect(page::INBOX)),
        Ok(()) => {
            let question = app.questions.get(&before.ticket).await.map_err(missing)?;
            page(&app, &question, &filled(outcome, &before), None).await
        }
        Err(Error::Final) => Ok(back(&before.ticket)),
        Err(error) => Err(missing(error)),
    }
}

/// Returns a file of an answer. Only a picture is shown; anything else is saved, because it could act as a page.
pub(crate) async fn file(
    State(app): State<Arc<App>>,
    Path((ticket, number)): Path<(String, usize)>,
) -> Result<Response, Failure> {
    let stored = app.questions.file(&parse_ticket(ticket)?, number).await.map_err(missing)?;
    let kind =
        if stored.info.is_image() { stored.info.media_type.as_str() } else { "application/octet-stream" };
    let way = if stored.info.is_image() { "inline" } else { "attachment" };
    // RFC 6266, section 5: a name beyond ASCII is percent-encoded.
    let disposition = format!("{way}; filename*=UTF-8''{}", page::path(&stored.info.name));
    let own = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((page::headers(), own, stored.bytes().map_err(missing)?).into_response())
}

/// Records that the page is visible now; the script reports that every few seconds.
pub(crate) async fn seen(
    State(app): State<Arc<App>>,
    Path(ticket): Path<String>,
    _: SignedForm,
) -> Result<Response, Failure> {
    let ticket = parse_ticket(ticket)?;
    app.questions.mark_seen(&ticket, Channel::Browser).await.map_err(missing)?;
    Ok((StatusCode::NO_CONTENT, page::headers()).into_response())
}

fn back(ticket: &Ticket) -> Response {
    page::redirect(&format!("/questions/{ticket}"))
}

fn parse_ticket(ticket: String) -> Result<Ticket, Failure> {
    Ticket::parse(&ticket).ok_or_else(|| Failure::not_found("question", ticket))
}

async fn find(app: &App, ticket: String) -> Result<Question, Failure> {
    app.questions.get(&parse_ticket(ticket)?).await.map_err(missing)
}

fn missing(error: Error) -> Failure {
    match error {
        Error::Unknown { ticket } => Failure::not_found("question", ticket),
        Error::NotYours { .. } => Failure::NotIncluded,
        Error::UnknownFile { .. } => Failure::NoPage,
        other => Failure::internal(other),
    }
}

fn filled(outcome: &Outcome, question: &Question) -> Filled {
    let answer = outcome.answer.clone().unwrap_or_default();
    Filled::of(&answer, &question.fields, outcome.note.as_deref())
}

/// Returns the empty fields of a question for the start page; none where a user has to open the question first, because it
/// is of high risk or its message is not whole there.
pub(super) fn inline_form(question: &Question) -> Vec<Value> {
    if question.level == Level::High || !view::is_whole(question) {
        return Vec::new();
    }
    form::fields(&question.fields, &Filled::default(), None)
}

/// Rows of the list next to a question, and how many numbers before the question it begins.
const LIST_ROWS: u32 = 40;
const LIST_BEFORE: i64 = 12;

async fn page(
    app: &Arc<App>,
    question: &Question,
    filled: &Filled,
    error: Option<InvalidAnswer>,
) -> Result<Response, Failure> {
    let now = SystemTime::now();
    let queue = app.questions.queue(question.seq).await.map_err(Failure::internal)?;
    let pending = matches!(question.state, QuestionState::Pending);
    let start = (queue.total > u64::from(LIST_ROWS)).then_some(question.seq - LIST_BEFORE);
    let list = app.questions.pending(start, LIST_ROWS).await.map_err(Failure::internal)?;
    let decision = question.state.decision();
    let held = decision.and_then(|(until, _)| until).map(|until| (until - millis(now)).max(0));
    let default = question.default.as_ref().filter(|_| pending).map(|default| {
        let left =
            i64::try_from(default.after.as_millis()).unwrap_or(i64::MAX).saturating_sub(question.seen_ms);
        context! {
            answers => view::answers(&default.answer, &question.fields),
            left => left.max(0),
            after => timefmt::length(default.after),
        }
    });
    let audit = app.questions.audit(&question.ticket).await.map_err(Failure::internal)?;
    let repo = question.is_here.then(|| repo_status::of(app, &question.workspace, now)).flatten();
    let branch = repo.as_ref().and_then(|repo| repo.get_attr("branch").ok()?.as_str().map(str::to_owned));
    let values = context! {
        csrf => csrf::token()?,
        audit => view::audit(&audit),
        made => early_submit::render_time(now),
        ticket => question.ticket.as_str(),
        addressee => &question.addressee,
        decides => app.questions.viewer().decides(&question.addressee),
        title => &question.title,
        message => Value::from_safe_string(markdown::html(&question.message)),
        hidden_characters => escape_invisible::count_invisible(&question.message) + escape_invisible::count_invisible(&question.title),
        asker => view::asker(question, branch.as_deref()),
        repo,
        asked => question.asked_at,
        deadline => question.deadline,
        approval => !question.denials.is_empty(),
        options => if question.denials.is_empty() { Vec::new() } else { view::options(question) },
        max_files => MAX_FILES,
        max_file_size => number_format::size(MAX_FILE_BYTES as u64),
        expires_in => timefmt::left(question.deadline).filter(|_| pending),
        deliveries => question.deliveries,
        absence => question.presence.absence_reason().filter(|_| pending),
        high => question.level == Level::High,
        passphrase_is_set => app.questions.has_passphrase(),
        pending,
        held,
        snoozed => question.snoozed_until.and_then(timefmt::left).filter(|_| pending),
        outcome => decision.map(|(_, decided)| view::outcome(decided, &question.fields)),
        default,
        fields => form::fields(&question.fields, filled, error.as_ref()),
        note => filled.get("note"),
        // A page with buttons in place of fields shows each message here.
        fault => error.filter(|error| error.field.is_none() || !question.denials.is_empty()).map(|error| error.message),
        place => queue.place,
        total => queue.total,
        list => list.questions.iter().map(|question| view::row(question, None)).collect::<Vec<_>>(),
        next => queue.next.map(|ticket| ticket.to_string()),
    };
    page::page(app, Place::Section(page::INBOX), "question.html", values).await
}
