//! `/questions/approvals`: the pending approvals, each with all that it lets happen, to answer together.
//!
//! The form holds what its page showed. An approval that came later, or got another request since, stays pending.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use super::questions;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::SignedForm;
use crate::{csrf, early_submit, markdown};
use adjutant_app::App;
use adjutant_base::text::escape_invisible;
use adjutant_questions::{Answer, Channel, Field, FieldValue, Input, Proof, Question, Ticket};

/// Pending questions that are looked through for approvals.
const MAX_QUESTIONS: u32 = 200;

/// Approvals of one page, because each is shown whole.
const PAGE_SIZE: usize = 20;

pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    page(&app, Vec::new()).await
}

/// Answers the approvals of a form.
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    if early_submit::is_too_early(fields.get("made")) {
        return page(&app, vec![early_submit::TOO_EARLY.to_owned()]).await;
    }
    let mut results = Vec::new();
    for ticket in fields.all("shown").filter_map(Ticket::parse).take(PAGE_SIZE) {
        let Ok(question) = app.questions.get(&ticket).await else { continue };
        let answer = match fields.get("act") {
            "approve" => question.approval_answer(true),
            "deny" => question.approval_answer(false),
            "answer" => chosen(&question, fields.get(ticket.as_str())),
            _ => return Err(Failure::BadRequest("The form names no action.")),
        };
        let Some(answer) = answer else { continue };
        let _ = app.questions.mark_seen(&ticket, Channel::Browser).await;
        let shown = (&ticket, fields.get(&format!("{ticket}.calls")).parse().unwrap_or(0));
        let done = app.questions.answer(shown, Proof::Interface, answer, None, Channel::Browser).await;
        let done = done.map_or_else(|error| error.to_string(), |done| done.kind.word(done.denied).to_owned());
        results.push(format!("{}: {done}", question.title));
    }
    page(&app, results).await
}

/// Returns the answer of an option's number; `None` if nothing was chosen.
fn chosen(question: &Question, number: &str) -> Option<Answer> {
    let [Field { name, input: Input::Choice { options, .. }, .. }] = &question.fields[..] else {
        return None;
    };
    let option = options.get(number.parse::<usize>().ok()?)?;
    Some(Answer::one(name, FieldValue::Choices(vec![option.value.clone()])))
}

async fn page(app: &Arc<App>, results: Vec<String>) -> Result<Response, Failure> {
    let found = app.questions.pending(None, MAX_QUESTIONS).await.map_err(Failure::internal)?;
    let mut approvals = Vec::new();
    let shown: Vec<Question> = found
        .questions
        .into_iter()
        .filter(|question| questions::is_approval(app, question))
        .take(PAGE_SIZE)
        .collect();
    for (listed, row) in shown.iter().zip(questions::rows(app, &shown)) {
        // A list may redact texts, so the whole question is read.
        let question = app.questions.get(&listed.ticket).await.map_err(Failure::internal)?;
        let Some(Field { input: Input::Choice { options, .. }, .. }) = question.fields.first() else {
            continue;
        };
        approvals.push(context! {
            calls => question.deliveries,
            title => &question.title,
            message => Value::from_safe_string(markdown::html(&question.message)),
            hidden_characters => escape_invisible::count_invisible(&question.message)
                + escape_invisible::count_invisible(&question.title),
            options => options.iter().map(|option| {
                context! { label => &option.label, denies => question.denials.contains(&option.value) }
            }).collect::<Vec<_>>(),
            ..row
        });
    }
    let values = context! {
        csrf => csrf::token()?,
        made => early_submit::render_time(SystemTime::now()),
        approvals,
        results,
    };
    page::page(app, Place::Section(page::INBOX), "approvals.html", values).await
}
