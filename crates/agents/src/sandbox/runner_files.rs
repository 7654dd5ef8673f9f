//! Files in the home that a runner's program needs: the folders of its login and its sessions, which it writes, and its
//! configuration in them, which can start programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::runner::Runner;

/// The files of one runner.
#[derive(Debug, Default)]
pub(super) struct RunnerFiles {
    /// Folders that the program may write.
    pub(super) folders: Vec<PathBuf>,
    /// Files of its configuration, of which each run gets a copy, because the program writes them at every start.
    pub(super) copied: Vec<PathBuf>,
    /// A folder of its configuration, in which new files exist for the run alone, because the program makes some.
    pub(super) private: Option<PathBuf>,
}

/// Names of configuration in [`RunnerFiles::folders`] that stays read-only, of all runners.
pub(super) const CONFIGURATION: &[&str] = &[
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "GEMINI.md",
    "agents",
    "commands",
    "config.toml",
    "copilot-instructions.md",
    "extensions",
    "hooks",
    "hooks.json",
    "lsp-config.json",
    "mcp-config.json",
    "output-styles",
    "plugins",
    "policies",
    "prompts",
    "rules",
    "settings.json",
    "settings.local.json",
    "skills",
    "trustedFolders.json",
];

/// Returns the files of `runner` in a run with the environment `env`.
pub(super) fn files(runner: &Runner, env: &[(OsString, OsString)]) -> RunnerFiles {
    let get = |wanted: &str| {
        let value = env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| PathBuf::from(value));
        value.filter(|path| path.is_absolute())
    };
    let Some(home) = get("HOME") else { return RunnerFiles::default() };
    let folder = |variable: &str, usual: &str| get(variable).unwrap_or_else(|| home.join(usual));
    let only = |folder: PathBuf| RunnerFiles { folders: vec![folder], ..RunnerFiles::default() };
    match runner {
        Runner::Codex => only(folder("CODEX_HOME", ".codex")),
        Runner::Copilot => {
            let own = folder("COPILOT_HOME", ".copilot");
            // It unpacks itself into its cache at the first start.
            let cache = folder("XDG_CACHE_HOME", ".cache").join("copilot");
            RunnerFiles {
                copied: vec![own.join("config.json")],
                folders: vec![own, cache],
                ..RunnerFiles::default()
            }
        }
        Runner::Claude => {
            let state = get("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone()).join(".claude.json");
            RunnerFiles { copied: vec![state], ..only(folder("CLAUDE_CONFIG_DIR", ".claude")) }
        }
        Runner::Gemini => only(folder("GEMINI_CLI_HOME", "").join(".gemini")),
        Runner::Opencode => {
            let own = |variable: &str, usual: &str| folder(variable, usual).join("opencode");
            let folders = [
                own("XDG_DATA_HOME", ".local/share"),
                own("XDG_STATE_HOME", ".local/state"),
                own("XDG_CACHE_HOME", ".cache"),
            ];
            let private = Some(own("XDG_CONFIG_HOME", ".config"));
            RunnerFiles { folders: folders.to_vec(), private, ..RunnerFiles::default() }
        }
        Runner::Custom(_) => RunnerFiles::default(),
    }
}

/// Returns the paths of configuration in `folder` that exist.
pub(super) fn configuration(folder: &Path) -> impl Iterator<Item = PathBuf> {
    CONFIGURATION.iter().map(|name| folder.join(name)).filter(|path| path.exists())
}
