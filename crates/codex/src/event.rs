//! What happens in a session, in one vocabulary for both back ends.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Approval, By, Decision};

/// Everything that one line of Codex said, or one act of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heard {
    /// Whose it is, where the line names a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<String>,
    /// The notification that the line was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notified: Option<Notified>,
    /// What it means, in order; nothing for what is not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) happened: Vec<Happened>,
}

/// A notification as the console shows it: `[mcp METHOD] SUMMARY`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Notified {
    pub(crate) method: String,
    /// The message of a `codex/event` as far as it is understood, else the parameters as compact JSON, cut.
    pub(crate) summary: String,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub(crate) enum Happened {
    /// The thread is there and takes prompts.
    Ready(Ready),
    TurnStarted {
        turn: String,
    },
    TurnEnded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
        end: End,
        /// Why it failed, in Codex's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Codex took what was to be put into the running turn, or says why not.
    Steered {
        /// Counts what was put in, from 1, in this conversation.
        number: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    ItemStarted {
        item: Item,
    },
    /// More of an item's text or output.
    ItemGrew {
        id: String,
        text: String,
    },
    ItemEnded {
        item: Item,
    },
    /// Codex waits for an answer.
    Asked {
        approval: Approval,
    },
    /// It waits no longer: somebody decided, or it does not want to know any more.
    Settled {
        approval: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
        by: By,
    },
    /// The changes of the turn so far, as one diff.
    Diff {
        diff: String,
    },
    Usage(Usage),
    Notice {
        level: Level,
        message: String,
    },
    /// The session is over: its process has ended.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

impl Happened {
    /// Returns what a transcript has to show of what went wrong, where something did.
    pub(crate) fn fault(&self) -> Option<Kind> {
        let error = |message: String| Some(Kind::Error { message });
        match self {
            Self::TurnEnded { end, message: Some(message), .. } => {
                error(format!("the turn {}: {message}", end.as_str()))
            }
            Self::TurnEnded { end: end @ (End::Interrupted | End::Failed), message: None, .. } => {
                error(format!("the turn was {}", end.as_str()))
            }
            Self::Notice { level: Level::Error, message } | Self::Closed { message: Some(message) } => {
                error(message.clone())
            }
            Self::Notice { level: Level::Warning, message } => {
                Some(Kind::Other { name: message.clone(), content: Value::Null })
            }
            Self::TurnEnded { end: End::Completed, message: None, .. }
            | Self::Notice { level: Level::Info, .. }
            | Self::Closed { message: None }
            | Self::Ready(_)
            | Self::TurnStarted { .. }
            | Self::Steered { .. }
            | Self::ItemStarted { .. }
            | Self::ItemGrew { .. }
            | Self::ItemEnded { .. }
            | Self::Asked { .. }
            | Self::Settled { .. }
            | Self::Diff { .. }
            | Self::Usage(_) => None,
        }
    }
}

/// Whether a fault says nothing that was not said right before it, as `last`: Codex often tells one twice.
pub(crate) fn is_told(fault: &str, last: &str) -> bool {
    !last.is_empty() && (fault.ends_with(last) || last.ends_with(fault))
}

/// What a thread is at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ready {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    /// Of Codex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Completed,
    Interrupted,
    Failed,
}

impl End {
    /// The word that stands in a row and on a page.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Info,
    Warning,
    Error,
}

/// Tokens of a thread so far, as Codex counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) total: u64,
}

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Codex's name for it, unique in its thread.
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    pub(crate) state: ItemState,
    #[serde(flatten)]
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemState {
    Running,
    Done,
    Failed,
    /// A person, or a rule, said no.
    Declined,
}

impl ItemState {
    /// Reads what a back end calls it; what is not known is done, for it is said at an item's end.
    pub(super) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("inProgress" | "in_progress") => Self::Running,
            Some("failed") => Self::Failed,
            Some("declined") => Self::Declined,
            _ => Self::Done,
        }
    }
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Kind {
    User {
        text: String,
    },
    Agent {
        text: String,
    },
    Reasoning {
        text: String,
    },
    Command {
        /// As a shell would take it.
        command: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
    },
    Patch {
        changes: Vec<Change>,
    },
    Tool {
        server: String,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Error {
        message: String,
    },
    /// Something newer than this program; kept as it came.
    Other {
        name: String,
        content: Value,
    },
}

impl Kind {
    /// The word that stands in a row.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Agent { .. } => "agent",
            Self::Reasoning { .. } => "reasoning",
            Self::Command { .. } => "command",
            Self::Patch { .. } => "patch",
            Self::Tool { .. } => "tool",
            Self::Error { .. } => "error",
            Self::Other { .. } => "other",
        }
    }

    /// What a search finds it by.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::User { text } | Self::Agent { text } | Self::Reasoning { text } => text.clone(),
            Self::Command { command, output, .. } => format!("{command}\n{output}"),
            Self::Patch { changes } => changes
                .iter()
                .map(|change| format!("{}\n{}", change.path, change.diff))
                .collect::<Vec<_>>()
                .join("\n"),
            Self::Tool { server, tool, arguments, result } => {
                format!("{server}.{tool} {arguments}\n{}", result.as_deref().unwrap_or_default())
            }
            Self::Error { message } => message.clone(),
            Self::Other { name, .. } => name.clone(),
        }
    }

    /// Takes more text at its end, as far as the kind has such a thing.
    pub(crate) fn grow(&mut self, more: &str) {
        match self {
            Self::User { text } | Self::Agent { text } | Self::Reasoning { text } => text.push_str(more),
            Self::Command { output, .. } => output.push_str(more),
            Self::Patch { .. } | Self::Tool { .. } | Self::Error { .. } | Self::Other { .. } => {}
        }
    }
}

/// One file of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) path: String,
    /// `add`, `delete`, `update`.
    pub(crate) how: String,
    /// A unified diff for an update, the content for the others.
    pub(crate) diff: String,
}
