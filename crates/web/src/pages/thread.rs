//! `/codex/{thread}`: one thread of Codex with its updates, a reply, an interrupt, and its pending approvals.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Path, State};
use axum::response::Response;
use minijinja::{Value, context};
use serde::Deserialize;

use super::threads;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use crate::{csrf, early_submit, excerpt, highlight, markdown, timefmt};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;
use adjutant_codex as codex;
use adjutant_codex::Error;
use adjutant_codex::approval::{Approval, Decision, ResolvedApproval};
use adjutant_codex::event::{Item, ItemKind, ItemState};
use adjutant_codex::patch::FileChange;
use adjutant_codex::thread_options::Backend;
use adjutant_questions::Channel;

/// Items of one page.
const PAGE_SIZE: u32 = 100;

#[derive(Deserialize)]
pub(crate) struct Part {
    /// The page ends before this item's number; without it the page has the last items.
    before: Option<i64>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Address(Part { before }): Address<Part>,
) -> Result<Response, Failure> {
    render(&app, &id, before, None).await
}

/// The error of a form, and its prompt, which stays in the form.
struct FormError {
    message: String,
    prompt: String,
}

/// Does the action of the pressed button, and shows the thread again.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let field = |name: &str| fields.get(name).trim();
    let prompt = field("prompt");
    let decide = async |decision| app.decide_approval(field("approval"), decision, Channel::Browser).await;
    if matches!(field("act"), "approve" | "session" | "deny" | "abort")
        && early_submit::is_too_early(field("made"))
    {
        let error = FormError { message: early_submit::TOO_EARLY.to_owned(), prompt: String::new() };
        return render(&app, &id, None, Some(error)).await;
    }
    let done = match field("act") {
        "reply" | "steer" if prompt.is_empty() => Ok(()),
        "reply" => app.codex.reply(&id, prompt.to_owned()).await.map(drop),
        "steer" => app.codex.steer(&id, prompt.to_owned()).await,
        "interrupt" => app.codex.interrupt(&id).await,
        "approve" => decide(Decision::Approve).await,
        "session" => decide(Decision::ApproveForSession).await,
        "deny" => decide(Decision::Deny { note: fields.filled("note") }).await,
        "abort" => decide(Decision::Abort).await,
        _ => return Err(Failure::BadRequest("The form names an unknown action.")),
    };
    match done {
        Ok(()) => Ok(page::redirect(&format!("/codex/{}", page::path(&id)))),
        Err(Error::UnknownThread(id)) => Err(Failure::not_found("thread", id)),
        Err(error) => {
            let error = FormError { message: threads::error_text(&error), prompt: prompt.to_owned() };
            render(&app, &id, None, Some(error)).await
        }
    }
}

async fn render(
    app: &Arc<App>,
    id: &str,
    before: Option<i64>,
    error: Option<FormError>,
) -> Result<Response, Failure> {
    let missing = |error| match error {
        Error::UnknownThread(id) => Failure::not_found("thread", id),
        other => Failure::internal(other),
    };
    // Read before the store, so that an item that ends meanwhile is in one of the two.
    let session = match app.codex.session(id) {
        Some(session) => {
            Some(session.snapshot().await.map_or_else(|| session.thread(), |(_, thread)| thread))
        }
        None => None,
    };
    let listed = app.codex.thread(id).await.map_err(missing)?;
    let wanted = codex::Query { text: String::new(), limit: PAGE_SIZE };
    let ended = app.codex.items(id, &wanted, before).await.map_err(missing)?;
    let running = session.iter().filter(|_| before.is_none()).flat_map(|thread| thread.running.values());
    let running = running.filter(|running| !ended.iter().any(|(row, _)| row.id == running.id));
    let now = SystemTime::now();
    let values = context! {
        csrf => csrf::token()?,
        made => early_submit::render_time(now),
        thread => threads::row(&listed, now),
        fault => error.as_ref().map(|error| &error.message),
        typed => error.as_ref().map_or("", |error| &error.prompt),
        steers => listed.row.backend == Backend::AppServer.name(),
        busy => session.as_ref().is_some_and(|thread| thread.turn.is_some()),
        approvals => session.iter().flat_map(|thread| &thread.asked).map(approval).collect::<Vec<_>>(),
        running => running.map(|running| item(running, None)).collect::<Vec<_>>(),
        items => ended.iter().map(|(row, known)| {
            let unknown = || context! { id => &row.id, kind => "other", word => &row.kind, state => "done" };
            known.as_ref().map_or_else(unknown, |known| item(known, Some(row.at)))
        }).collect::<Vec<_>>(),
        older => page::last_of_full(&ended, PAGE_SIZE).map(|(row, _)| row.seq),
        latest => before.is_none(),
    };
    page::page(app, Place::Section("/codex"), "thread.html", values).await
}

/// Returns an item: a word for its kind, its text or its files, and its state.
fn item(item: &Item, at: Option<i64>) -> Value {
    let state = match item.state {
        ItemState::Running => "running",
        ItemState::Done => "done",
        ItemState::Failed => "failed",
        ItemState::Declined => "declined",
    };
    let at = at.map(|at| timefmt::clock(instant(at)));
    let common = context! { id => &item.id, kind => item.kind.name(), state, at };
    let own = match &item.kind {
        ItemKind::User { text } => context! { word => "Prompt", text => excerpt::of(text) },
        ItemKind::Agent { text } => prose("Codex", text),
        ItemKind::Reasoning { text } => prose("Thinking", text),
        ItemKind::Command { command, cwd, output, exit_code } => context! {
            word => "Command", line => command, cwd, exit => exit_code,
            output => (!output.is_empty()).then(|| excerpt::of(output)),
        },
        ItemKind::Patch { changes } => context! { word => "Patch", files => files(changes) },
        ItemKind::Tool { server, tool, arguments, result } => context! {
            word => "Tool", line => format!("{server}.{tool} {arguments}"),
            output => result.as_deref().map(excerpt::of),
        },
        ItemKind::Error { message } => context! { word => "Error", text => excerpt::of(message) },
        ItemKind::Other { name, content } => other(name, content),
    };
    context! { ..own, ..common }
}

/// Returns a decision; of another item only the name.
fn other(name: &str, content: &serde_json::Value) -> Value {
    let Some(resolved) = ResolvedApproval::read(content) else {
        return context! { word => "Also", line => name };
    };
    context! { word => "Decision", line => resolved.line(), note => resolved.outcome() }
}

/// Returns a text of the model, which is Markdown.
fn prose(word: &str, text: &str) -> Value {
    let part = excerpt::beginning(text);
    let prose = Value::from_safe_string(markdown::html(part));
    context! { word, prose, clipped => part.len() < text.len() }
}

fn files(changes: &[FileChange]) -> Vec<Value> {
    let file = |change: &FileChange| {
        let part = excerpt::beginning(&change.diff);
        context! {
            path => &change.path,
            how => &change.how,
            html => Value::from_safe_string(highlight::diff(part)),
            clipped => part.len() < change.diff.len(),
        }
    };
    changes.iter().map(file).collect()
}

/// Returns a pending approval with everything that it allows.
fn approval(approval: &Approval) -> Value {
    let details = approval.details().into_iter();
    let words: Vec<Value> = approval.words().into_iter().map(Value::from).collect();
    context! {
        id => &approval.id,
        title => approval.title(),
        details => details.map(|detail| context! { label => detail.label, text => detail.text })
            .collect::<Vec<_>>(),
        files => files(approval.changes()),
        words,
        form => approval.kind.is_form(),
        session => approval.choices.contains(&Decision::ApproveForSession),
        approve => approval.choices.contains(&Decision::Approve),
    }
}
