//! What a session is started with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which protocol of Codex is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Back {
    AppServer,
    McpServer,
}

impl Back {
    /// The command of Codex, and the word in a row.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AppServer => "app-server",
            Self::McpServer => "mcp-server",
        }
    }
}

/// The first prompt of a thread, and how the thread is to be; everything but the prompt may be left to Codex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) prompt: String,
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<String>,
    /// `read-only`, `workspace-write`, `danger-full-access`.
    pub(crate) sandbox: Option<String>,
    /// `untrusted`, `on-failure`, `on-request`, `never`; what a version knows differs.
    pub(crate) approval_policy: Option<String>,
    pub(crate) profile: Option<String>,
    /// Settings of Codex's own, by their dotted names.
    pub(crate) config: Map<String, Value>,
    pub(crate) base_instructions: Option<String>,
    pub(crate) developer_instructions: Option<String>,
    pub(crate) compact_prompt: Option<String>,
}
