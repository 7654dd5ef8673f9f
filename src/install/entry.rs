//! The entry of the hub in a client's configuration: its members for each client, and how it is recognised.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use super::launch::Launch;

/// The name that our entry has everywhere.
pub(crate) const NAME: &str = "adjutant";

/// An entry called `adjutant` as a client's file has it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) command: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) url: Option<String>,
}

impl Found {
    /// Reads the entry of a client that writes JSON, in its present or an older form.
    pub(super) fn of(entry: &Value) -> Self {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let words =
            |value: &Value| value.as_array().into_iter().flatten().filter_map(word).collect::<Vec<_>>();
        let url = ["url", "httpUrl", "serverUrl"].iter().find_map(|key| word(&entry[key]));
        // opencode has program and arguments in one list; Zed once had both in an object.
        let command = &entry["command"];
        let mut listed = words(command).into_iter();
        let program = word(command).or_else(|| word(&command["path"])).or_else(|| listed.next());
        let arguments = [words(&entry["args"]), words(&command["args"]), listed.collect()].concat();
        Self { command: program, arguments, url }
    }

    /// Whether this is an entry of ours, whatever its age: our program as a server, or our endpoint on this machine.
    pub(super) fn is_ours(&self) -> bool {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                is_our_program(command)
                    && self.arguments.first().is_some_and(|verb| verb == "connect" || verb == "mcp")
            }
            (None, Some(url)) => ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
                .iter()
                .find_map(|root| url.strip_prefix(root))
                .and_then(|rest| rest.split_once('/'))
                .is_some_and(|(_, path)| path == "mcp" || path.starts_with("mcp/")),
            (None, None) => false,
        }
    }

    /// Says in a few words what stands there.
    pub(super) fn shown(&self) -> String {
        match (&self.command, &self.url) {
            (Some(command), _) => [std::slice::from_ref(command), &self.arguments].concat().join(" "),
            (None, Some(url)) => url.clone(),
            (None, None) => "something else".to_owned(),
        }
    }
}

impl Launch {
    /// Returns the arguments of the server. An entry for one toolset keeps that toolset.
    pub(super) fn arguments(&self, found: Option<&Found>) -> Vec<String> {
        let server = found.filter(|found| found.arguments.first().is_some_and(|verb| verb == "connect"));
        let server = server.and_then(|found| found.arguments.get(1)).filter(|word| !word.starts_with('-'));
        let home = self.home.iter().flat_map(|home| ["--home", home]);
        ["connect"].into_iter().chain(server.map(String::as_str)).chain(home).map(str::to_owned).collect()
    }

    /// Returns the members of a client's entry that make it ours.
    pub(super) fn members(&self, client: Client, found: Option<&Found>) -> Vec<(&'static str, Value)> {
        let arguments = self.arguments(found);
        let mut members = match client {
            Client::ClaudeCode | Client::VsCode => vec![("type", json!("stdio"))],
            Client::Copilot | Client::Opencode => vec![("type", json!("local"))],
            Client::ClaudeDesktop | Client::Codex | Client::Cursor | Client::Gemini | Client::Zed => {
                Vec::new()
            }
        };
        if client == Client::Opencode {
            let words: Vec<_> = [std::slice::from_ref(&self.program), &arguments].concat();
            members.push(("command", json!(words)));
        } else {
            members.extend([("command", json!(self.program)), ("args", json!(arguments))]);
        }
        members
    }

    /// Returns what a new entry says besides, and an older one may say otherwise.
    pub(super) fn more(client: Client) -> Option<(&'static str, Value)> {
        match client {
            Client::Copilot => Some(("tools", json!(["*"]))),
            Client::Opencode => Some(("enabled", json!(true))),
            _ => None,
        }
    }
}

/// Members of the forms that an entry had before it named a program.
pub(super) const OUTDATED: [&str; 7] =
    ["url", "httpUrl", "serverUrl", "headers", "requestInit", "settings", "source"];

/// Whether a shell line is a hook of ours for `client`.
pub(super) fn is_our_hook(line: &str, client: Client) -> bool {
    let ours = |at: usize, verb: &str| {
        let behind = &line[at + verb.len()..];
        is_our_program(line[..at].trim_matches('\'')) && (behind.is_empty() || behind.starts_with(' '))
    };
    let verb = format!(" hook {}", client.name());
    line.find(&verb).is_some_and(|at| ours(at, &verb))
}

fn is_our_program(command: &str) -> bool {
    Path::new(command).file_name().is_some_and(|name| name == NAME)
}
