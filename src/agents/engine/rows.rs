//! Between the store's rows and the room's values.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::Error;
use crate::agents::definition::{Agent, Isolation, OnHubExit, Permission};
use crate::agents::delegate::Checked;
use crate::agents::task::{Happened, Task, TaskId, What};
use crate::agents::workdir::Workdir;
use crate::store::tasks;

/// What a run needs beside its row, as it was when the task came in: a file that changes later changes no task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::agents) struct Options {
    /// What the asking client calls itself.
    pub(super) label: String,
    pub(super) persona: String,
    pub(super) model: Option<String>,
    pub(super) runner: Option<String>,
    pub(super) permission: String,
    pub(super) timeout_ms: u64,
    pub(super) keep: bool,
    pub(super) env: BTreeMap<String, String>,
    pub(super) schema: Option<Value>,
    pub(super) checks: Vec<Vec<String>>,
    pub(super) worktree: bool,
    pub(super) workdir: Workdir,
}

impl Options {
    pub(super) fn new(checked: &Checked, agent: &Agent) -> Self {
        Self {
            label: checked.caller.label.clone(),
            persona: agent.persona.clone(),
            model: agent.model.clone(),
            runner: agent.runner.clone(),
            permission: checked.permission.name().to_owned(),
            timeout_ms: u64::try_from(checked.timeout.as_millis()).unwrap_or(u64::MAX),
            keep: agent.on_hub_exit == OnHubExit::Keep,
            env: checked.trace.clone().into_iter().chain(agent.env.clone()).collect(),
            schema: checked.schema.clone(),
            checks: checked.checks.clone(),
            worktree: checked.isolation == Isolation::Worktree,
            workdir: checked.workdir.clone(),
        }
    }

    /// The level; a word that this version does not know is the least.
    pub(in crate::agents) fn permission(&self) -> Permission {
        Permission::from_name(&self.permission).unwrap_or_default()
    }

    pub(in crate::agents) fn isolation(&self) -> Isolation {
        if self.worktree { Isolation::Worktree } else { Isolation::None }
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Reads the options of a row.
pub(in crate::agents) fn options(row: &tasks::Task) -> Result<Options, String> {
    serde_json::from_str(&row.options).map_err(|error| format!("its options cannot be read: {error}"))
}

/// Makes a task of its row. `outcome` is JSON of [`crate::agents::receipt::Outcome`].
pub(super) fn task(row: tasks::Task, position: Option<u64>, outcome: Option<&str>) -> Result<Task, Error> {
    let label = options(&row).map(|options| options.label).unwrap_or_default();
    Ok(Task {
        id: TaskId::parse(&row.id).ok_or_else(|| Error::UnknownTask { id: row.id.clone() })?,
        seq: row.seq,
        caller: row.caller,
        label,
        agent: row.agent,
        runner: row.runner,
        text: row.text,
        workdir: row.workdir,
        state: row.state,
        position,
        cancelling: row.cancel_requested_at.is_some() && !row.state.is_ended(),
        created_at: row.created_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        // What another version wrote and this one cannot read is as good as absent.
        outcome: outcome.and_then(|json| serde_json::from_str(json).ok()),
    })
}

/// Makes an event of its row; `None` for one of a kind that this version does not know.
pub(super) fn happened(row: &tasks::TaskEvent) -> Option<Happened> {
    let what: What = serde_json::from_str(&row.data).ok()?;
    Some(Happened { seq: row.seq, at: row.at, what })
}

/// Writes a value of ours as JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    // Plain data with string keys: writing it cannot fail, and an empty object is read as all defaults.
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
