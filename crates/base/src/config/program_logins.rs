//! Logins of other programs, as far as their files and the environment show them. No secret is returned.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::env;

/// The state of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// This variable holds a key.
    Variable(&'static str),
    /// A file holds a login.
    File,
    /// No login was found; the value says how to log in.
    Missing(&'static str),
    /// The program keeps its login where only it can read it, or needs none.
    Unknown,
}

/// Maximum bytes of a file that is searched for a login.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Returns the state of the login of the CLI `name`.
pub fn account(name: &str) -> Account {
    let home = env::user_home().unwrap_or_default();
    let folder = |variable: &str, usual: &str| env::path(variable).unwrap_or_else(|| home.join(usual));
    let (variables, file, member, how): (&[&'static str], PathBuf, Option<&str>, _) = match name {
        "codex" => (
            &["CODEX_API_KEY", "OPENAI_API_KEY"],
            folder("CODEX_HOME", ".codex").join("auth.json"),
            None,
            "`codex login`",
        ),
        "claude" => (
            &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            folder("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json"),
            None,
            "start `claude` and use /login",
        ),
        "copilot" => (
            &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"],
            folder("COPILOT_HOME", ".copilot").join("config.json"),
            Some("logged_in_users"),
            "start `copilot` and use /login",
        ),
        "gemini" => (
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            home.join(".gemini/oauth_creds.json"),
            None,
            "start `gemini` and choose how",
        ),
        // opencode runs with free models and with any provider of its configuration.
        _ => return Account::Unknown,
    };
    if let Some(variable) = variables.iter().find(|name| env::non_empty(name).is_some()) {
        return Account::Variable(variable);
    }
    match holds(&file, member) {
        true => Account::File,
        // On macOS the login is in the keychain, which asks the user before it shows a secret.
        false if cfg!(target_os = "macos") => Account::Unknown,
        false => Account::Missing(how),
    }
}

/// Returns whether a JSON file, or its `member`, holds an object or a list with a value.
fn holds(file: &Path, member: Option<&str>) -> bool {
    let small = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    let Some(text) = small.then(|| std::fs::read_to_string(file).ok()).flatten() else { return false };
    // Copilot writes a comment at the top of its file.
    let text: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return false };
    let value = member.map_or(&value, |member| &value[member]);
    match value {
        Value::Object(members) => members.values().any(|value| !value.is_null()),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    }
}
