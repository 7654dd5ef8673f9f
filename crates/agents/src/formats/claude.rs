//! Format of Claude Code: `.claude/agents/*.md`.

use super::markdown::{Head, line};
use crate::definition::{Agent, Isolation, Permission, Program};

/// Tools that change files, or run commands that may.
const WRITING_TOOLS: [&str; 6] = ["bash", "edit", "multiedit", "notebookedit", "write", "*"];

/// Keys without an effect here, each with the reason.
const UNSUPPORTED: [(&str, &str); 11] = [
    ("disallowedTools", "single tools cannot be forbidden; the permission level decides"),
    ("maxTurns", "turns are not counted; `timeout` in a file of Adjutant bounds a run"),
    ("skills", "the runner's own configuration decides which skills it loads"),
    ("mcpServers", "the runner's own configuration decides which servers it uses"),
    ("hooks", "nothing that a definition of another program says is run"),
    ("memory", "a delegated task starts without memory"),
    ("background", "the delegating client decides whether it waits"),
    ("effort", "the runner's own configuration decides"),
    ("initialPrompt", "the task is the prompt"),
    ("color", "it is for Claude's display"),
    ("proactive", "the delegating client decides when"),
];

pub(super) fn read(text: &str) -> Result<Agent, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "name" => head.agent.set_name(&key, &line(&value).unwrap_or_default()),
            "tools" => head.set_tools(&key, &value, &WRITING_TOOLS),
            // Read below, because it overrides the tools.
            "permissionMode" => {}
            "isolation" if value == "worktree" => {
                head.agent.isolation = Isolation::Worktree;
                head.agent.report_supported(&key);
            }
            "isolation" => head.agent.report_unsupported(&key, "only `worktree` is known"),
            _ => head.other(Program::Claude, &key, &value, &UNSUPPORTED),
        }
    }
    let mut agent = head.agent.clone();
    for (key, value) in head.keys().iter().filter(|(key, _)| key == "permissionMode") {
        match value.as_str() {
            Some("plan") => agent.set_level(key, Permission::ReadOnly),
            Some("acceptEdits") => agent.set_level(key, Permission::WorkspaceWrite),
            Some("bypassPermissions") => agent.set_level(key, Permission::Full),
            _ => agent.report_unsupported(key, "nobody can be asked; the permission level decides"),
        }
    }
    Ok(agent)
}
