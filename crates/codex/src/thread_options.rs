//! The options of a new thread.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

adjutant_base::named_enum! {
    /// The protocol of Codex that a session uses, named by its subcommand of Codex.
    Backend { AppServer = "app-server", McpServer = "mcp-server" }
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
