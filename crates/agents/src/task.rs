//! Task of a delegation, with its id, its events and the pages of a list.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::run_report::{Outcome, Verification};
use adjutant_base::text::random_id::{is_random_id, random_id};
use adjutant_store::Millis;
pub use adjutant_store::tasks::{Ending, Filter, State};

/// The id of a task: unguessable, and short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId(String);

/// Characters of an id: 100 random bits.
const LENGTH: usize = 20;

impl TaskId {
    /// Returns a new id from the system's randomness.
    pub fn new() -> std::io::Result<Self> {
        random_id::<LENGTH>().map(Self)
    }

    /// Parses an id; `None` if no task can have it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        is_random_id(&text, LENGTH).then_some(Self(text))
    }

    /// Returns the id as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A delegated task, and its form on the control socket and in the JSON of the command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    /// Grows with every task: the key of pages.
    #[serde(skip)]
    pub seq: i64,
    /// The key of the client that delegated it.
    #[serde(skip)]
    pub caller: String,
    /// The name that the client gives itself.
    #[serde(rename = "asked_by")]
    pub label: String,
    pub agent: String,
    /// The runner it waits for, then the one it runs on.
    pub runner: String,
    /// The text; in lists its first 400 characters.
    #[serde(rename = "task")]
    pub text: String,
    /// The requested folder, with links resolved.
    pub workdir: String,
    /// The machine that the folder is on, where several machines share the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    #[serde(rename = "status")]
    pub state: State,
    /// The position in the queue, 1 is next; only from `get`, `wait` and `delegate`, and only while queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Why nobody can claim it now, as a clause; only where it has a position, and does not just wait for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<String>,
    /// Its cancellation was requested, and it has not ended yet.
    pub cancelling: bool,
    pub created_at: Millis,
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
    /// The result of the hub's own checks, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verification>,
    /// How it ended; never in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<Outcome>>,
}

/// A machine with a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The id that the home of its hub keeps.
    pub id: String,
    /// The host name; empty if it is unknown.
    pub name: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { &self.id } else { &self.name })
    }
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    pub tasks: Vec<Task>,
    /// Tasks that pass the filter, on all pages.
    pub total: u64,
    /// The value of `before` for the next page; `None` on the last one.
    pub next: Option<i64>,
}

/// An event of a task's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// Counts from 1.
    pub seq: i64,
    pub at: Millis,
    #[serde(rename = "what")]
    pub kind: TaskEventKind,
}

/// The kind of an event, with its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskEventKind {
    /// A runner was started.
    Started {
        runner: String,
        attempt: i64,
    },
    /// A message of the agent.
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    CommandStarted {
        command: String,
    },
    CommandEnded {
        command: String,
        exit: Option<i32>,
    },
    ToolStarted {
        tool: String,
    },
    ToolEnded {
        tool: String,
        failed: bool,
    },
    /// A command or a tool that the runner did not let run.
    Denied {
        call: String,
    },
    FilesChanged {
        files: Vec<String>,
    },
    /// A warning or a retry of the runner. Of an earlier version, also a message of the hub.
    Notice {
        text: String,
    },
    HubNotice {
        text: String,
    },
    /// The hub starts a check.
    CheckStarted {
        command: String,
    },
    CheckEnded {
        command: String,
        passed: bool,
    },
}

impl TaskEventKind {
    /// Returns whether the hub saw or did this itself. Everything else is what the runner and its agent say.
    pub fn is_of_hub(&self) -> bool {
        matches!(
            self,
            Self::Started { .. }
                | Self::HubNotice { .. }
                | Self::CheckStarted { .. }
                | Self::CheckEnded { .. }
        )
    }

    /// Returns the name of the kind, as in its JSON.
    pub(crate) fn name(&self) -> String {
        let json = serde_json::to_value(self).unwrap_or_default();
        json["kind"].as_str().unwrap_or("notice").to_owned()
    }

    /// Returns one line for a progress message or a log.
    pub fn line(&self) -> String {
        match self {
            Self::Started { runner, attempt: 1 } => format!("{runner} starts"),
            Self::Started { runner, attempt } => format!("{runner} starts, attempt {attempt}"),
            Self::Text { text }
            | Self::Thinking { text }
            | Self::Notice { text }
            | Self::HubNotice { text } => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Self::CommandStarted { command } => format!("$ {command}"),
            Self::CommandEnded { command, exit: Some(0) } => format!("done: {command}"),
            Self::CommandEnded { command, exit: Some(code) } => format!("failed with {code}: {command}"),
            Self::CommandEnded { command, exit: None } => format!("ended: {command}"),
            Self::ToolStarted { tool } => format!("uses {tool}"),
            Self::ToolEnded { tool, failed: false } => format!("used {tool}"),
            Self::ToolEnded { tool, failed: true } => format!("{tool} failed"),
            Self::Denied { call } => format!("denied: {call}"),
            Self::FilesChanged { files } => format!("changed {}", files.join(", ")),
            Self::CheckStarted { command } => format!("checks: {command}"),
            Self::CheckEnded { command, passed: true } => format!("passed: {command}"),
            Self::CheckEnded { command, passed: false } => format!("failed: {command}"),
        }
    }
}
