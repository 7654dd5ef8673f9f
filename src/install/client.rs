//! The supported clients: where each keeps its servers and hooks.
//!
//! Paths and shapes are those that `mcp add` of the clients writes, else those of their documentation. The tests run the real
//! clients where possible (`tests/it/install/real_clients.rs`).

use std::path::PathBuf;

use serde_json::{Value, json};

use super::launch::Launch;
use adjutant_base::config::client_dirs::ClientFolders;
use adjutant_base::config::env;

adjutant_base::named_enum! {
    /// A program with the hub in its configuration.
    Client {
        ClaudeCode = "claude",
        ClaudeDesktop = "claude-desktop",
        Codex = "codex",
        Copilot = "copilot",
        Cursor = "cursor",
        Gemini = "gemini",
        Opencode = "opencode",
        VsCode = "vscode",
        Zed = "zed",
    }
}

/// The hook that runs when the user sends a prompt.
pub(super) struct Hook {
    pub(super) file: PathBuf,
    /// The path of the list of hooks for this event.
    pub(super) path: [&'static str; 2],
    /// The hub's element of that list.
    pub(super) element: Value,
    /// A further member that the file needs.
    pub(super) head: Option<(&'static str, Value)>,
}

impl Client {
    /// Returns the name in texts.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::VsCode => "VS Code",
            Self::Zed => "Zed",
        }
    }

    /// Returns whether the user has it: its program is on the `PATH`, or its files exist.
    pub(crate) fn is_installed(self, folders: &ClientFolders) -> bool {
        let (program, places): (_, Vec<&PathBuf>) = match self {
            Self::ClaudeCode => (Some("claude"), vec![&folders.claude, &folders.claude_state]),
            Self::ClaudeDesktop => (None, vec![&folders.claude_desktop]),
            Self::Codex => (Some("codex"), vec![&folders.codex]),
            Self::Copilot => (Some("copilot"), vec![&folders.copilot]),
            Self::Cursor => (Some("cursor"), vec![&folders.cursor]),
            Self::Gemini => (Some("gemini"), vec![&folders.gemini]),
            Self::Opencode => (Some("opencode"), vec![&folders.opencode]),
            Self::VsCode => (Some("code"), folders.vscode.iter().collect()),
            Self::Zed => (Some("zed"), vec![&folders.zed]),
        };
        program.is_some_and(|program| env::find_in_path(program).is_some())
            || places.iter().any(|place| place.exists())
    }

    /// Returns the files that may have its servers, the one for a new entry first. Never empty.
    pub(super) fn servers_files(self, folders: &ClientFolders) -> Vec<PathBuf> {
        let file = match self {
            Self::ClaudeCode => folders.claude_state.clone(),
            Self::ClaudeDesktop => folders.claude_desktop.join("claude_desktop_config.json"),
            Self::Codex => folders.codex.join("config.toml"),
            Self::Copilot => folders.copilot.join("mcp-config.json"),
            Self::Cursor => folders.cursor.join("mcp.json"),
            Self::Gemini => folders.gemini.join("settings.json"),
            Self::Opencode => {
                if let Some(file) = &folders.opencode_file {
                    return vec![file.clone()];
                }
                // It reads both files; a new entry goes into the one that allows comments, if it exists.
                let both = ["opencode.jsonc", "opencode.json"].map(|name| folders.opencode.join(name));
                let existing: Vec<_> = both.iter().filter(|file| file.exists()).cloned().collect();
                if !existing.is_empty() {
                    return existing;
                }
                let [_, json] = both;
                json
            }
            Self::VsCode => {
                let existing: Vec<_> = folders.vscode.iter().filter(|user| user.exists()).collect();
                let users = if existing.is_empty() { vec![&folders.vscode[0]] } else { existing };
                return users.into_iter().map(|user| user.join("mcp.json")).collect();
            }
            Self::Zed => folders.zed.join("settings.json"),
        };
        vec![file]
    }

    /// Returns whether each of [`Self::servers_files`] belongs to a separate program, so that each needs the entry.
    pub(super) fn has_siblings(self) -> bool {
        self == Self::VsCode
    }

    /// Returns the member with its servers; for Codex, a table.
    pub(super) fn servers_key(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Copilot | Self::Cursor | Self::Gemini => {
                "mcpServers"
            }
            Self::Codex => "mcp_servers",
            Self::Opencode => "mcp",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
        }
    }

    /// Returns its hook for prompts, if a configuration file can define one that adds to the prompt. (Cursor's can only stop
    /// it; opencode's is a plugin.)
    pub(super) fn hook(self, folders: &ClientFolders, launch: &Launch) -> Option<Hook> {
        let line = launch.hook_line(self.name());
        // Seconds. The hook answers within milliseconds; after this time a client continues without it.
        let timeout = 5;
        let command = json!({"type": "command", "command": line, "timeout": timeout});
        let (file, event, element, head) = match self {
            Self::ClaudeCode => {
                (folders.claude.join("settings.json"), "UserPromptSubmit", json!({"hooks": [command]}), None)
            }
            Self::Codex => {
                (folders.codex.join("hooks.json"), "UserPromptSubmit", json!({"hooks": [command]}), None)
            }
            Self::Gemini => {
                let command = json!({"name": "adjutant", "type": "command", "command": line, "timeout": timeout * 1000});
                (folders.gemini.join("settings.json"), "BeforeAgent", json!({"hooks": [command]}), None)
            }
            Self::Copilot => {
                let command = json!({"type": "command", "bash": line, "timeoutSec": timeout});
                let file = folders.copilot.join("hooks").join("adjutant.json");
                (file, "userPromptSubmitted", command, Some(("version", json!(1))))
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Opencode | Self::VsCode | Self::Zed => return None,
        };
        Some(Hook { file, path: ["hooks", event], element, head })
    }

    /// Returns what the user should know after the entry was written.
    pub(super) fn after(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "a running Claude Code may overwrite its file: restart it, and check that the entry is still there"
            }
            Self::Codex => "Codex runs a new hook only after you have reviewed it; it asks when it starts",
            Self::ClaudeDesktop => "quit Claude Desktop and start it again",
            Self::Gemini => "Gemini CLI starts servers only in folders that you have trusted",
            Self::Copilot | Self::Cursor | Self::Opencode => "the next session has the hub",
            Self::VsCode => "VS Code asks whether you trust the server when it first starts it",
            Self::Zed => "Zed starts the hub's server at once",
        }
    }
}
