//! The options of a new thread.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The protocol of Codex that a session uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    AppServer,
    McpServer,
}

impl Backend {
    /// Returns the subcommand of Codex, which is also the word in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AppServer => "app-server",
            Self::McpServer => "mcp-server",
        }
    }
}

/// The first prompt of a thread, and its options. Everything but the prompt may be left to Codex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadOptions {
    pub prompt: String,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// `read-only`, `workspace-write`, `danger-full-access`.
    pub sandbox: Option<String>,
    /// `untrusted`, `on-failure`, `on-request`, `never`; the versions of Codex know different ones.
    pub approval_policy: Option<String>,
    pub profile: Option<String>,
    /// Settings of Codex itself, by their dotted names.
    pub config: Map<String, Value>,
    pub base_instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub compact_prompt: Option<String>,
}
