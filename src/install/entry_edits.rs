//! Edits of a client's configuration: the server's entry, and the hook.

use std::path::Path;

use serde_json::Value;

use super::client::{Client, Hook};
use super::hub_entry::{Found, NAME, OUTDATED, is_own_hook};
use super::launch::Launch;
use super::syntax_error::SyntaxError;
use super::{DesiredState, Error, jsonc, toml};

/// A part of the hub's configuration in a file.
pub(super) enum Part {
    Entry,
    Hook(Box<Hook>),
    /// A whole file of the hub with this text.
    Plugin(String),
}

impl Part {
    /// Returns the text of a file with this part in the desired state.
    pub(super) fn apply(
        &self,
        client: Client,
        path: &Path,
        text: &str,
        desired: DesiredState<'_>,
    ) -> Result<String, Error> {
        match self {
            Self::Entry => set_entry(client, path, text, desired),
            Self::Hook(hook) => {
                let wanted = matches!(desired, DesiredState::Installed { hook: true, .. });
                set_hook(client, hook, text, wanted)
                    .map_err(|error| Error::Text { path: path.to_owned(), error })
            }
            Self::Plugin(plugin) => {
                // Its first line, whatever program it runs.
                let is_own = text.lines().next() == plugin.lines().next();
                match desired {
                    DesiredState::Installed { hook: true, force, .. } => {
                        if is_own || force || text.trim().is_empty() {
                            Ok(plugin.clone())
                        } else {
                            Err(Error::ForeignFile { path: path.to_owned() })
                        }
                    }
                    _ if is_own => Ok(String::new()),
                    _ => Ok(text.to_owned()),
                }
            }
        }
    }
}

/// Returns the entry with the hub's name in a client's text.
pub(super) fn find(client: Client, path: &Path, text: &str) -> Result<Option<Found>, Error> {
    let at = |error| Error::Text { path: path.to_owned(), error };
    if client == Client::Codex {
        return toml::get(text, NAME).map_err(at);
    }
    Ok(jsonc::get(text, &[client.servers_key(), NAME]).map_err(at)?.as_ref().map(Found::of))
}

fn set_entry(client: Client, path: &Path, text: &str, desired: DesiredState<'_>) -> Result<String, Error> {
    let at = |error| Error::Text { path: path.to_owned(), error };
    let found = find(client, path, text)?;
    let (launch, force) = match (desired, &found) {
        (DesiredState::Removed, Some(found)) if found.is_own() => {
            return without_entry(client, text).map_err(at);
        }
        // A foreign server with the hub's name is not removed.
        (DesiredState::Removed, _) => return Ok(text.to_owned()),
        (DesiredState::Installed { launch, force, .. }, _) => (launch, force),
    };
    let own = found.as_ref().filter(|found| found.is_own());
    let mut text = text.to_owned();
    if let (Some(other), None) = (&found, own) {
        if !force {
            return Err(Error::Foreign { path: path.to_owned(), entry: other.describe() });
        }
        text = without_entry(client, &text).map_err(at)?;
    }
    if client == Client::Codex {
        return toml::set(&text, NAME, &launch.program, &launch.arguments(own)).map_err(at);
    }
    set_members(client, text, launch, own).map_err(at)
}

fn without_entry(client: Client, text: &str) -> Result<String, SyntaxError> {
    match client {
        Client::Codex => toml::remove(text, NAME),
        _ => jsonc::remove(text, &[client.servers_key(), NAME]),
    }
}

/// Sets the members of the hub's entry one by one. Members that the user added stay.
fn set_members(
    client: Client,
    mut text: String,
    launch: &Launch,
    own: Option<&Found>,
) -> Result<String, SyntaxError> {
    let members = launch.members(client, own);
    if own.is_none() {
        let entry = members.into_iter().chain(Launch::extra_member(client));
        let entry: Value =
            entry.map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>().into();
        return jsonc::set(&text, &[client.servers_key(), NAME], &entry);
    }
    for (name, value) in members {
        let path = [client.servers_key(), NAME, name];
        if jsonc::get(&text, &path)?.as_ref() != Some(&value) {
            text = jsonc::set(&text, &path, &value)?;
        }
    }
    for name in OUTDATED {
        text = jsonc::remove(&text, &[client.servers_key(), NAME, name])?;
    }
    Ok(text)
}

/// Adds the hub's hook to the list of hooks, or removes it. An equal hook stays unchanged.
fn set_hook(client: Client, hook: &Hook, text: &str, wanted: bool) -> Result<String, SyntaxError> {
    let [outer, event] = hook.path;
    let elements = jsonc::get(text, &hook.path)?;
    let elements = elements.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if wanted && elements.contains(&hook.element) {
        return Ok(text.to_owned());
    }
    let mut text = text.to_owned();
    // In reverse order, so that the indexes stay valid.
    for (number, element) in elements.iter().enumerate().rev() {
        let number = number.to_string();
        let line = |handler: &Value| {
            let line = handler.get("command").or_else(|| handler.get("bash"));
            line.and_then(Value::as_str).is_some_and(|line| is_own_hook(line, client))
        };
        if line(element) {
            text = jsonc::remove(&text, &[outer, event, &number])?;
        }
        let handlers = element["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (inner, _) in handlers.iter().enumerate().rev().filter(|(_, handler)| line(handler)) {
            text = jsonc::remove(&text, &[outer, event, &number, "hooks", &inner.to_string()])?;
        }
    }
    if !wanted {
        return Ok(text);
    }
    if let Some((name, value)) = &hook.head
        && jsonc::get(&text, &[name])?.is_none()
    {
        text = jsonc::set(&text, &[name], value)?;
    }
    let end = elements.len().to_string();
    jsonc::set(&text, &[outer, event, &end], &hook.element)
}
