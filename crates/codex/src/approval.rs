//! What Codex asks a person, as a value; how the answer looks is the back end's business.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::happened::Change;

/// A question of Codex that stops its turn until it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Approval {
    /// Ours: unique as long as this process lives.
    pub(crate) id: String,
    pub(crate) thread: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<String>,
    pub(crate) wants: Wants,
    /// Why, in the model's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What may be answered besides no.
    pub(crate) choices: Vec<Decision>,
}

/// What a person is to allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "wants")]
pub(crate) enum Wants {
    Command {
        /// The program and its arguments, exactly; one member where the back end gives only the shell's text.
        argv: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Patch {
        changes: Vec<Change>,
    },
    /// A form of an MCP server that the agent uses, or permission to call one of its tools.
    Elicitation {
        server: String,
        message: String,
        schema: Value,
    },
    /// Questions of the model.
    Input {
        questions: Vec<Question>,
    },
    /// Something newer than this program. It can be shown and denied, nothing else.
    Unknown {
        method: String,
        params: Value,
    },
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    Approve,
    /// This one, and the same again in this session.
    ApproveForSession,
    /// No; the turn goes on. The words reach the model where the back end can carry them.
    Deny {
        note: Option<String>,
    },
    /// No, and the turn ends.
    Abort,
    /// The content of a form, or the answers to questions by their id.
    Content(Value),
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Person,
    /// Nobody answered in time.
    Timeout,
    /// Codex took the question back, or its process ended.
    Codex,
    /// Nobody could be asked.
    Nobody,
}

/// A decision as it is kept with its thread: the content of an item of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) asked: Option<Approval>,
    pub(crate) decision: Option<Decision>,
    pub(crate) by: By,
}

impl Settled {
    /// Reads the content of an item; nothing for an item of another kind.
    pub(crate) fn read(content: &Value) -> Option<Self> {
        Self::deserialize(content).ok()
    }

    /// One line that says what was asked.
    pub(crate) fn line(&self) -> String {
        self.asked.as_ref().map_or_else(String::new, Approval::line)
    }

    /// Says what came of it, for a person.
    pub(crate) fn outcome(&self) -> String {
        outcome(self.decision.as_ref(), self.by)
    }
}

/// Says what came of a question, for a person.
pub(crate) fn outcome(decision: Option<&Decision>, by: By) -> String {
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
        By::Person => "by a person",
        By::Timeout => "when its time was over",
        By::Codex => "by Codex",
        By::Nobody => "for nobody could be asked",
    };
    format!("{what} ({who})")
}

impl Approval {
    /// Returns a command as a shell would take it; nothing for what is no command.
    pub(crate) fn command_line(&self) -> String {
        match &self.wants {
            Wants::Command { argv, .. } => shown(argv),
            Wants::Patch { .. } | Wants::Elicitation { .. } | Wants::Input { .. } | Wants::Unknown { .. } => {
                String::new()
            }
        }
    }

    /// One line that says what is asked.
    pub(crate) fn line(&self) -> String {
        match &self.wants {
            Wants::Command { argv, cwd } => {
                let place = cwd.as_deref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
                format!("run {}{place}", shown(argv))
            }
            Wants::Patch { changes } => {
                let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                format!("change {}", if files.is_empty() { "files".to_owned() } else { files.join(", ") })
            }
            Wants::Elicitation { server, message, .. } => format!("answer `{server}`: {message}"),
            Wants::Input { questions } => {
                questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join(" / ")
            }
            Wants::Unknown { method, .. } => format!("`{method}`, which this adjutant does not know"),
        }
    }
}

/// Writes an argument list as a shell would take it.
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
