//! Delegated tasks in the control API: the tasks of all clients.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, ResponseWriter, to_json};
use adjutant_agents as agents;
use adjutant_agents::definition::{Isolation, Permission};
use adjutant_agents::task::{Filter, Page, State, Task};
use adjutant_agents::{Caller, Origin, TaskEvent, TaskId, Viewer};
use adjutant_app::App;

/// The caller's key of the user's tasks, the same for every terminal.
const KEY: &str = "user";

/// Events of one read.
const BATCH_SIZE: u32 = 500;

/// Interval between two reads of the state without an event.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Interval between two attempts to read a task while the store does not answer.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// A request about tasks. An `id` may be a prefix.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Delegate(Box<DelegateRequest>),
    List(Query),
    Show {
        id: String,
    },
    /// Waits for the end, at most `seconds`.
    Wait {
        id: String,
        seconds: Option<u64>,
    },
    /// Cancels the task, and waits until none of its processes is left.
    Cancel {
        id: String,
    },
    /// Delegates an ended task again; `now` as in [`DelegateRequest`].
    Retry {
        id: String,
        now: bool,
    },
    /// Sends the events after the event numbered `after`; continues to the end if `on`.
    Follow {
        id: String,
        after: i64,
        on: bool,
    },
}

/// A task to delegate.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct DelegateRequest {
    pub agent: String,
    pub task: String,
    /// Absolute.
    pub workdir: String,
    pub timeout_seconds: Option<u64>,
    /// A JSON Schema that the final message must follow.
    pub output_schema: Option<Value>,
    /// Program and arguments of each.
    pub checks: Vec<Vec<String>>,
    /// [default: the agent's]
    pub isolation: Option<Isolation>,
    /// [default: the agent's]
    pub permission: Option<Permission>,
    /// Whether the runners that rest after a usage limit are tried again at once.
    pub now: bool,
}

/// Filter of a list of tasks.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Query {
    /// Empty matches all.
    pub states: Vec<State>,
    /// Text in the task, the agent's name or the outcome.
    pub text: Option<String>,
    /// `next` of the previous page.
    pub before: Option<i64>,
    pub limit: u32,
}

/// A part of the answer to [`Request::Follow`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskUpdate {
    /// The state of the task, after each change.
    State(Box<Task>),
    Event(TaskEvent),
}

/// The client's calls.
impl ControlClient {
    /// Delegates a task, and returns the queued task.
    pub fn delegate(&mut self, request: DelegateRequest) -> Result<Task, Error> {
        self.ask(&super::Request::Tasks(Request::Delegate(Box::new(request))))
    }

    /// Returns the tasks that match a query.
    pub fn tasks(&mut self, query: Query) -> Result<Page, Error> {
        self.ask(&super::Request::Tasks(Request::List(query)))
    }

    /// Returns one task by its id.
    pub fn task(&mut self, id: &str) -> Result<Task, Error> {
        self.ask(&super::Request::Tasks(Request::Show { id: id.to_owned() }))
    }

    /// Waits at most `seconds` until a task has ended; returns its state then.
    pub fn wait_for_task(&mut self, id: &str, seconds: Option<u64>) -> Result<Task, Error> {
        self.ask(&super::Request::Tasks(Request::Wait { id: id.to_owned(), seconds }))
    }

    /// Cancels a task; returns its state afterwards.
    pub fn cancel_task(&mut self, id: &str) -> Result<Task, Error> {
        self.ask(&super::Request::Tasks(Request::Cancel { id: id.to_owned() }))
    }

    /// Delegates an ended task again, and returns the new task. `now` as in [`DelegateRequest`].
    pub fn retry_task(&mut self, id: &str, now: bool) -> Result<Task, Error> {
        self.ask(&super::Request::Tasks(Request::Retry { id: id.to_owned(), now }))
    }

    /// Calls `on_part` with the events after the event numbered `after`, to the task's end if `on`.
    pub fn follow_task(
        &mut self,
        id: &str,
        after: i64,
        on: bool,
        on_part: impl FnMut(TaskUpdate),
    ) -> Result<Task, Error> {
        self.follow(&super::Request::Tasks(Request::Follow { id: id.to_owned(), after, on }), on_part)
    }
}

/// Handles a request.
pub(super) async fn answer(
    app: &App,
    request: Request,
    out: &mut ResponseWriter,
) -> Result<Value, Rejection> {
    let agents = &app.agents;
    let find = async |id: String| agents.find(&Viewer::User, &id).await;
    let task = match request {
        Request::List(Query { states, text, before, limit }) => {
            let filter = Filter { states, text, ..Filter::default() };
            return to_json(&agents.list(&Viewer::User, filter, before, limit.clamp(1, 1000)).await?);
        }
        Request::Delegate(request) => {
            if request.now {
                agents.forget_limits();
            }
            agents.delegate(convert(*request)).await?
        }
        Request::Retry { id, now } => {
            let id = find(id).await?;
            if now {
                agents.forget_limits();
            }
            agents.retry(&id, user()).await?
        }
        Request::Show { id } => agents.get(&Viewer::User, &find(id).await?).await?,
        Request::Wait { id, seconds } => {
            wait(app, &find(id).await?, seconds.map(Duration::from_secs)).await?
        }
        Request::Cancel { id } => {
            let id = find(id).await?;
            agents.cancel(&Viewer::User, &id).await?;
            wait(app, &id, None).await?
        }
        Request::Follow { id, after, on } => follow(app, &find(id).await?, after, on, out).await?,
    };
    let answer = to_json(&task)?;
    if task.caller == KEY && task.outcome.is_some() {
        agents.mark_delivered(&task.id).await;
    }
    Ok(answer)
}

fn user() -> Caller {
    Caller { key: KEY.to_owned(), label: KEY.to_owned(), origin: Origin::Outside }
}

/// Converts a request to that of the domain.
fn convert(request: DelegateRequest) -> agents::Request {
    agents::Request {
        caller: user(),
        agent: request.agent,
        task: request.task,
        workdir: request.workdir,
        timeout: request.timeout_seconds.map(Duration::from_secs),
        output_schema: request.output_schema,
        checks: request.checks,
        isolation: request.isolation,
        permission: request.permission,
        trace: BTreeMap::new(),
    }
}

async fn wait(app: &App, id: &TaskId, timeout: Option<Duration>) -> Result<Task, agents::Error> {
    let end = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let interval =
            end.map_or(POLL_INTERVAL, |end| end.saturating_duration_since(Instant::now()).min(POLL_INTERVAL));
        let task = match app.agents.wait(&Viewer::User, id, interval).await {
            // The task is stored, and goes on.
            Err(error) if error.is_store_away() && end.is_none_or(|end| Instant::now() < end) => {
                tokio::time::sleep(STORE_RETRY_INTERVAL).await;
                continue;
            }
            task => task?,
        };
        if task.state.is_ended() || end.is_some_and(|end| Instant::now() >= end) {
            return Ok(task);
        }
    }
}

async fn follow(
    app: &App,
    id: &TaskId,
    after: i64,
    on: bool,
    out: &mut ResponseWriter,
) -> Result<Task, Rejection> {
    let agents = &app.agents;
    let mut last_seq = after;
    let mut last_state = None;
    loop {
        // Reads the state before the events, so that all events before the end are sent.
        let read = async {
            let task = agents.get(&Viewer::User, id).await?;
            Ok::<_, agents::Error>((task, agents.events(&Viewer::User, id, last_seq, BATCH_SIZE).await?))
        };
        let (task, events) = match read.await {
            Err(error) if error.is_store_away() && on => {
                tokio::time::sleep(STORE_RETRY_INTERVAL).await;
                continue;
            }
            read => read?,
        };
        let state = (task.state, task.position, task.cancelling, task.runner.clone());
        if on && !task.state.is_ended() && last_state.as_ref() != Some(&state) {
            out.part(&TaskUpdate::State(Box::new(task.clone()))).await?;
            last_state = Some(state);
        }
        let Some(last) = events.last().map(|event| event.seq) else {
            if task.state.is_ended() || !on {
                return Ok(task);
            }
            agents.wait_for_event(id, last_seq, POLL_INTERVAL).await;
            continue;
        };
        last_seq = last;
        for event in events {
            out.part(&TaskUpdate::Event(event)).await?;
        }
    }
}

impl From<agents::Error> for Rejection {
    fn from(error: agents::Error) -> Self {
        if let agents::Error::Store(source) = &error {
            tracing::error!(error = %source, "the store failed");
        }
        let hint = match &error {
            agents::Error::UnknownAgent { .. } => Some("`adjutant agents list` shows all of them"),
            agents::Error::BrokenAgent { .. } => Some("`adjutant agents lint` shows the line"),
            agents::Error::NoTask { .. } | agents::Error::UnknownTask { .. } => {
                Some("`adjutant tasks list` shows all of them")
            }
            agents::Error::SeveralTasks { .. } => Some("enter more of the id"),
            agents::Error::NotEnded { .. } => {
                Some("`adjutant tasks wait` waits for it, `adjutant tasks cancel` ends it")
            }
            _ => None,
        };
        Self { hints: hint.into_iter().map(str::to_owned).collect(), ..Self::new(error) }
    }
}
