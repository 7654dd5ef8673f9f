//! The supported clients: where each keeps its servers and hooks.
//!
//! Paths and shapes are those that the clients' own `mcp add` writes, or their documentation where they have none; what
//! could be run was run (`tests/it/install/real.rs`).

use std::path::PathBuf;

use serde_json::{Value, json};

use super::launch::Launch;
use adjutant_base::config::client_dirs::ClientFolders;
use adjutant_base::config::env;

/// A program whose configuration can hold our server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Copilot,
    Cursor,
    Gemini,
    Opencode,
    VsCode,
    Zed,
}

/// The hook that runs when the user sends a prompt.
pub(super) struct Hook {
    pub(super) file: PathBuf,
    /// Where the list of hooks for this event stands.
    pub(super) path: [&'static str; 2],
    /// Our element of that list.
    pub(super) element: Value,
    /// What the file has to say besides.
    pub(super) head: Option<(&'static str, Value)>,
}

impl Client {
    pub(crate) const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Copilot,
        Self::Cursor,
        Self::Gemini,
        Self::Opencode,
        Self::VsCode,
        Self::Zed,
    ];

    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::VsCode => "vscode",
            Self::Zed => "zed",
        }
    }

    /// The name that its makers gave it.
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

    /// Whether this person has it: its program is on the `PATH`, or it has left its files here.
    pub(crate) fn is_here(self, folders: &ClientFolders) -> bool {
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

    /// The files that may hold its servers, the one for a new entry first. Never empty.
    pub(super) fn servers_files(self, folders: &ClientFolders) -> Vec<PathBuf> {
        let usual = match self {
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
                // It reads both; a new entry goes where comments may stand, if that is there.
                let both = ["opencode.jsonc", "opencode.json"].map(|name| folders.opencode.join(name));
                let here: Vec<_> = both.iter().filter(|file| file.exists()).cloned().collect();
                if !here.is_empty() {
                    return here;
                }
                let [_, plain] = both;
                plain
            }
            Self::VsCode => {
                let here: Vec<_> = folders.vscode.iter().filter(|user| user.exists()).collect();
                let users = if here.is_empty() { vec![&folders.vscode[0]] } else { here };
                return users.into_iter().map(|user| user.join("mcp.json")).collect();
            }
            Self::Zed => folders.zed.join("settings.json"),
        };
        vec![usual]
    }

    /// Whether each of [`Self::servers_files`] belongs to a program of its own, so that each needs our entry.
    pub(super) fn has_siblings(self) -> bool {
        self == Self::VsCode
    }

    /// The member that holds its servers; for Codex, a table.
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

    /// Its hook for prompts, where a configuration file can say one that may add to the prompt. (Cursor's may only
    /// stop it; opencode's is a program of its own.)
    pub(super) fn hook(self, folders: &ClientFolders, launch: &Launch) -> Option<Hook> {
        let line = launch.hook_line(self.name());
        // Seconds. The hook answers within milliseconds; after this time a client continues without it.
        let timeout = 5;
        let command = json!({"type": "command", "command": line, "timeout": timeout});
        let (file, path, element, head) = match self {
            Self::ClaudeCode => (
                folders.claude.join("settings.json"),
                ["hooks", "UserPromptSubmit"],
                json!({"hooks": [command]}),
                None,
            ),
            Self::Codex => (
                folders.codex.join("hooks.json"),
                ["hooks", "UserPromptSubmit"],
                json!({"hooks": [command]}),
                None,
            ),
            Self::Gemini => {
                let command = json!({"name": "adjutant", "type": "command", "command": line, "timeout": timeout * 1000});
                (
                    folders.gemini.join("settings.json"),
                    ["hooks", "BeforeAgent"],
                    json!({"hooks": [command]}),
                    None,
                )
            }
            Self::Copilot => {
                let command = json!({"type": "command", "bash": line, "timeoutSec": timeout});
                let file = folders.copilot.join("hooks").join("adjutant.json");
                (file, ["hooks", "userPromptSubmitted"], command, Some(("version", json!(1))))
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Opencode | Self::VsCode | Self::Zed => return None,
        };
        Some(Hook { file, path, element, head })
    }

    /// What the person should know once the entry stands there.
    pub(super) fn after(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "a running Claude Code may overwrite its file: restart it, and check that the entry is still there"
            }
            Self::Codex => "Codex runs a new hook only after you have reviewed it; it asks when it starts",
            Self::ClaudeDesktop => "quit Claude Desktop and start it again",
            Self::Gemini => "Gemini CLI starts no server in a folder that you have not trusted",
            Self::Copilot | Self::Cursor | Self::Opencode => "it is there in the next session",
            Self::VsCode => "VS Code asks whether you trust the server when it first starts it",
            Self::Zed => "Zed starts it at once",
        }
    }
}
