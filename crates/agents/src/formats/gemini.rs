//! Format of Gemini CLI: `.gemini/agents/*.md`.

use std::time::Duration;

use super::markdown::{Head, line};
use crate::definition::{Agent, Program};

/// Tools that change files, or run commands that may.
const WRITING_TOOLS: [&str; 5] = ["*", "edit", "replace", "run_shell_command", "write_file"];

/// Keys without an effect here, each with the reason.
const UNSUPPORTED: [(&str, &str); 5] = [
    ("display_name", "the name is what lists show"),
    ("temperature", "the runner's own configuration decides"),
    ("max_turns", "turns are not counted; `timeout` in a file of Adjutant bounds a run"),
    ("mcp_servers", "the runner's own configuration decides which servers it uses"),
    ("mcpServers", "the runner's own configuration decides which servers it uses"),
];

pub(super) fn read(text: &str) -> Result<Agent, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "kind" if value == "local" => head.agent.report_supported(&key),
            "kind" => return Err("it is a remote agent, which no program here can run".to_owned()),
            "name" => head.agent.set_name(&key, &line(&value).unwrap_or_default()),
            "tools" => head.set_tools(&key, &value, &WRITING_TOOLS),
            "timeout_mins" => match value.as_u64().filter(|minutes| (1..=24 * 60).contains(minutes)) {
                Some(minutes) => {
                    head.agent.timeout = Some(Duration::from_mins(minutes));
                    head.agent.report_mapped(&key, format!("timeout {minutes}m"));
                }
                None => head.agent.report_unsupported(&key, "it is not a number of minutes from 1 to 1440"),
            },
            _ => head.other(Program::Gemini, &key, &value, &UNSUPPORTED),
        }
    }
    Ok(head.agent)
}
