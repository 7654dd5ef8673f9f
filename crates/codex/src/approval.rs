//! Approvals: what Codex asks of the user, and the decisions. The protocol's module encodes the answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::patch::FileChange;

/// A question of Codex that stops its turn until it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Assigned by this process, and unique in it.
    pub id: String,
    pub thread: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The item that needs the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    pub kind: ApprovalKind,
    /// The model's reason, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decisions that are possible besides a denial.
    pub choices: Vec<Decision>,
}

/// The action that the user may allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ApprovalKind {
    Command {
        /// The exact program and arguments; a single element if the protocol gives only a shell line.
        argv: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Patch {
        changes: Vec<FileChange>,
    },
    /// A form of an MCP server that the agent uses, or permission to call one of its tools.
    Elicitation {
        server: String,
        message: String,
        schema: Value,
    },
    /// Questions of the model.
    Input {
        questions: Vec<InputQuestion>,
    },
    /// A request that this version does not know. It can be shown and denied only.
    Unknown {
        method: String,
        params: Value,
    },
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputQuestion {
    pub id: String,
    pub text: String,
    pub options: Vec<String>,
}

/// The answer to an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    /// Approves this action and the same action for the rest of the session.
    ApproveForSession,
    /// Denies; the turn continues. The note reaches the model if the protocol can carry it.
    Deny {
        note: Option<String>,
    },
    /// Denies, and ends the turn.
    Abort,
    /// The content of a form, or the answers to questions by their id.
    Content(Value),
}

/// What decided an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    Person,
    /// Nobody answered in time.
    Timeout,
    /// Codex withdrew the approval, or its process ended.
    Codex,
    /// Nobody could be asked.
    Nobody,
}

/// A decision as it is stored with its thread: the content of an item of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedApproval {
    pub asked: Option<Approval>,
    pub decision: Option<Decision>,
    pub by: Decider,
}

impl ResolvedApproval {
    /// Parses the content of an item; `None` for an item of another kind.
    pub fn read(content: &Value) -> Option<Self> {
        Self::deserialize(content).ok()
    }

    /// Returns a summary of the approval in one line.
    pub fn line(&self) -> String {
        self.asked.as_ref().map_or_else(String::new, Approval::line)
    }

    /// Returns the result in words, for the user.
    pub fn outcome(&self) -> String {
        outcome(self.decision.as_ref(), self.by)
    }
}

/// Returns the result of an approval in words, for the user.
pub fn outcome(decision: Option<&Decision>, by: Decider) -> String {
    let what = match decision {
        Some(Decision::Approve) => "approved".to_owned(),
        Some(Decision::ApproveForSession) => "approved for this session".to_owned(),
        Some(Decision::Deny { note: Some(note) }) => format!("denied: {note}"),
        Some(Decision::Deny { note: None }) => "denied".to_owned(),
        Some(Decision::Abort) => "denied, and the turn stopped".to_owned(),
        Some(Decision::Content(_)) => "answered".to_owned(),
        None => "taken back".to_owned(),
    };
    let who = match by {
        Decider::Person => "by a user",
        Decider::Timeout => "when its time was over",
        Decider::Codex => "by Codex",
        Decider::Nobody => "for nobody could be asked",
    };
    format!("{what} ({who})")
}

impl Approval {
    /// Returns the command in shell syntax; an empty text for any other kind.
    pub fn command_line(&self) -> String {
        match &self.kind {
            ApprovalKind::Command { argv, .. } => shown(argv),
            ApprovalKind::Patch { .. }
            | ApprovalKind::Elicitation { .. }
            | ApprovalKind::Input { .. }
            | ApprovalKind::Unknown { .. } => String::new(),
        }
    }

    /// Returns a summary of the request in one line.
    pub fn line(&self) -> String {
        match &self.kind {
            ApprovalKind::Command { argv, cwd } => {
                let place = cwd.as_deref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
                format!("run {}{place}", shown(argv))
            }
            ApprovalKind::Patch { changes } => {
                let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                format!("change {}", if files.is_empty() { "files".to_owned() } else { files.join(", ") })
            }
            ApprovalKind::Elicitation { server, message, .. } => format!("answer `{server}`: {message}"),
            ApprovalKind::Input { questions } => {
                questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join(" / ")
            }
            ApprovalKind::Unknown { method, .. } => format!("`{method}`, which this adjutant does not know"),
        }
    }
}

/// Quotes an argument list for a shell.
pub(super) fn shown(argv: &[String]) -> String {
    if let [line] = argv {
        return line.clone();
    }
    let quoted = argv.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
