//! Configuration folders of other programs: their own variables first, then the platform's default.

use std::path::PathBuf;

use super::env;

/// The folders that the supported clients read, whether they exist or not.
#[derive(Clone, Debug)]
pub struct ClientFolders {
    /// `$CLAUDE_CONFIG_DIR`, else `~/.claude`: the folder of `settings.json`.
    pub claude: PathBuf,
    /// `.claude.json`, the file with the MCP servers: in `$CLAUDE_CONFIG_DIR` if it is set, else in the home.
    pub claude_state: PathBuf,
    /// The folder of the Claude desktop application.
    pub claude_desktop: PathBuf,
    /// `$CODEX_HOME`, else `~/.codex`.
    pub codex: PathBuf,
    /// `$COPILOT_HOME`, else `~/.copilot`.
    pub copilot: PathBuf,
    pub cursor: PathBuf,
    /// `.gemini` in `$GEMINI_CLI_HOME`, else in the home.
    pub gemini: PathBuf,
    /// `$OPENCODE_CONFIG_DIR`, else `opencode` in the platform-independent configuration folder.
    pub opencode: PathBuf,
    /// `$OPENCODE_CONFIG`: one file that wins over those of the folder.
    pub opencode_file: Option<PathBuf>,
    /// The `User` folders of VS Code and its variants, the default first.
    pub vscode: [PathBuf; 3],
    pub zed: PathBuf,
}

impl ClientFolders {
    /// Reads the environment; `None` without a home.
    pub fn from_env() -> Option<Self> {
        let home = env::user_home()?;
        let xdg = env::path("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let applications = if cfg!(target_os = "macos") {
            home.join("Library").join("Application Support")
        } else {
            xdg.clone()
        };
        let claude = env::path("CLAUDE_CONFIG_DIR");
        let code = |name: &str| applications.join(name).join("User");
        Some(Self {
            claude_state: claude.as_ref().unwrap_or(&home).join(".claude.json"),
            claude: claude.unwrap_or_else(|| home.join(".claude")),
            claude_desktop: applications.join("Claude"),
            codex: env::path("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            copilot: env::path("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            cursor: home.join(".cursor"),
            gemini: env::path("GEMINI_CLI_HOME").unwrap_or_else(|| home.clone()).join(".gemini"),
            opencode: env::path("OPENCODE_CONFIG_DIR").unwrap_or_else(|| xdg.join("opencode")),
            opencode_file: env::path("OPENCODE_CONFIG"),
            vscode: [code("Code"), code("Code - Insiders"), code("VSCodium")],
            zed: if cfg!(target_os = "macos") { home.join(".config") } else { xdg }.join("zed"),
        })
    }
}
