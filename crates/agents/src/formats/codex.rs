//! Format of Codex: `.codex/agents/*.toml`.

use crate::definition::{Agent, Permission, Program};

/// Keys without an effect here, each with the reason.
const UNSUPPORTED: [(&str, &str); 8] = [
    ("model_reasoning_effort", "the runner's own configuration decides"),
    ("model_reasoning_summary", "the runner's own configuration decides"),
    ("model_verbosity", "the runner's own configuration decides"),
    ("web_search", "the runner's own configuration decides"),
    ("mcp_servers", "the runner's own configuration decides which servers it uses"),
    ("skills", "the runner's own configuration decides which skills it loads"),
    ("nickname_candidates", "it is for Codex's display"),
    ("approval_policy", "nobody can be asked; the permission level decides"),
];

pub(super) fn read(text: &str) -> Result<Agent, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let (line, reason) = (before.matches('\n').count() + 1, error.message().lines().next());
        format!("it is not valid TOML: {} (line {line})", reason.unwrap_or_default())
    })?;
    let mut agent = Agent::default();
    for (key, value) in &table {
        let text = value.as_str().map(str::trim);
        match (key.as_str(), text) {
            ("name", Some(name)) => agent.set_name(key, name),
            ("description", Some(text)) => {
                agent.description = text.split_whitespace().collect::<Vec<_>>().join(" ");
                agent.report_supported(key);
            }
            ("developer_instructions", Some(text)) => {
                text.clone_into(&mut agent.persona);
                agent.report_mapped(key, "it is the persona");
            }
            ("model", Some(model))
                if !model.is_empty() && !model.starts_with('-') && !model.contains(char::is_control) =>
            {
                agent.set_model(Program::Codex, key, model.to_owned());
            }
            ("sandbox_mode", Some("read-only")) => agent.set_level(key, Permission::ReadOnly),
            ("sandbox_mode", Some("workspace-write")) => agent.set_level(key, Permission::WorkspaceWrite),
            ("sandbox_mode", Some("danger-full-access")) => agent.set_level(key, Permission::Full),
            ("name" | "description" | "developer_instructions" | "model" | "sandbox_mode", _) => {
                return Err(format!("`{key}` cannot be {}", quoted(value)));
            }
            _ => agent.report_other(key, &UNSUPPORTED),
        }
    }
    Ok(agent)
}

/// Returns a value for a message.
fn quoted(value: &toml::Value) -> String {
    let text: String = value.to_string().chars().take(60).collect();
    format!("`{}`", text.escape_debug())
}
