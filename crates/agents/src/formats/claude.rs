//! Claude Code: `.claude/agents/*.md`.

use super::markdown::{Head, line, names};
use super::{Draft, Isolation, Permission, Program};

/// Tools that change files, or run commands that may.
const WRITING: [&str; 6] = ["bash", "edit", "multiedit", "notebookedit", "write", "*"];

const CANNOT: [(&str, &str); 11] = [
    ("disallowedTools", "single tools cannot be forbidden; the permission level decides"),
    ("maxTurns", "turns are not counted; `timeout` in a file of ours bounds a run"),
    ("skills", "the runner's own configuration decides which skills it loads"),
    ("mcpServers", "the runner's own configuration decides which servers it uses"),
    ("hooks", "nothing that a definition of another program says is run"),
    ("memory", "a delegated task starts without memory"),
    ("background", "whoever delegates says whether they wait"),
    ("effort", "the runner's own configuration decides"),
    ("initialPrompt", "the task is the prompt"),
    ("color", "it is for Claude's display"),
    ("proactive", "whoever delegates decides when"),
];

pub(super) fn read(text: &str) -> Result<Draft, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "name" => head.draft.named(&key, &line(&value).unwrap_or_default()),
            "tools" => {
                let writes = names(&value).iter().any(|tool| WRITING.contains(&tool.as_str()));
                head.draft.tools(&key, writes);
            }
            // Decided below: it counts for more than the tools.
            "permissionMode" => {}
            "isolation" if value == "worktree" => {
                head.draft.isolation = Isolation::Worktree;
                head.draft.honoured(&key);
            }
            "isolation" => head.draft.cannot_be(&key, "only `worktree` is known"),
            _ => head.other(Program::Claude, &key, &value, &CANNOT),
        }
    }
    let mut draft = head.draft.clone();
    for (key, value) in head.keys().iter().filter(|(key, _)| key == "permissionMode") {
        match value.as_str() {
            Some("plan") => {
                draft.permission = Permission::ReadOnly;
                draft.mapped(key, "permission `read-only`");
            }
            Some("acceptEdits") => {
                draft.permission = Permission::WorkspaceWrite;
                draft.mapped(key, "permission `workspace-write`");
            }
            Some("bypassPermissions") => {
                draft.permission = Permission::WorkspaceWrite;
                draft.mapped(key, "permission `workspace-write`; only a file of ours grants `full`");
            }
            _ => draft.cannot_be(key, "nobody is there to be asked; the permission level decides"),
        }
    }
    Ok(draft)
}
