//! The entry of the hub in a client's configuration: its members for each client, and its recognition.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use super::launch::Launch;

/// The name of the hub's entry in every client.
pub(crate) const NAME: &str = "adjutant";

/// An entry called `adjutant` as a client's file has it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) command: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) url: Option<String>,
}

impl Found {
    /// Parses an entry in JSON, in the current or an older form.
    pub(super) fn of(entry: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts =
            |value: &Value| value.as_array().into_iter().flatten().filter_map(text).collect::<Vec<_>>();
        let url = ["url", "httpUrl", "serverUrl"].iter().find_map(|key| text(&entry[key]));
        // opencode has program and arguments in one list; Zed once had both in an object.
        let command = &entry["command"];
        let mut listed = texts(command).into_iter();
        let program = text(command).or_else(|| text(&command["path"])).or_else(|| listed.next());
        let arguments = [texts(&entry["args"]), texts(&command["args"]), listed.collect()].concat();
        Self { command: program, arguments, url }
    }

    /// Returns whether this is an entry of the hub in any form: this program as a server, or its endpoint on this machine.
    pub(super) fn is_own(&self) -> bool {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                is_own_program(command)
                    && self.arguments.first().is_some_and(|verb| verb == "connect" || verb == "mcp")
            }
            (None, Some(url)) => ["http://", "https://"]
                .iter()
                .find_map(|scheme| url.strip_prefix(scheme))
                .and_then(|rest| {
                    ["127.0.0.1:", "localhost:", "[::1]:"].iter().find_map(|host| rest.strip_prefix(host))
                })
                .and_then(|rest| rest.split_once('/'))
                .is_some_and(|(_, path)| path == "mcp" || path.starts_with("mcp/")),
            (None, None) => false,
        }
    }

    /// Describes the entry in a few words.
    pub(super) fn describe(&self) -> String {
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

    /// Returns the members of the hub's entry for a client.
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

    /// Returns a further member of a new entry, which the user may change later.
    pub(super) fn extra_member(client: Client) -> Option<(&'static str, Value)> {
        match client {
            Client::Copilot => Some(("tools", json!(["*"]))),
            Client::Opencode => Some(("enabled", json!(true))),
            _ => None,
        }
    }
}

/// Members of older forms of an entry, which did not name a program.
pub(super) const OUTDATED: [&str; 7] =
    ["url", "httpUrl", "serverUrl", "headers", "requestInit", "settings", "source"];

/// Returns whether a shell line is the hub's hook for `client`.
pub(super) fn is_own_hook(line: &str, client: Client) -> bool {
    let is_own = |at: usize, verb: &str| {
        let rest = &line[at + verb.len()..];
        is_own_program(line[..at].trim_matches('\'')) && (rest.is_empty() || rest.starts_with(' '))
    };
    let verb = format!(" hook {}", client.name());
    line.find(&verb).is_some_and(|at| is_own(at, &verb))
}

fn is_own_program(command: &str) -> bool {
    Path::new(command).file_name().is_some_and(|name| name == NAME)
}
