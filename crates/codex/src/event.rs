//! The events of a session, in one vocabulary for both protocols.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Approval, Decider, Decision};
use super::patch::FileChange;
use super::rate_limits::RateLimits;

/// The events of one line of Codex, or of one command of Adjutant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventBatch {
    /// The thread that the line names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The notification, if the line was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<RawNotification>,
    /// The events in order; empty for a line that is not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<CodexEvent>,
}

impl EventBatch {
    /// Returns a batch of one [`CodexEvent::Notice`], which no line of Codex caused.
    pub(super) fn notice(level: Level, message: String) -> Self {
        Self { events: vec![CodexEvent::Notice { level, message }], ..Self::default() }
    }
}

/// A notification as the text log shows it: `[mcp METHOD] SUMMARY`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawNotification {
    pub method: String,
    /// The understood part of a `codex/event` message, otherwise the parameters as compact JSON; at most 512
    /// characters, for a reader. The events have the content.
    pub summary: String,
    /// The summary is only the beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// One event of a session.
#[expect(
    clippy::large_enum_variant,
    reason = "an event lives for one step; a box would cost an allocation for each"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum CodexEvent {
    /// The thread exists and takes prompts. It comes again when a turn changes the model or the effort.
    Ready(Ready),
    TurnStarted {
        turn: String,
    },
    TurnEnded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
        end: End,
        /// Why the turn failed, in Codex's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Codex added a text to the running turn, or refused it.
    Steered {
        /// Counts the steerings of this conversation from 1.
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
    /// Codex waits for a decision.
    ApprovalRequested {
        approval: Approval,
    },
    /// The approval is not pending: it was decided, or Codex withdrew it.
    ApprovalResolved {
        approval: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
        by: Decider,
    },
    /// The changes of the turn so far, as one diff.
    Diff {
        diff: String,
    },
    Usage(Usage),
    /// The rate limits of the account.
    Limits(RateLimits),
    /// An event of an agent that Codex started by itself, which works in another thread of the same process.
    SubAgent {
        thread: String,
        event: Box<CodexEvent>,
    },
    Notice {
        level: Level,
        message: String,
    },
    /// The session is over, because its process has ended.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

impl CodexEvent {
    /// Returns the item that a transcript shows for a failure; `None` for any other event.
    pub fn fault(&self) -> Option<ItemKind> {
        let error = |message: String| Some(ItemKind::Error { message });
        match self {
            Self::TurnEnded { end, message: Some(message), .. } => {
                error(format!("the turn {}: {message}", end.name()))
            }
            Self::TurnEnded { end: end @ (End::Interrupted | End::Failed), message: None, .. } => {
                error(format!("the turn was {}", end.name()))
            }
            Self::Notice { level: Level::Error, message } | Self::Closed { message: Some(message) } => {
                error(message.clone())
            }
            Self::Notice { level: Level::Warning, message } => {
                Some(ItemKind::Other { name: message.clone(), content: Value::Null })
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
            | Self::ApprovalRequested { .. }
            | Self::ApprovalResolved { .. }
            | Self::Diff { .. }
            | Self::Usage(_)
            | Self::Limits(_)
            | Self::SubAgent { .. } => None,
        }
    }
}

/// Returns true if a fault repeats the previous text `last`, because Codex often reports one twice.
pub fn repeats(fault: &str, last: &str) -> bool {
    !last.is_empty() && (fault.ends_with(last) || last.ends_with(fault))
}

/// The properties of a thread at its start, and again when a turn changes the model or the effort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort, if Codex or a turn names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The version of Codex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

adjutant_base::named_enum! {
    /// How a turn ended.
    End { Completed = "completed", Interrupted = "interrupted", Failed = "failed" }
}

impl End {
    /// Parses the word of app-server.
    pub(super) fn of_status(word: Option<&str>) -> Self {
        match word {
            Some("interrupted") => Self::Interrupted,
            Some("failed") => Self::Failed,
            _ => Self::Completed,
        }
    }
}

adjutant_base::named_enum! {
    /// Severity of a message from Codex itself.
    Level {
        Info = "info",
        Warning = "warning",
        Error = "error",
    }
}

/// Tokens of a thread so far, as Codex counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
    pub total: u64,
    /// Tokens in the context of the model, and how many fit; 0 if that is unknown.
    #[serde(default)]
    pub context: u64,
    #[serde(default)]
    pub window: u64,
}

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Codex's id for it, unique in its thread.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    pub state: ItemState,
    #[serde(flatten)]
    pub kind: ItemKind,
}

/// State of an item of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Running,
    Done,
    Failed,
    /// The user or a rule denied it.
    Declined,
}

impl ItemState {
    /// Parses a protocol's word. An unknown word is `Done`, because only ended items carry one.
    pub(super) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("inProgress" | "in_progress") => Self::Running,
            Some("failed") => Self::Failed,
            Some("declined") => Self::Declined,
            _ => Self::Done,
        }
    }
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    pub step: String,
    /// `pending`, `inProgress` or `completed`.
    pub status: String,
}

/// The kind of an item, with its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ItemKind {
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
        /// The command line in shell syntax.
        command: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
    },
    Patch {
        changes: Vec<FileChange>,
    },
    Tool {
        server: String,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// The agent's plan of the turn.
    Plan {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
        steps: Vec<PlanStep>,
    },
    Error {
        message: String,
    },
    /// A kind that this version does not know, with its content unchanged.
    Other {
        name: String,
        content: Value,
    },
}

impl ItemKind {
    /// Returns the word for rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Agent { .. } => "agent",
            Self::Reasoning { .. } => "reasoning",
            Self::Command { .. } => "command",
            Self::Patch { .. } => "patch",
            Self::Tool { .. } => "tool",
            Self::Plan { .. } => "plan",
            Self::Error { .. } => "error",
            Self::Other { .. } => "other",
        }
    }

    /// Returns the text that a search looks through.
    pub fn text(&self) -> String {
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
            Self::Plan { explanation, steps } => {
                let mark = |step: &PlanStep| match step.status.as_str() {
                    "completed" => 'x',
                    "inProgress" => '>',
                    _ => ' ',
                };
                let steps = steps.iter().map(|step| format!("[{}] {}", mark(step), step.step));
                explanation.clone().into_iter().chain(steps).collect::<Vec<_>>().join("\n")
            }
            Self::Error { message } => message.clone(),
            Self::Other { name, .. } => name.clone(),
        }
    }

    /// Appends text, if the kind has a text that grows.
    pub fn grow(&mut self, more: &str) {
        match self {
            Self::User { text } | Self::Agent { text } | Self::Reasoning { text } => text.push_str(more),
            Self::Command { output, .. } => output.push_str(more),
            Self::Plan { explanation, .. } => explanation.get_or_insert_default().push_str(more),
            Self::Patch { .. } | Self::Tool { .. } | Self::Error { .. } | Self::Other { .. } => {}
        }
    }
}
