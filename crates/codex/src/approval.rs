//! Approvals: what Codex asks of the user, and the decisions. The protocol's module encodes the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The folder in which the action happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The model's reason, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The possible decisions other than a denial.
    pub choices: Vec<Decision>,
    /// What [`Decision::ApproveForSession`] allows, in words; `None` if it is not a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_scope: Option<String>,
    /// What [`Decision::ApproveAlways`] allows, in words; `None` if it is not a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_scope: Option<String>,
    /// Members of the request that this version does not know, as they came: each may widen what is allowed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub others: Map<String, Value>,
}

/// The action that the user may allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ApprovalKind {
    Command {
        /// The exact program and arguments, not empty; a single element if the protocol gives only a shell line.
        argv: Vec<String>,
    },
    /// A connection to a host, which a command needs.
    Network {
        host: String,
        protocol: String,
        /// The command; may be empty.
        argv: Vec<String>,
    },
    Patch {
        changes: Vec<FileChange>,
        /// The folder below which everything may be written until the session ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_root: Option<String>,
    },
    /// A question of an MCP server that the agent uses: a form, an address to open, or a plain confirmation.
    Elicitation {
        server: String,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        schema: Value,
    },
    /// A call of a tool of an MCP server.
    ToolCall { server: String, tool: String, message: String, arguments: Value },
    /// Permissions beyond the sandbox: folders and the network, in Codex's form.
    Permissions { permissions: Value },
    /// Questions of the model.
    Input { questions: Vec<InputQuestion> },
    /// A request that this version does not know. It can be shown and denied only.
    Unknown { method: String, params: Value },
}

/// The part of a request that a detail belongs to, in the order in which a user reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The action, with everything that widens it.
    Action,
    /// The folder in which it happens.
    Place,
    /// The scopes of further answers, and the action once more in another form.
    Rest,
}

/// A fact of an approval, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detail {
    pub part: Part,
    pub label: &'static str,
    /// As Codex sent it; may hold any character.
    pub text: String,
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputQuestion {
    pub id: String,
    pub text: String,
    pub options: Vec<String>,
    /// Whether a text that is not an option answers it.
    #[serde(default)]
    pub other: bool,
    /// Whether its answer is neither shown nor stored.
    #[serde(default)]
    pub secret: bool,
}

/// The answer to an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    /// Approves this action and the same action for the rest of the session.
    ApproveForSession,
    /// Approves, and Codex never asks again for what [`Approval::always_scope`] says.
    ApproveAlways,
    /// Denies; the turn continues. The note reaches the model if the protocol can carry it.
    Deny {
        note: Option<String>,
    },
    /// Denies, and ends the turn.
    Abort,
    /// The content of a form, or the answers to questions by their id.
    Content(Value),
}

adjutant_base::named_enum! {
    /// The source of the decision on an approval.
    Decider {
        User = "user",
        /// The user did not answer in time.
        Timeout = "timeout",
        /// Codex withdrew the approval, or its process ended.
        Codex = "codex",
        /// No user could be asked.
        NotAsked = "nobody",
    }
}

/// A decision as it is stored with its thread: the content of a separate item.
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
    let result = match decision {
        Some(Decision::Approve) => "approved".to_owned(),
        Some(Decision::ApproveForSession) => "approved for this session".to_owned(),
        Some(Decision::ApproveAlways) => "approved, never asked again".to_owned(),
        Some(Decision::Deny { note: Some(note) }) => format!("denied: {note}"),
        Some(Decision::Deny { note: None }) => "denied".to_owned(),
        Some(Decision::Abort) => "denied, and the turn stopped".to_owned(),
        Some(Decision::Content(_)) => "answered".to_owned(),
        None => "withdrawn".to_owned(),
    };
    let decider = match by {
        Decider::User => "by a user",
        Decider::Timeout => "because it timed out",
        Decider::Codex => "by Codex",
        Decider::NotAsked => "because no user could be asked",
    };
    format!("{result} ({decider})")
}

impl ApprovalKind {
    /// Returns the possible decisions other than a denial, and the scope of an approval for the session.
    pub(super) fn choices(&self) -> (Vec<Decision>, Option<String>) {
        let scope = match self {
            Self::Command { .. } => "the same command in the same folder".to_owned(),
            Self::Network { host, protocol, .. } => format!("every connection to {host} over {protocol}"),
            Self::Patch { .. } => "every further change of these files".to_owned(),
            Self::Permissions { .. } => "these permissions for every command".to_owned(),
            Self::Elicitation { .. } if self.is_form() => return (Vec::new(), None),
            Self::Elicitation { .. } | Self::ToolCall { .. } => return (vec![Decision::Approve], None),
            Self::Input { .. } | Self::Unknown { .. } => return (Vec::new(), None),
        };
        let choices = vec![Decision::Approve, Decision::ApproveForSession];
        (choices, Some(format!("{scope}, until this Codex session ends")))
    }

    /// Returns true if the answer is the content of a form, so that a plain yes does not answer it.
    pub fn is_form(&self) -> bool {
        match self {
            Self::Elicitation { schema, .. } => {
                schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
            }
            Self::Input { .. } => true,
            Self::Command { .. }
            | Self::Network { .. }
            | Self::Patch { .. }
            | Self::ToolCall { .. }
            | Self::Permissions { .. }
            | Self::Unknown { .. } => false,
        }
    }
}

impl Approval {
    /// Returns true if this decision is possible.
    pub fn permits(&self, decision: &Decision) -> bool {
        match decision {
            Decision::Approve | Decision::ApproveForSession | Decision::ApproveAlways => {
                self.choices.contains(decision)
            }
            Decision::Deny { .. } | Decision::Abort => true,
            Decision::Content(_) => self.kind.is_form(),
        }
    }

    /// Returns a title for the user.
    pub fn title(&self) -> String {
        match &self.kind {
            ApprovalKind::Command { .. } => "Codex wants to run a command".to_owned(),
            ApprovalKind::Network { .. } => "Codex wants to connect to a host".to_owned(),
            ApprovalKind::Patch { .. } => "Codex wants to change files".to_owned(),
            ApprovalKind::Elicitation { server, url: None, .. } => format!("`{server}` asks through Codex"),
            ApprovalKind::Elicitation { server, .. } => format!("`{server}` wants you to open an address"),
            ApprovalKind::ToolCall { server, .. } => format!("Codex wants to call a tool of `{server}`"),
            ApprovalKind::Permissions { .. } => "Codex wants more permissions".to_owned(),
            ApprovalKind::Input { .. } => "Codex asks".to_owned(),
            ApprovalKind::Unknown { .. } => "Codex asks something unknown".to_owned(),
        }
    }

    /// Returns everything that an approval allows, except for the files of a patch, in the order of the parts.
    pub fn details(&self) -> Vec<Detail> {
        let mut details = Vec::new();
        let mut add_to = |part, label, text: &str| {
            details.push(Detail { part, label, text: text.to_owned() });
        };
        let mut add = |label, text: &str| add_to(Part::Action, label, text);
        match &self.kind {
            ApprovalKind::Command { argv } => {
                add("command", &shell_line(argv));
            }
            ApprovalKind::Network { host, protocol, argv } => {
                add("host", host);
                add("protocol", protocol);
                if !argv.is_empty() {
                    add("command", &shell_line(argv));
                }
            }
            ApprovalKind::Patch { grant_root, .. } => {
                if let Some(root) = grant_root {
                    add("write access until this Codex session ends", root);
                }
            }
            ApprovalKind::Elicitation { url, .. } => {
                if let Some(url) = url {
                    add("address", url);
                }
            }
            ApprovalKind::ToolCall { server, tool, arguments, .. } => {
                add("tool", &format!("{server}.{tool}"));
                add("arguments", &format!("{arguments:#}"));
            }
            ApprovalKind::Permissions { permissions } => add("permissions", &format!("{permissions:#}")),
            ApprovalKind::Input { .. } => {}
            ApprovalKind::Unknown { method, params } => {
                add("request", method);
                add("content", &format!("{params:#}"));
            }
        }
        for (name, value) in &self.others {
            add("also", &format!("{name}: {value:#}"));
        }
        if let Some(folder) = &self.folder {
            add_to(Part::Place, "folder", folder);
        }
        if let ApprovalKind::Command { argv } = &self.kind
            && argv.len() > 1
        {
            add_to(Part::Rest, "arguments", &Value::from(argv.as_slice()).to_string());
        }
        if let Some(scope) = &self.session_scope {
            add_to(Part::Rest, "for this session", scope);
        }
        if let Some(scope) = &self.always_scope {
            add_to(Part::Rest, "never asked again", scope);
        }
        details
    }

    /// Returns the words of the asker: they describe the action, and may be wrong.
    pub fn words(&self) -> Vec<&str> {
        let mut words = match &self.kind {
            ApprovalKind::Elicitation { message, .. } | ApprovalKind::ToolCall { message, .. } => {
                vec![message.as_str()]
            }
            ApprovalKind::Input { questions } => {
                questions.iter().map(|question| question.text.as_str()).collect()
            }
            ApprovalKind::Command { .. }
            | ApprovalKind::Network { .. }
            | ApprovalKind::Patch { .. }
            | ApprovalKind::Permissions { .. }
            | ApprovalKind::Unknown { .. } => Vec::new(),
        };
        words.extend(self.reason.as_deref());
        words
    }

    /// Returns the files of a patch.
    pub fn changes(&self) -> &[FileChange] {
        if let ApprovalKind::Patch { changes, .. } = &self.kind { changes } else { &[] }
    }

    /// Returns a summary of the request in one line.
    pub fn line(&self) -> String {
        let mut line = match &self.kind {
            ApprovalKind::Command { argv } => format!("run {}", shell_line(argv)),
            ApprovalKind::Network { host, protocol, argv } => {
                format!("connect to {host} over {protocol} for {}", shell_line(argv))
            }
            ApprovalKind::Patch { changes, grant_root } => {
                let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                let root = grant_root.iter().map(|root| format!("; write below {root}"));
                format!("change {}{}", files.join(", "), root.collect::<String>())
            }
            ApprovalKind::Elicitation { server, message, url: None, .. } => {
                format!("answer `{server}`: {message}")
            }
            ApprovalKind::Elicitation { server, message, url: Some(url), .. } => {
                format!("open {url} for `{server}`: {message}")
            }
            ApprovalKind::ToolCall { server, tool, arguments, .. } => {
                format!("call {server}.{tool} {arguments}")
            }
            ApprovalKind::Permissions { permissions } => format!("get the permissions {permissions}"),
            ApprovalKind::Input { .. } => self.words().join(" / "),
            ApprovalKind::Unknown { method, params } => {
                format!("`{method}`, which this version does not know: {params}")
            }
        };
        if let (ApprovalKind::Command { .. } | ApprovalKind::Network { .. }, Some(folder)) =
            (&self.kind, &self.folder)
        {
            line += " in ";
            line += folder;
        }
        for (name, value) in &self.others {
            line.extend([", ", name, ": ", &value.to_string()]);
        }
        line
    }
}

/// Quotes an argument list for a shell.
pub fn shell_line(argv: &[String]) -> String {
    if let [line] = argv {
        return line.clone();
    }
    let quoted = argv.iter().map(|word| {
        let needs_no_quotes = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
        if !word.is_empty() && word.chars().all(needs_no_quotes) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
