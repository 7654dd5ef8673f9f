//! A task as the room's callers see it.

use std::fmt;

use super::receipt::Outcome;
use crate::store::Millis;
pub(crate) use crate::store::tasks::{Ending, Filter, State};

/// The name of a task: unguessable, short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TaskId(String);

/// Letters and digits that are not mistaken for each other.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of an id: 100 random bits.
const LENGTH: usize = 20;

impl TaskId {
    /// Makes a new one from the system's randomness.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; LENGTH];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()))
    }

    /// Takes what somebody wrote; `None` when no task can have that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        (text.len() == LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte))).then_some(Self(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A delegated task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    /// Grows with every task: the key of pages.
    pub(crate) seq: i64,
    /// The key of the client that asked for it.
    pub(crate) caller: String,
    /// What that client calls itself.
    pub(crate) label: String,
    pub(crate) agent: String,
    /// The runner it waits for, then the one it runs on.
    pub(crate) runner: String,
    /// The text; in lists its first 400 characters.
    pub(crate) text: String,
    /// The folder that was asked for, with links resolved.
    pub(crate) workdir: String,
    pub(crate) state: State,
    /// The place in the queue, 1 is next; only from `get`, `wait` and `delegate`, and only while queued.
    pub(crate) position: Option<u64>,
    /// Somebody asked for its end, and it has not ended yet.
    pub(crate) cancelling: bool,
    pub(crate) created_at: Millis,
    pub(crate) started_at: Option<Millis>,
    pub(crate) ended_at: Option<Millis>,
    /// How it ended; never in lists.
    pub(crate) outcome: Option<Box<Outcome>>,
}

/// A part of a list.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) tasks: Vec<Task>,
    /// Tasks that pass the filter, on all pages.
    pub(crate) total: u64,
    /// What to pass as `before` for the next page; `None` on the last.
    pub(crate) next: Option<i64>,
}

/// Something that happened in a task's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happened {
    /// Counts from 1.
    pub(crate) seq: i64,
    pub(crate) at: Millis,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum What {
    /// A runner was started.
    Started {
        runner: String,
        attempt: i64,
    },
    /// The agent said something.
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
    FilesChanged {
        files: Vec<String>,
    },
    /// A warning, a retry, or a word of the hub's own.
    Notice {
        text: String,
    },
    /// The hub runs a check.
    CheckStarted {
        command: String,
    },
    CheckEnded {
        command: String,
        passed: bool,
    },
}

impl What {
    /// Returns one line for a progress message or a log.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Started { runner, attempt: 1 } => format!("{runner} starts"),
            Self::Started { runner, attempt } => format!("{runner} starts, attempt {attempt}"),
            Self::Text { text } | Self::Thinking { text } | Self::Notice { text } => {
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            Self::CommandStarted { command } => format!("$ {command}"),
            Self::CommandEnded { command, exit: Some(0) } => format!("done: {command}"),
            Self::CommandEnded { command, exit: Some(code) } => format!("failed with {code}: {command}"),
            Self::CommandEnded { command, exit: None } => format!("ended: {command}"),
            Self::ToolStarted { tool } => format!("uses {tool}"),
            Self::ToolEnded { tool, failed: false } => format!("used {tool}"),
            Self::ToolEnded { tool, failed: true } => format!("{tool} failed"),
            Self::FilesChanged { files } => format!("changed {}", files.join(", ")),
            Self::CheckStarted { command } => format!("checks: {command}"),
            Self::CheckEnded { command, passed: true } => format!("passed: {command}"),
            Self::CheckEnded { command, passed: false } => format!("not passed: {command}"),
        }
    }
}
