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

/// A hook that runs when the user sends a prompt, or when the client needs a permission.
pub(super) struct Hook {
    pub(super) file: PathBuf,
    /// The path of the list of hooks for this event.
    pub(super) path: [&'static str; 2],
    /// The hub's element of that list.
    pub(super) element: Value,
    /// A further member that the file needs.
    pub(super) head: Option<(&'static str, Value)>,
}

/// The text of opencode's plugin, without the command that it runs.
const OPENCODE_PLUGIN: &str = include_str!("opencode_plugin.js");

/// Time of a hook that only reads files or asks the rules; it answers within milliseconds. After this time a client
/// continues without it.
const PROMPT_SECONDS: u32 = 5;

/// Time of a hook that asks the user; the hub waits less.
const ASK_SECONDS: u32 = 600;

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

    /// Returns its hooks: first the one for prompts, if a configuration file can define one that adds to the prompt, then those
    /// for permissions (`src/cli/hook/permission.rs`). (Cursor's can only stop a prompt; opencode's is [`Self::plugin`].)
    pub(super) fn hooks(self, folders: &ClientFolders, launch: &Launch) -> Vec<Hook> {
        let line = launch.hook_line(self.name());
        let (file, head, events): (_, _, &[(&'static str, u32)]) = match self {
            Self::ClaudeCode => (
                folders.claude.join("settings.json"),
                None,
                &[
                    ("UserPromptSubmit", PROMPT_SECONDS),
                    ("PermissionRequest", ASK_SECONDS),
                    ("PreToolUse", PROMPT_SECONDS),
                    ("PostToolUse", PROMPT_SECONDS),
                    ("PostToolUseFailure", PROMPT_SECONDS),
                ],
            ),
            Self::Codex => (
                folders.codex.join("hooks.json"),
                None,
                &[("UserPromptSubmit", PROMPT_SECONDS), ("PermissionRequest", ASK_SECONDS)],
            ),
            Self::Gemini => (
                folders.gemini.join("settings.json"),
                None,
                &[("BeforeAgent", PROMPT_SECONDS), ("BeforeTool", PROMPT_SECONDS)],
            ),
            Self::Copilot => (
                folders.copilot.join("hooks").join("adjutant.json"),
                Some(("version", json!(1))),
                &[("userPromptSubmitted", PROMPT_SECONDS), ("permissionRequest", ASK_SECONDS)],
            ),
            Self::ClaudeDesktop | Self::Cursor | Self::Opencode | Self::VsCode | Self::Zed => {
                return Vec::new();
            }
        };
        let element = |event: &str, seconds: u32| match self {
            // A report, for which the client does not wait.
            Self::ClaudeCode if event.starts_with("PostToolUse") => {
                json!({"hooks": [{"type": "command", "command": line, "timeout": seconds, "async": true}]})
            }
            Self::Copilot => json!({"type": "command", "bash": line, "timeoutSec": seconds}),
            Self::Gemini => {
                let command = json!({"name": "adjutant", "type": "command", "command": line, "timeout": seconds * 1000});
                json!({"hooks": [command]})
            }
            _ => json!({"hooks": [{"type": "command", "command": line, "timeout": seconds}]}),
        };
        let hook = |(event, seconds): &(&'static str, u32)| Hook {
            file: file.clone(),
            path: ["hooks", event],
            element: element(event, *seconds),
            head: head.clone(),
        };
        events.iter().map(hook).collect()
    }

    /// Returns the file of a program that asks for permissions in place of hooks, with its text.
    pub(super) fn plugin(self, folders: &ClientFolders, launch: &Launch) -> Option<(PathBuf, String)> {
        let command = format!("const COMMAND = {}\n", json!(launch.hook_words(self.name())));
        let text = OPENCODE_PLUGIN.replace("const COMMAND = []\n", &command);
        (self == Self::Opencode).then(|| (folders.opencode.join("plugins").join("adjutant.js"), text))
    }

    /// Returns advice for the user after the entry was written.
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
