//! `/tasks`: delegated tasks, newest first, by state and by search, a page at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Deserialize;

use super::definitions;
use super::task::run_report;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::{Address, SignedForm};
use crate::{csrf, timefmt};
use adjutant_agents::definition::Isolation;
use adjutant_agents::run_report::Verification;
use adjutant_agents::task::{self, Ending, Filter};
use adjutant_agents::{Caller, Error, Origin, Request, Task, Viewer};
use adjutant_app::App;
use adjutant_base::text::timefmt::instant;

/// Rows of one page.
const PAGE_SIZE: u32 = 50;

/// Rows on the start page.
const INBOX_ROWS: u32 = 8;

/// Maximum agents that get the same task at once.
const MAX_RACERS: usize = 6;

/// The name of a task's id in the address of a race.
pub(super) const TASK: &str = "task";

/// The name of the user among the clients that delegate.
const USER: &str = "user";

/// The states of the filter with their labels.
const STATES: [(task::State, &str); 6] = [
    (task::State::Queued, "Queued"),
    (task::State::Running, "Running"),
    (task::State::Ended(Ending::Succeeded), "Succeeded"),
    (task::State::Ended(Ending::Failed), "Failed"),
    (task::State::Ended(Ending::Cancelled), "Cancelled"),
    (task::State::Ended(Ending::Lost), "Lost"),
];

#[derive(Default, Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
    /// The name of a state; empty for all.
    #[serde(default)]
    state: String,
    /// The page begins before this task's number.
    before: Option<i64>,
    /// The text of a new task, for the open form, with its agent and its folder.
    delegate: Option<String>,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    workdir: String,
}

/// The fields of the form, as they stay there when they are rejected.
struct Typed {
    agents: Vec<String>,
    task: String,
    workdir: String,
    worktree: bool,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Address(search): Address<Search>,
) -> Result<Response, Failure> {
    render(&app, search, None).await
}

/// Delegates a task, and shows it; to several agents, each in a worktree of its own, and shows their race.
pub(crate) async fn delegate(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let typed = Typed {
        agents: fields.all("agent").map(ToOwned::to_owned).collect(),
        task: fields.get("task").trim().to_owned(),
        workdir: fields.get("workdir").trim().to_owned(),
        worktree: !fields.get("worktree").is_empty(),
    };
    let rejected = |reason: String| (reason, &typed);
    if typed.agents.is_empty() || typed.agents.len() > MAX_RACERS {
        let reason = format!("choose one agent, or up to {MAX_RACERS} for a race");
        return render(&app, Search::default(), Some(rejected(reason))).await;
    }
    let is_race = typed.agents.len() > 1;
    let mut ids: Vec<String> = Vec::new();
    for agent in &typed.agents {
        let request = Request {
            caller: user(),
            agent: agent.clone(),
            task: typed.task.clone(),
            workdir: typed.workdir.clone(),
            timeout: None,
            output_schema: None,
            checks: Vec::new(),
            isolation: (is_race || typed.worktree).then_some(Isolation::Worktree),
            permission: None,
            trace: BTreeMap::new(),
        };
        match app.agents.delegate(request).await {
            Ok(task) => ids.push(task.id.to_string()),
            Err(error) => {
                let before = match ids.len() {
                    0 => String::new(),
                    accepted => format!("; {accepted} before it were accepted"),
                };
                let reason = format!("agent {agent}: {error}{before}");
                return render(&app, Search::default(), Some(rejected(reason))).await;
            }
        }
    }
    Ok(page::redirect(&match &ids[..] {
        [one] => format!("/tasks/{one}"),
        several => race_path(several),
    }))
}

/// Returns the path of the page that compares tasks.
pub(super) fn race_path(ids: &[String]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("{TASK}={id}")).collect();
    format!("/tasks/race?{}", ids.join("&"))
}

/// Returns the user as a caller that delegates; `adjutant delegate` has the same key.
pub(super) fn user() -> Caller {
    Caller { key: USER.to_owned(), label: USER.to_owned(), origin: Origin::Outside }
}

/// Shows the list. `refused` has the error of a task that was not delegated, which stays in the form.
async fn render(
    app: &Arc<App>,
    Search { q, state, before, delegate, agent, workdir }: Search,
    refused: Option<(String, &Typed)>,
) -> Result<Response, Failure> {
    let wanted = match state.as_str() {
        "" => None,
        name => Some(task::State::from_name(name).ok_or(Failure::BadRequest("There is no such state."))?),
    };
    let query = q.trim();
    let filter = Filter {
        states: wanted.into_iter().collect(),
        refuted_failed: true,
        text: (!query.is_empty()).then(|| query.to_owned()),
        ..Filter::default()
    };
    let found = app.agents.list(&Viewer::User, filter, before, PAGE_SIZE).await.map_err(Failure::internal)?;
    let agents = definitions(app).await?;
    let mut rows = Vec::with_capacity(found.tasks.len());
    for task in &found.tasks {
        rows.push(match checked(app, task).await? {
            Some(standing_text) => context! { standing_text, ..row(task) },
            None => row(task),
        });
    }
    let (error, typed) = refused.unzip();
    let values = context! {
        csrf => csrf::token()?,
        agents => agents.agents.values().map(|agent| agent.name.clone()).collect::<Vec<_>>(),
        fault => error,
        typed => match typed {
            Some(Typed { agents, task, workdir, worktree }) => context! { agents, task, workdir, worktree },
            None => delegate.map_or_else(|| Value::from(()), |task| context! { agents => [agent], task, workdir, worktree => false }),
        },
        query,
        state,
        states => page::choices(STATES, wanted.as_ref(), |state| state.as_str()),
        total => found.total,
        tasks => rows,
        next => found.next,
        first => before.is_none(),
    };
    page::page(app, Place::Section("/tasks"), "tasks.html", values).await
}

/// Returns the first queued and running tasks for the start page, and the number of all.
pub(super) async fn running(app: &App) -> Result<(Vec<Task>, u64), Failure> {
    app.agents.unended(INBOX_ROWS).await.map_err(Failure::internal)
}

/// Returns what the checks say about a result, with their numbers, which a list does not have.
async fn checked(app: &App, task: &Task) -> Result<Option<String>, Failure> {
    if !matches!(standing(task).0, "refuted" | "verified") {
        return Ok(None);
    }
    match app.agents.get(&Viewer::User, &task.id).await {
        Ok(task) => Ok(task.outcome.and_then(|outcome| run_report::checked(&outcome))),
        // It was removed since the list was read.
        Err(Error::UnknownTask { .. }) => Ok(None),
        Err(error) => Err(Failure::internal(error)),
    }
}

/// Returns the state of a task, or what the checks say about the result of a task that succeeded: a word for the style, and
/// its text.
pub(super) fn standing(task: &Task) -> (&'static str, &'static str) {
    match (task.state, task.verdict) {
        _ if task.cancelling => ("running", "being cancelled"),
        (task::State::Ended(Ending::Succeeded), Some(Verification::Refuted)) => ("refuted", "checks failed"),
        (task::State::Ended(Ending::Succeeded), Some(Verification::Verified)) => {
            ("verified", "checks passed")
        }
        (state, _) => (state.as_str(), state.as_str()),
    }
}

/// Returns the values of a task that every page shows.
pub(super) fn row(task: &Task) -> Value {
    // The time since its start, or until its end.
    let took = task.started_at.map(|started| {
        let end = task.ended_at.map_or_else(SystemTime::now, instant);
        timefmt::length(end.duration_since(instant(started)).unwrap_or_default())
    });
    let place = task.machine.as_ref().map(ToString::to_string);
    let (standing, standing_text) = standing(task);
    context! { ended => task.state.is_ended(), took, place, standing, standing_text, ..Value::from(Serde(task)) }
}
