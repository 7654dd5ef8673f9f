//! `/codex/{thread}`: one thread of Codex with its updates, a reply, an interrupt, and its pending approvals.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use super::threads;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::{csrf, early_submit, excerpt, highlight, markdown, timefmt};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;
use adjutant_codex as codex;
use adjutant_codex::Error;
use adjutant_codex::approval::{Approval, ApprovalKind, Decider, Decision, ResolvedApproval};
use adjutant_codex::event::{Item, ItemKind, ItemState};
use adjutant_codex::patch::FileChange;
use adjutant_codex::thread_options::Backend;

/// Items of one page.
const ITEMS: u32 = 100;

#[derive(Deserialize)]
pub(crate) struct Part {
    /// The items before the one of this number, instead of the last ones.
    before: Option<i64>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Part { before }) =
        part.map_err(|_| Failure::BadRequest("The address is not readable text."))?;
    render(&app, &id, before, None).await
}

/// What went wrong with a form, and what was typed in it.
struct Fault {
    told: String,
    typed: String,
}

/// Does what a button says, and shows the thread again.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let fields = page::fields(form)?;
    csrf::check(&fields)?;
    let given = |name: &str| {
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim()).unwrap_or_default()
    };
    let decide = async |decision| app.codex.decide(&id, given("approval"), decision, Decider::Person).await;
    let note = Some(given("note").to_owned()).filter(|note| !note.is_empty());
    if matches!(given("act"), "approve" | "session" | "deny" | "abort")
        && early_submit::is_too_early(given("made"))
    {
        let fault = Fault { told: early_submit::TOO_EARLY.to_owned(), typed: String::new() };
        return render(&app, &id, None, Some(fault)).await;
    }
    let done = match given("act") {
        "reply" | "steer" if given("prompt").is_empty() => Ok(()),
        "reply" => app.codex.reply(&id, given("prompt").to_owned()).await.map(drop),
        "steer" => app.codex.steer(&id, given("prompt").to_owned()).await,
        "interrupt" => app.codex.interrupt(&id).await,
        "approve" => decide(Decision::Approve).await,
        "session" => decide(Decision::ApproveForSession).await,
        "deny" => decide(Decision::Deny { note }).await,
        "abort" => decide(Decision::Abort).await,
        _ => return Err(Failure::BadRequest("The form names an unknown action.")),
    };
    match done {
        Ok(()) => Ok((page::headers(), Redirect::to(&format!("/codex/{}", page::path(&id)))).into_response()),
        Err(Error::UnknownThread(id)) => Err(Failure::NoThread { id }),
        Err(error) => {
            let fault = Fault { told: threads::told(&error), typed: given("prompt").to_owned() };
            render(&app, &id, None, Some(fault)).await
        }
    }
}

async fn render(
    app: &Arc<App>,
    id: &str,
    before: Option<i64>,
    fault: Option<Fault>,
) -> Result<Response, Failure> {
    let missing = |error| match error {
        Error::UnknownThread(id) => Failure::NoThread { id },
        other => Failure::internal(other),
    };
    // Looked at before the store, so that an item that ends meanwhile is in one of the two.
    let session = match app.codex.session(id) {
        Some(session) => {
            Some(session.snapshot().await.map_or_else(|| session.thread(), |(_, thread)| thread))
        }
        None => None,
    };
    let listed = app.codex.thread(id).await.map_err(missing)?;
    let wanted = codex::Query { text: String::new(), limit: ITEMS };
    let ended = app.codex.items(id, &wanted, before).await.map_err(missing)?;
    let full = ended.len() == usize::try_from(ITEMS).unwrap_or(usize::MAX);
    let oldest = ended.last().map(|(row, _)| row.seq).filter(|_| full);
    let running = session.iter().filter(|_| before.is_none()).flat_map(|thread| thread.running.values());
    let running = running.filter(|running| !ended.iter().any(|(row, _)| row.id == running.id));
    let now = SystemTime::now();
    let values = context! {
        csrf => csrf::token()?,
        made => early_submit::render_time(now),
        thread => threads::row(&listed, now),
        fault => fault.as_ref().map(|fault| &fault.told),
        typed => fault.as_ref().map_or("", |fault| &fault.typed),
        steers => listed.row.backend == Backend::AppServer.as_str(),
        busy => session.as_ref().is_some_and(|thread| thread.turn.is_some()),
        asked => session.iter().flat_map(|thread| &thread.asked).map(approval).collect::<Vec<_>>(),
        running => running.map(|running| item(running, None)).collect::<Vec<_>>(),
        items => ended.iter().map(|(row, known)| {
            let unknown = || context! { id => &row.id, kind => "other", word => &row.kind, state => "done" };
            known.as_ref().map_or_else(unknown, |known| item(known, Some(row.at)))
        }).collect::<Vec<_>>(),
        older => oldest,
        latest => before.is_none(),
    };
    page::page(app, Place::Section("/codex"), "thread.html", values).await
}

/// Returns an item: a word for its kind, its text or its files, and how it ended.
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

/// Returns a decision; anything else by its name alone.
fn other(name: &str, content: &serde_json::Value) -> Value {
    let Some(settled) = ResolvedApproval::read(content) else {
        return context! { word => "Also", line => name };
    };
    context! { word => "Decision", line => settled.line(), note => settled.outcome() }
}

/// Returns what a model wrote; models write Markdown.
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

/// Returns what Codex waits for, exactly.
fn approval(approval: &Approval) -> Value {
    let own = match &approval.kind {
        ApprovalKind::Command { cwd, .. } => {
            context! { word => "Codex wants to run a command", line => approval.command_line(), cwd }
        }
        ApprovalKind::Patch { changes } => {
            context! { word => "Codex wants to change files", files => files(changes) }
        }
        ApprovalKind::Elicitation { .. } | ApprovalKind::Input { .. } => {
            context! { word => "Codex asks something", line => approval.line(), form => true }
        }
        ApprovalKind::Unknown { .. } => {
            context! { word => "Codex asks something unknown", line => approval.line() }
        }
    };
    let common = context! {
        id => &approval.id,
        reason => approval.reason.as_deref(),
        session => approval.choices.contains(&Decision::ApproveForSession),
        approve => approval.choices.contains(&Decision::Approve),
    };
    context! { ..own, ..common }
}
