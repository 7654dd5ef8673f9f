//! `/codex`: the threads of Codex, the last used first, a search through their items, and a form for a new one.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};
use serde::Deserialize;

use crate::error::Failure;
use crate::page::{self, Place};
use crate::{csrf, timefmt};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;
use adjutant_codex as codex;
use adjutant_codex::ListedThread;
use adjutant_codex::thread::ThreadState;
use adjutant_codex::thread_options::ThreadOptions;

/// Rows of one page.
const ROWS: u32 = 50;

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The page begins behind this thread: when it was used, and its name.
    at: Option<i64>,
    id: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    search: Result<Query<Search>, QueryRejection>,
) -> Result<Response, Failure> {
    let unreadable = "The search in the address is not readable text.";
    let Query(Search { q, at, id }) = search.map_err(|_| Failure::BadRequest(unreadable))?;
    render(&app, q.trim(), at.zip(id.as_deref()), None).await
}

/// Begins a thread, and shows it.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Failure> {
    let fields = page::fields(form)?;
    csrf::check(&fields)?;
    let given = |name: &str| {
        let value = fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty()).map(ToOwned::to_owned)
    };
    let start = ThreadOptions {
        prompt: given("prompt").unwrap_or_default(),
        cwd: given("cwd"),
        sandbox: given("sandbox"),
        approval_policy: given("approval-policy"),
        ..ThreadOptions::default()
    };
    let begun = if start.prompt.is_empty() {
        Err("Say what Codex is to do.".to_owned())
    } else {
        app.codex.start(start.clone()).await.map_err(|error| told(&error))
    };
    match begun {
        Ok(begun) => {
            Ok((page::headers(), Redirect::to(&format!("/codex/{}", page::path(&begun.thread))))
                .into_response())
        }
        Err(fault) => render(&app, "", None, Some((fault, start))).await,
    }
}

/// Shows the list. A thread that was not begun is `refused`: why, and what was typed, which stays in the form.
async fn render(
    app: &Arc<App>,
    query: &str,
    before: Option<(i64, &str)>,
    refused: Option<(String, ThreadOptions)>,
) -> Result<Response, Failure> {
    let wanted = codex::Query { text: query.to_owned(), limit: ROWS };
    let found = app.codex.threads(&wanted, before).await.map_err(Failure::internal)?;
    let now = SystemTime::now();
    let (fault, typed) = refused.map_or_else(Default::default, |(fault, start)| (Some(fault), start));
    let full = found.len() == usize::try_from(ROWS).unwrap_or(usize::MAX);
    let last = found.last().filter(|_| full);
    let values = context! {
        csrf => csrf::token()?,
        query,
        fault,
        typed => context! {
            prompt => typed.prompt,
            cwd => typed.cwd.unwrap_or_default(),
            sandbox => typed.sandbox,
            approval_policy => typed.approval_policy,
        },
        threads => found.iter().map(|thread| row(thread, now)).collect::<Vec<_>>(),
        next => last.map(|thread| context! { at => thread.row.updated_at, id => &thread.row.id }),
        first => before.is_none(),
    };
    page::page(app, Place::Section("/codex"), "threads.html", values).await
}

/// Returns the threads that have a process now, for the overview.
pub(super) async fn running(app: &App, now: SystemTime) -> Result<Vec<Value>, Failure> {
    let latest = codex::Query { text: String::new(), limit: ROWS };
    let found = app.codex.threads(&latest, None).await.map_err(Failure::internal)?;
    Ok(found
        .iter()
        .filter(|thread| thread.state != ThreadState::Closed)
        .map(|thread| row(thread, now))
        .collect())
}

/// Returns what every page shows of a thread.
pub(super) fn row(listed: &ListedThread, now: SystemTime) -> Value {
    let ListedThread { row, state } = listed;
    context! {
        id => &row.id,
        title => &row.title,
        state => state.as_str(),
        last => row.last_end.as_deref(),
        failure => row.last_failure.as_deref(),
        cwd => &row.cwd,
        model => &row.model,
        codex => format!("{} over {}", row.version, row.backend),
        tokens => row.tokens,
        used => timefmt::time(instant(row.updated_at), now),
    }
}

/// Says why Codex did not do it, and what to do.
pub(super) fn told(error: &codex::Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}
