//! Gemini CLI: `.gemini/agents/*.md`.

use std::time::Duration;

use super::markdown::{Head, line, names};
use super::{Draft, Program};

/// Tools that change files, or run commands that may.
const WRITING: [&str; 5] = ["*", "edit", "replace", "run_shell_command", "write_file"];

const CANNOT: [(&str, &str); 5] = [
    ("display_name", "the name is what lists show"),
    ("temperature", "the runner's own configuration decides"),
    ("max_turns", "turns are not counted; `timeout` in a file of ours bounds a run"),
    ("mcp_servers", "the runner's own configuration decides which servers it uses"),
    ("mcpServers", "the runner's own configuration decides which servers it uses"),
];

pub(super) fn read(text: &str) -> Result<Draft, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "kind" if value == "local" => head.draft.honoured(&key),
            "kind" => return Err("it is a remote agent, which no program here can run".to_owned()),
            "name" => head.draft.named(&key, &line(&value).unwrap_or_default()),
            "tools" => {
                let writes = names(&value).iter().any(|tool| WRITING.contains(&tool.as_str()));
                head.draft.tools(&key, writes);
            }
            "timeout_mins" => match value.as_u64().filter(|minutes| (1..=24 * 60).contains(minutes)) {
                Some(minutes) => {
                    head.draft.timeout = Some(Duration::from_mins(minutes));
                    head.draft.mapped(&key, format!("timeout {minutes}m"));
                }
                None => head.draft.cannot_be(&key, "it is not a number of minutes of a day"),
            },
            _ => head.other(Program::Gemini, &key, &value, &CANNOT),
        }
    }
    Ok(head.draft)
}
