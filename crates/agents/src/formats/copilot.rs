//! Format of Copilot: `.github/agents/*.agent.md`, and `*.md` there.

use super::markdown::Head;
use crate::definition::{Agent, Program};

/// Tools that change files, or run commands that may, with the aliases that the documentation lists.
const WRITING_TOOLS: [&str; 11] = [
    "*",
    "edit",
    "edit/editfiles",
    "execute",
    "shell",
    "bash",
    "powershell",
    "write",
    "notebookedit",
    "multiedit",
    "runcommands",
];

/// Keys without an effect here, each with the reason.
const UNSUPPORTED: [(&str, &str); 11] = [
    ("name", "the file's name is the agent's"),
    ("target", "the delegating client decides where it runs"),
    ("mcp-servers", "the runner's own configuration decides which servers it uses"),
    ("disable-model-invocation", "every agent can be delegated to"),
    ("user-invocable", "every agent can be delegated to"),
    ("infer", "every agent can be delegated to"),
    ("argument-hint", "the task is free text"),
    ("handoffs", "an agent ends with its answer"),
    ("agents", "the hub decides who may delegate on"),
    ("hooks", "nothing that a definition of another program says is run"),
    ("metadata", "it is for other tools"),
];

pub(super) fn read(text: &str) -> Result<Agent, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "tools" => head.set_tools(&key, &value, &WRITING_TOOLS),
            _ => head.other(Program::Copilot, &key, &value, &UNSUPPORTED),
        }
    }
    Ok(head.agent)
}
