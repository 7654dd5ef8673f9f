//! `/history`: the decided questions with their outcomes: searched, paged, and exported as a file.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use minijinja::context;
use serde::Deserialize;
use serde_json::json;

use super::question::view;
use super::questions;
use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::Address;
use adjutant_app::App;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{Error, FieldValue, Filter, Outcome, OutcomeKind, Question};

/// Rows of one page.
const PAGE_SIZE: u32 = 50;

/// Rows of one read of an export.
const BATCH_SIZE: u32 = 200;

/// The columns of an export as CSV.
const COLUMNS: &str = "ticket,asked_at,decided_at,client,workspace,runs_in,level,title,outcome,by,through,answer,note,not_applied,seen_ms,user\r\n";

/// The kinds of outcomes in the order of the filter.
const KINDS: [OutcomeKind; 6] = [
    OutcomeKind::Answered,
    OutcomeKind::Declined,
    OutcomeKind::Dismissed,
    OutcomeKind::TimedOut,
    OutcomeKind::Cancelled,
    OutcomeKind::ClientGone,
];

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The name of a kind; empty for all.
    #[serde(default)]
    kind: String,
    /// The page begins before this question's number.
    before: Option<i64>,
}

impl Search {
    fn filter(&self) -> Result<Filter, Failure> {
        let kind = match self.kind.as_str() {
            "" => None,
            name => {
                Some(OutcomeKind::from_name(name).ok_or(Failure::BadRequest("There is no such outcome."))?)
            }
        };
        let text = self.q.trim();
        Ok(Filter { text: (!text.is_empty()).then(|| text.to_owned()), kind })
    }
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(search): Address<Search>,
) -> Result<Response, Failure> {
    let filter = search.filter()?;
    let found = app.questions.history(&filter, search.before, PAGE_SIZE).await.map_err(Failure::internal)?;
    let kinds = KINDS.map(|kind| (kind, kind.word(false)));
    let values = context! {
        csrf => csrf::token()?,
        query => search.q.trim(),
        kind => &search.kind,
        kinds => page::choices(kinds, filter.kind.as_ref(), |kind| kind.name()),
        total => found.total,
        questions => found.questions.iter().map(|question| view::row(question, None)).collect::<Vec<_>>(),
        next => found.next,
        first => search.before.is_none(),
        ..questions::availability(&app).await?,
    };
    page::page(&app, Place::Section(page::INBOX), "history.html", values).await
}

/// The format of an export.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Jsonl,
}

/// Sends all pages of a search as a file. The rows are read while they are sent, so the file may have any length.
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Path(file): Path<String>,
    Address(search): Address<Search>,
) -> Result<Response, Failure> {
    let (format, kind) = match file.as_str() {
        "questions.csv" => (Format::Csv, "text/csv; charset=utf-8; header=present"),
        "questions.jsonl" => (Format::Jsonl, "application/jsonl; charset=utf-8"),
        _ => return Err(Failure::NoPage),
    };
    let filter = search.filter()?;
    let head = match format {
        Format::Csv => COLUMNS,
        Format::Jsonl => "",
    };
    let rows = stream::try_unfold(Some(i64::MAX), move |before| {
        let (app, filter) = (app.clone(), filter.clone());
        async move {
            let Some(before) = before else { return Ok::<_, Error>(None) };
            let page = app.questions.history(&filter, Some(before), BATCH_SIZE).await?;
            let text: String = page.questions.iter().map(|question| line(format, question)).collect();
            Ok(Some((Bytes::from(text), page.next)))
        }
    });
    let head = stream::iter([Ok(Bytes::from_static(head.as_bytes()))]);
    let body = Body::from_stream(futures::StreamExt::chain(head, rows));
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
    ];
    Ok((page::headers(), headers, body).into_response())
}

fn line(format: Format, question: &Question) -> String {
    let Some(outcome) = question.state.outcome() else { return String::new() };
    match format {
        Format::Csv => csv(question, outcome),
        Format::Jsonl => format!("{}\n", object(question, outcome)),
    }
}

fn object(question: &Question, outcome: &Outcome) -> serde_json::Value {
    json!({
        "ticket": question.ticket.as_str(),
        "asked_at": stamp(instant(question.asked_at)),
        "decided_at": stamp(instant(outcome.at)),
        "client": question.client,
        "workspace": question.workspace,
        "runs_in": question.runs_in,
        "level": question.level.name(),
        "title": question.title,
        "message": question.message,
        "fields": question.fields,
        "outcome": outcome.kind.name(),
        "denied": outcome.denied,
        "not_applied": outcome.not_applied,
        "by": outcome.by.name(),
        "through": outcome.through.name(),
        "answer": answer(outcome),
        "note": outcome.note,
        "ask_differently": outcome.ask_differently,
        "seen_ms": outcome.seen_ms,
        "user": outcome.user,
    })
}

/// Returns an answer as an object of its fields.
fn answer(outcome: &Outcome) -> serde_json::Value {
    let Some(answer) = &outcome.answer else { return serde_json::Value::Null };
    let values = answer.0.iter().map(|(name, value)| {
        let value = match value {
            FieldValue::Choices(values) => json!(values),
            FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text) => json!(text),
            FieldValue::Number(number) => json!(number),
            FieldValue::YesNo(yes) => json!(yes),
            FieldValue::Secret => json!(value.text()),
        };
        (name.clone(), value)
    });
    serde_json::Value::Object(values.collect())
}

fn csv(question: &Question, outcome: &Outcome) -> String {
    let answer = match answer(outcome) {
        serde_json::Value::Null => String::new(),
        object => object.to_string(),
    };
    let cells = [
        question.ticket.to_string(),
        stamp(instant(question.asked_at)),
        stamp(instant(outcome.at)),
        question.client.clone(),
        question.workspace.clone(),
        question.runs_in.clone(),
        question.level.name().to_owned(),
        question.title.clone(),
        if outcome.denied { "denied" } else { outcome.kind.name() }.to_owned(),
        outcome.by.name().to_owned(),
        outcome.through.name().to_owned(),
        answer,
        outcome.note.clone().unwrap_or_default(),
        outcome.not_applied.clone().unwrap_or_default(),
        outcome.seen_ms.to_string(),
        outcome.user.clone().unwrap_or_default(),
    ];
    cells.map(|text| cell(&text)).join(",") + "\r\n"
}

/// Returns a cell. The text is an agent's, so a text that a spreadsheet would take for a formula gets an apostrophe.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("\"{}{}\"", if formula { "'" } else { "" }, text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_text_and_never_a_formula() {
        assert_eq!(cell("plain, with \"quotes\""), "\"plain, with \"\"quotes\"\"\"");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("-1"), "\"'-1\"");
    }
}
