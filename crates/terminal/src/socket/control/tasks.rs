//! Delegated tasks at the person's door: all of them, whoever asked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Out, Person, Refusal, written};
use crate::agents::definition::{Isolation, Permission};
use crate::agents::receipt::Outcome;
use crate::agents::task::{Filter, State, Task, What};
use crate::agents::{self, Caller, Origin, TaskId, Viewer};
use crate::app::App;

/// The key of what people delegate: their tasks are theirs from every terminal.
const KEY: &str = "person";

/// Events that are read at once.
const EVENTS: u32 = 500;

/// How long nothing may change before the state is looked at again without a reason.
const SILENCE: Duration = Duration::from_secs(30);

/// What a person does with tasks. An `id` may be the beginning of one.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Delegate(Box<Order>),
    List(Query),
    Show {
        id: String,
    },
    /// Waits for the end, at most `seconds`.
    Wait {
        id: String,
        seconds: Option<u64>,
    },
    /// Ends it, and waits until no process of it is left.
    Cancel {
        id: String,
    },
    /// Tells what happened after the event numbered `after`; goes on to the end if `on`.
    Follow {
        id: String,
        after: i64,
        on: bool,
    },
}

/// A task to be delegated.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Order {
    pub(crate) agent: String,
    pub(crate) task: String,
    /// Absolute.
    pub(crate) workdir: String,
    pub(crate) timeout_seconds: Option<u64>,
    /// A JSON Schema that the final message must follow.
    pub(crate) output_schema: Option<Value>,
    /// Program and arguments each.
    pub(crate) checks: Vec<Vec<String>>,
    /// A word of [`Isolation`]; the agent's own where there is none.
    pub(crate) isolation: Option<String>,
    /// A word of [`Permission`]; the agent's own where there is none.
    pub(crate) permission: Option<String>,
}

/// Which tasks are listed, newest first.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Query {
    /// Words of [`State`]; none is all.
    pub(crate) states: Vec<String>,
    /// Stands in the text, the agent's name or the outcome.
    pub(crate) text: Option<String>,
    /// `next` of the page before.
    pub(crate) before: Option<i64>,
    pub(crate) limit: u32,
}

/// A page of tasks.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Listed {
    pub(crate) tasks: Vec<Shown>,
    /// Tasks that pass the query, on all pages.
    pub(crate) total: u64,
    pub(crate) next: Option<i64>,
}

/// A task; instants are milliseconds since 1970.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Shown {
    pub(crate) id: String,
    /// What the client that asked calls itself.
    pub(crate) asked_by: String,
    pub(crate) agent: String,
    pub(crate) runner: String,
    /// In lists the first 400 characters.
    pub(crate) task: String,
    pub(crate) workdir: String,
    /// A word of [`State`].
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<u64>,
    #[serde(default)]
    pub(crate) cancelling: bool,
    pub(crate) created_at: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) ended_at: Option<i64>,
    /// Once it has ended; never in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Box<Outcome>>,
}

/// A part of what [`Act::Follow`] tells.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// Where it stands, whenever that changes.
    Stands(Shown),
    Happened {
        seq: i64,
        at: i64,
        what: What,
    },
}

impl Shown {
    fn new(task: Task) -> Self {
        Self {
            id: task.id.to_string(),
            asked_by: task.label,
            agent: task.agent,
            runner: task.runner,
            task: task.text,
            workdir: task.workdir,
            status: task.state.as_str().to_owned(),
            position: task.position,
            cancelling: task.cancelling,
            created_at: task.created_at,
            started_at: task.started_at,
            ended_at: task.ended_at,
            outcome: task.outcome,
        }
    }

    /// Tells whether nothing can happen to it any more.
    pub(crate) fn has_ended(&self) -> bool {
        State::from_name(&self.status).is_none_or(State::is_ended)
    }
}

/// The client's calls. Each names the type that answers its act.
impl Person {
    pub(crate) fn delegate(&mut self, order: Order) -> Result<Shown, super::Error> {
        self.ask(&super::Act::Tasks(Act::Delegate(Box::new(order))))
    }

    pub(crate) fn tasks(&mut self, query: Query) -> Result<Listed, super::Error> {
        self.ask(&super::Act::Tasks(Act::List(query)))
    }

    pub(crate) fn task(&mut self, id: &str) -> Result<Shown, super::Error> {
        self.ask(&super::Act::Tasks(Act::Show { id: id.to_owned() }))
    }

    pub(crate) fn wait_for_task(&mut self, id: &str, seconds: Option<u64>) -> Result<Shown, super::Error> {
        self.ask(&super::Act::Tasks(Act::Wait { id: id.to_owned(), seconds }))
    }

    pub(crate) fn cancel_task(&mut self, id: &str) -> Result<Shown, super::Error> {
        self.ask(&super::Act::Tasks(Act::Cancel { id: id.to_owned() }))
    }

    /// Gives `told` what happened after the event numbered `after`, to the task's end if `on`.
    pub(crate) fn follow_task(
        &mut self,
        id: &str,
        after: i64,
        on: bool,
        told: impl FnMut(Told),
    ) -> Result<Shown, super::Error> {
        self.follow(&super::Act::Tasks(Act::Follow { id: id.to_owned(), after, on }), told)
    }
}

/// Does an act with calls of the room.
pub(super) async fn answer(app: &App, act: Act, out: &mut Out) -> Result<Value, Refusal> {
    let agents = &app.agents;
    let find = async |id: String| agents.find(&Viewer::Person, &id).await;
    let task = match act {
        Act::List(query) => return list(app, query).await,
        Act::Delegate(order) => agents.delegate(request(*order)?).await?,
        Act::Show { id } => agents.get(&Viewer::Person, &find(id).await?).await?,
        Act::Wait { id, seconds } => wait(app, &find(id).await?, seconds.map(Duration::from_secs)).await?,
        Act::Cancel { id } => {
            let id = find(id).await?;
            agents.cancel(&Viewer::Person, &id).await?;
            wait(app, &id, None).await?
        }
        Act::Follow { id, after, on } => follow(app, &find(id).await?, after, on, out).await?,
    };
    let own = task.caller == KEY && task.outcome.is_some();
    let id = task.id.clone();
    let answer = written(&Shown::new(task))?;
    if own {
        agents.delivered(&id).await;
    }
    Ok(answer)
}

fn request(order: Order) -> Result<agents::Request, Refusal> {
    let isolation = order.isolation.as_deref().map(|word| {
        let all = Isolation::ALL.into_iter().find(|isolation| isolation.name() == word);
        all.ok_or_else(|| Refusal::new(format!("`{word}` is no isolation")))
    });
    let permission = order.permission.as_deref().map(|word| {
        Permission::from_name(word).ok_or_else(|| Refusal::new(format!("`{word}` is no permission")))
    });
    Ok(agents::Request {
        caller: Caller { key: KEY.to_owned(), label: KEY.to_owned(), origin: Origin::Outside },
        agent: order.agent,
        task: order.task,
        workdir: order.workdir,
        timeout: order.timeout_seconds.map(Duration::from_secs),
        output_schema: order.output_schema,
        checks: order.checks,
        isolation: isolation.transpose()?,
        permission: permission.transpose()?,
        trace: BTreeMap::new(),
    })
}

async fn list(app: &App, query: Query) -> Result<Value, Refusal> {
    let states = query.states.iter().map(|word| {
        State::from_name(word).ok_or_else(|| Refusal::new(format!("`{word}` is no state of a task")))
    });
    let filter = Filter { states: states.collect::<Result<_, _>>()?, text: query.text, ..Filter::default() };
    let limit = query.limit.clamp(1, 1000);
    let page = app.agents.list(&Viewer::Person, filter, query.before, limit).await?;
    let tasks = page.tasks.into_iter().map(Shown::new).collect();
    written(&Listed { tasks, total: page.total, next: page.next })
}

async fn wait(app: &App, id: &TaskId, patience: Option<Duration>) -> Result<Task, agents::Error> {
    let end = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = end.map_or(SILENCE, |end| end.saturating_duration_since(Instant::now()).min(SILENCE));
        let task = app.agents.wait(&Viewer::Person, id, left).await?;
        if task.state.is_ended() || end.is_some_and(|end| Instant::now() >= end) {
            return Ok(task);
        }
    }
}

async fn follow(app: &App, id: &TaskId, after: i64, on: bool, out: &mut Out) -> Result<Task, Refusal> {
    let agents = &app.agents;
    let mut seen = after;
    let mut stood = None;
    loop {
        // The state first: whatever happened before an end is then among the events.
        let task = agents.get(&Viewer::Person, id).await?;
        let stands = (task.state, task.position, task.cancelling, task.runner.clone());
        if on && !task.state.is_ended() && stood.as_ref() != Some(&stands) {
            out.part(&Told::Stands(Shown::new(task.clone()))).await?;
            stood = Some(stands);
        }
        let fresh = agents.happened(&Viewer::Person, id, seen, EVENTS).await?;
        let Some(last) = fresh.last().map(|happened| happened.seq) else {
            if task.state.is_ended() || !on {
                return Ok(task);
            }
            agents.changed(id, seen, SILENCE).await;
            continue;
        };
        seen = last;
        for happened in fresh {
            let agents::Happened { seq, at, what } = happened;
            out.part(&Told::Happened { seq, at, what }).await?;
        }
    }
}

impl From<agents::Error> for Refusal {
    fn from(error: agents::Error) -> Self {
        if let agents::Error::Store(source) = &error {
            tracing::error!(error = %source, "the store failed");
        }
        let hint = match &error {
            agents::Error::UnknownAgent { .. } => Some("`adjutant agents list` shows all of them"),
            agents::Error::BrokenAgent { .. } => Some("`adjutant agents lint` says where the fault is"),
            agents::Error::NoTask { .. } | agents::Error::UnknownTask { .. } => {
                Some("`adjutant tasks list` shows all of them")
            }
            agents::Error::SeveralTasks { .. } => Some("write more of the id"),
            _ => None,
        };
        Self { hints: hint.into_iter().map(str::to_owned).collect(), ..Self::new(error) }
    }
}
