//! Conversion between the store's rows and the domain's values.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::definition::{Isolation, OnHubExit, Permission};
use crate::lane;
use crate::request::ValidatedRequest;
use crate::run_report::Verification;
use crate::task::{Machine, Task, TaskEvent, TaskEventKind, TaskId};
use crate::workdir::Workdir;
use adjutant_base::config::network::Network;
use adjutant_store::{Millis, tasks};

/// The JSON part of a task's row. It holds the agent as it was when the task was accepted, so that a later change of
/// the agent's file changes no task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one member of the stored JSON")]
pub(crate) struct Options {
    /// The name that the asking client gives itself.
    pub(super) label: String,
    pub(super) persona: String,
    pub(super) model: Option<String>,
    pub(super) runner: Option<String>,
    pub(super) permission: String,
    #[serde(default)]
    pub(super) network: Network,
    /// The networks of the tasks above it.
    #[serde(default)]
    pub(super) outer_networks: Vec<Network>,
    pub(super) timeout_ms: u64,
    pub(crate) keep: bool,
    pub(super) env: BTreeMap<String, String>,
    pub(crate) schema: Option<Value>,
    #[serde(default)]
    pub(super) setup: Vec<Vec<String>>,
    pub(crate) checks: Vec<Vec<String>>,
    /// How many of the checks, from the first one on, are of the agent's file.
    #[serde(default)]
    pub(crate) agent_checks: usize,
    #[serde(default)]
    pub(super) checks_may_fail: bool,
    pub(crate) worktree: bool,
    /// Whether the repository around `workdir` has no file checked out: a worker made it for this task.
    #[serde(default)]
    pub(crate) without_checkout: bool,
    pub(crate) workdir: Workdir,
}

impl Options {
    /// Returns the permission level. An unknown word counts as the least level.
    pub(crate) fn permission(&self) -> Permission {
        Permission::from_name(&self.permission).unwrap_or_default()
    }

    /// Returns the networks that all bound the run.
    pub(crate) fn networks(&self) -> Vec<Network> {
        [&self.network].into_iter().chain(&self.outer_networks).cloned().collect()
    }

    /// Returns where the agent works.
    pub(crate) fn isolation(&self) -> Isolation {
        if self.worktree { Isolation::Worktree } else { Isolation::None }
    }

    /// Returns the time limit of the whole task.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Makes the row of a task that is accepted at `created_at`.
pub(crate) fn new_task(id: &TaskId, request: ValidatedRequest, created_at: Millis) -> tasks::NewTask {
    let ValidatedRequest { caller, agent, workdir, .. } = request;
    let path = workdir.path().to_string_lossy().into_owned();
    let options = Options {
        label: caller.label,
        persona: agent.persona.clone(),
        model: agent.model.clone(),
        runner: agent.runner.clone(),
        permission: request.permission.name().to_owned(),
        network: agent.network.clone(),
        outer_networks: request.outer_networks,
        timeout_ms: u64::try_from(request.timeout.as_millis()).unwrap_or(u64::MAX),
        keep: agent.on_hub_exit == OnHubExit::Keep,
        env: request.trace.into_iter().chain(agent.env.clone()).collect(),
        schema: request.schema,
        setup: agent.setup.clone(),
        checks: request.checks,
        agent_checks: agent.checks.len(),
        checks_may_fail: agent.checks_may_fail,
        worktree: request.isolation == Isolation::Worktree,
        without_checkout: false,
        workdir,
    };
    tasks::NewTask {
        id: id.to_string(),
        caller: caller.key,
        agent: agent.name.clone(),
        runner: request.runner,
        text: request.text,
        workdir: path,
        priority: 0,
        parent: request.parent,
        root: request.root.unwrap_or_else(|| id.to_string()),
        depth: i64::from(request.depth),
        options: json(&options),
        created_at,
    }
}

/// Reads the options of a row. The error is a sentence fragment.
pub(crate) fn options(row: &tasks::Task) -> Result<Options, String> {
    serde_json::from_str(&row.options).map_err(|error| format!("its options cannot be read: {error}"))
}

/// Makes a task of its row. `position` is its place in the queue, `outcome` JSON of [`crate::run_report::Outcome`].
pub(crate) fn task(row: tasks::Task, position: Option<u64>, outcome: Option<&str>) -> Result<Task, Error> {
    let label = options(&row).map(|options| options.label).unwrap_or_default();
    let machine = machine(&row);
    Ok(Task {
        id: TaskId::parse(&row.id).ok_or_else(|| Error::UnknownTask { id: row.id.clone() })?,
        seq: row.seq,
        caller: row.caller,
        label,
        agent: row.agent,
        runner: lane::shown(&row.runner).to_owned(),
        text: row.text,
        workdir: row.workdir,
        machine,
        state: row.state,
        position,
        waiting_reason: None,
        cancelling: row.cancel_requested_at.is_some() && !row.state.is_ended(),
        created_at: row.created_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        verdict: row.outcome_start.as_deref().and_then(verdict),
        // An outcome of another version that cannot be read counts as absent.
        outcome: outcome.and_then(|json| serde_json::from_str(json).ok()),
    })
}

/// Reads the verdict from the beginning of an outcome's JSON, in which only the status precedes it.
fn verdict(start: &str) -> Option<Verification> {
    let (_, rest) = start.split_once("\"verdict\":")?;
    serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()
}

/// Returns the machine of a task; `None` if one machine has the database, or the row does not name it.
pub(crate) fn machine(row: &tasks::Task) -> Option<Machine> {
    let machine = Machine { id: row.machine.clone(), name: row.machine_name.clone() };
    Some(machine).filter(|machine| !machine.id.is_empty())
}

/// Makes an event of its row; `None` for a kind that this version does not know.
pub(crate) fn event(row: &tasks::TaskEvent) -> Option<TaskEvent> {
    let kind: TaskEventKind = serde_json::from_str(&row.data).ok()?;
    Some(TaskEvent { seq: row.seq, at: row.at, kind })
}

/// Returns a value of this crate as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Plain data with string keys: serializing it cannot fail, and an empty object is read as all defaults.
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
