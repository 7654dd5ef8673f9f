//! `/codex`: the threads of Codex, the last used first, a search through their items, and a form for a new one.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Deserialize;

use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use adjutant_app::App;
use adjutant_codex as codex;
use adjutant_codex::ListedThread;
use adjutant_codex::thread::ThreadState;
use adjutant_codex::thread_options::ThreadOptions;

/// Rows of one page.
const PAGE_SIZE: u32 = 50;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The page begins after the thread with this time of use and this name.
    at: Option<i64>,
    id: Option<String>,
    /// Lists the archived threads instead of the others, if it is there.
    archived: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(Search { q, at, id, archived }): Address<Search>,
) -> Result<Response, Failure> {
    let query = codex::Query {
        text: q.trim().to_owned(),
        limit: PAGE_SIZE,
        archived: archived.is_some(),
        ..codex::Query::default()
    };
    render(&app, &query, at.zip(id.as_deref()), None).await
}

/// Starts a thread, and shows it.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let options = ThreadOptions {
        turn: fields.filled("prompt").unwrap_or_default().into(),
        cwd: fields.filled("cwd"),
        worktree: !fields.get("worktree").is_empty(),
        sandbox: fields.filled("sandbox"),
        approval_policy: fields.filled("approval-policy"),
        ..ThreadOptions::default()
    };
    let started = if options.turn.text.is_empty() {
        Err("Enter a prompt for Codex.".to_owned())
    } else {
        app.codex.start(options.clone()).await.map_err(|error| error_text(&error))
    };
    match started {
        Ok(started) => Ok(page::redirect(&format!("/codex/{}", page::path(&started.thread)))),
        Err(error) => {
            let query = codex::Query { limit: PAGE_SIZE, ..codex::Query::default() };
            render(&app, &query, None, Some((error, options))).await
        }
    }
}

/// Shows the list. `refused` has the error of a thread that was not started, and its options, which stay in the form.
async fn render(
    app: &Arc<App>,
    query: &codex::Query,
    before: Option<(i64, &str)>,
    refused: Option<(String, ThreadOptions)>,
) -> Result<Response, Failure> {
    let found = app.codex.threads(query, before).await.map_err(Failure::internal)?;
    let (error, typed) = refused.map_or_else(Default::default, |(error, options)| (Some(error), options));
    let last = page::last_of_full(&found, PAGE_SIZE);
    let values = context! {
        csrf => csrf::token()?,
        query => &query.text,
        archived => query.archived,
        fault => error,
        typed => context! {
            prompt => typed.turn.text,
            cwd => typed.cwd.unwrap_or_default(),
            worktree => typed.worktree,
            sandbox => typed.sandbox,
            approval_policy => typed.approval_policy,
        },
        threads => Value::from(Serde(&found)),
        next => last.map(|thread| context! { at => thread.row.updated_at, id => &thread.row.id }),
        first => before.is_none(),
    };
    page::page(app, Place::Section("/codex"), "threads.html", values).await
}

/// Returns the threads with a running session, for the start page.
pub(super) async fn running(app: &App) -> Result<Vec<ListedThread>, Failure> {
    let latest = codex::Query { limit: PAGE_SIZE, ..codex::Query::default() };
    let mut found = app.codex.threads(&latest, None).await.map_err(Failure::internal)?;
    found.retain(|thread| thread.state != ThreadState::Closed);
    Ok(found)
}

/// Returns an error of Codex with its hint.
pub(super) fn error_text(error: &codex::Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}
