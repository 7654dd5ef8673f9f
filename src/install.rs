//! Puts this hub into the configuration of other programs, and takes it out again.
//!
//! [`plan`] reads and decides, [`Change::write`] writes; between the two a person sees the difference. What is changed
//! is one entry of a file, and the rest of the file keeps every byte.

mod backups;
mod client;
mod codex;
mod entry;
mod file;
mod jsonc;
pub(crate) mod link;
mod syntax;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use backups::Backups;
pub(crate) use client::Client;
use client::Hook;
pub(crate) use entry::Launch;
use entry::{Found, NAME, OUTDATED, is_our_hook};
use file::Seen;
use syntax::Fault;

use crate::config::clients::ClientFolders;

/// Why a configuration is left as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("cannot write {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    #[error("{} cannot be changed: {fault}", path.display())]
    Text { path: PathBuf, fault: Fault },
    #[error("{} has another server of the name `{NAME}`: {shown}", path.display())]
    Foreign { path: PathBuf, shown: String },
    #[error("{} changed while it was looked at; nothing was written", path.display())]
    Changed { path: PathBuf },
}

impl Error {
    /// Says what to do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Foreign { .. } => Some("--force puts ours in its place, and keeps a copy of the file"),
            Self::Text { .. } => {
                Some("correct the file first; the program that reads it cannot read it either")
            }
            Self::Changed { .. } => Some("close the program that uses it, and try again"),
            Self::Unreadable { .. } | Self::Unwritable { .. } => None,
        }
    }
}

/// What shall become of a client's configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wish<'a> {
    Installed {
        launch: &'a Launch,
        /// Whether prompts are expanded as they are sent.
        hook: bool,
        /// Whether another server of our name gives way.
        force: bool,
    },
    Removed,
}

/// What becomes of one file.
#[derive(Debug)]
pub(crate) struct Change {
    client: Client,
    seen: Seen,
    /// The path that the client reads, which may be a link.
    pub(crate) path: PathBuf,
    /// `None` removes the file.
    pub(crate) after: Option<String>,
    /// Where what stands there now was replaced by us, and differs from before only in that: the older copy.
    restored: bool,
}

impl Change {
    /// Returns what is there now; empty where there is no file.
    pub(crate) fn before(&self) -> &str {
        self.seen.text.as_deref().unwrap_or_default()
    }

    /// Whether the file is made, changed, put back, removed or left alone.
    pub(crate) fn kind(&self) -> Kind {
        match (&self.seen.text, &self.after) {
            (before, after) if before == after => Kind::Unchanged,
            (None, _) => Kind::Created,
            (Some(_), None) => Kind::Removed,
            (Some(_), Some(_)) if self.restored => Kind::Restored,
            (Some(_), Some(_)) => Kind::Changed,
        }
    }

    /// Returns the file that is written, where the path is a link to it.
    pub(crate) fn linked_to(&self) -> Option<&Path> {
        self.seen.linked.then_some(&*self.seen.path)
    }

    /// Writes it, after a copy of what is there was kept; returns the copy. `stamp` tells copies apart.
    pub(crate) fn write(
        &self,
        backups: &Backups,
        wish: Wish<'_>,
        stamp: &str,
    ) -> Result<Option<PathBuf>, Error> {
        if self.kind() == Kind::Unchanged {
            return Ok(None);
        }
        self.seen.writable()?;
        match (wish, &self.after) {
            (Wish::Installed { .. }, Some(after)) => {
                let copy = backups.keep(self.client, &self.seen, after, stamp)?;
                self.seen.replace(Some(after))?;
                Ok(copy)
            }
            (Wish::Installed { .. } | Wish::Removed, after) => {
                self.seen.replace(after.as_deref())?;
                backups.forget(self.client, &self.seen.path)?;
                Ok(None)
            }
        }
    }
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Changed,
    Created,
    Removed,
    /// The very bytes that were there before us.
    Restored,
    Unchanged,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Created => "created",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Decides what becomes of the files of a client. Reads, and writes nothing.
pub(crate) fn plan(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    wish: Wish<'_>,
) -> Result<Vec<Change>, Error> {
    let file = client.servers_file(folders);
    let (launch, wants_hook) = match wish {
        Wish::Installed { launch, hook, .. } => (launch.clone(), hook),
        // Where a hook stands does not depend on what it runs.
        Wish::Removed => (Launch { program: String::new(), home: None }, false),
    };
    let hook = client.hook(folders, &launch);
    let is_hook_there = hook.as_ref().is_some_and(|hook| hook.file == file);
    let mut changes = Vec::new();
    let seen = file::read(&file)?;
    let mut edit = |seen: Seen, path: PathBuf, edits: &[&dyn Fn(&str) -> Result<String, Error>]| {
        changes.push(changed(client, seen, path, backups, wish, edits)?);
        Ok::<(), Error>(())
    };
    let entry = |text: &str| set_entry(client, &file, text, wish);
    let in_hook = |text: &str| match &hook {
        Some(hook) => set_hook(client, hook, text, wants_hook),
        None => Ok(text.to_owned()),
    };
    if is_hook_there {
        edit(seen, file.clone(), &[&entry, &in_hook])?;
        return Ok(changes);
    }
    edit(seen, file.clone(), &[&entry])?;
    if let Some(hook) = &hook {
        edit(file::read(&hook.file)?, hook.file.clone(), &[&in_hook])?;
    }
    Ok(changes)
}

fn changed(
    client: Client,
    seen: Seen,
    path: PathBuf,
    backups: &Backups,
    wish: Wish<'_>,
    edits: &[&dyn Fn(&str) -> Result<String, Error>],
) -> Result<Change, Error> {
    if let Wish::Removed = wish
        && let Some(receipt) = backups.receipt(client, &seen.path).filter(|receipt| receipt.is_of(&seen))
    {
        // What was there before may hold an entry of ours that is older than the receipt.
        let before = receipt.before.map(|copy| file::read(&copy)).transpose()?.and_then(|copy| copy.text);
        let after = before.map(|text| edited(&text, edits)).transpose()?;
        return Ok(Change { client, seen, path, after, restored: true });
    }
    let text = edited(seen.text.as_deref().unwrap_or_default(), edits)?;
    let after = (seen.text.is_some() || !text.is_empty()).then_some(text);
    Ok(Change { client, seen, path, after, restored: false })
}

fn edited(text: &str, edits: &[&dyn Fn(&str) -> Result<String, Error>]) -> Result<String, Error> {
    edits.iter().try_fold(text.to_owned(), |text, edit| edit(&text))
}

fn found(client: Client, path: &Path, text: &str) -> Result<Option<Found>, Error> {
    let at = |fault| Error::Text { path: path.to_owned(), fault };
    if client == Client::Codex {
        return codex::get(text, NAME).map_err(at);
    }
    Ok(jsonc::get(text, &[client.servers_key(), NAME]).map_err(at)?.as_ref().map(Found::of))
}

fn set_entry(client: Client, path: &Path, text: &str, wish: Wish<'_>) -> Result<String, Error> {
    let at = |fault| Error::Text { path: path.to_owned(), fault };
    let found = found(client, path, text)?;
    let (launch, force) = match (wish, &found) {
        (Wish::Removed, Some(found)) if found.is_ours() => {
            return match client {
                Client::Codex => codex::remove(text, NAME),
                _ => jsonc::remove(text, &[client.servers_key(), NAME]),
            }
            .map_err(at);
        }
        // Another's server of our name is not ours to remove.
        (Wish::Removed, _) => return Ok(text.to_owned()),
        (Wish::Installed { launch, force, .. }, _) => (launch, force),
    };
    let ours = found.as_ref().filter(|found| found.is_ours());
    let mut text = text.to_owned();
    if let (Some(other), None) = (&found, ours) {
        if !force {
            return Err(Error::Foreign { path: path.to_owned(), shown: other.shown() });
        }
        text = match client {
            Client::Codex => codex::remove(&text, NAME),
            _ => jsonc::remove(&text, &[client.servers_key(), NAME]),
        }
        .map_err(at)?;
    }
    if client == Client::Codex {
        return codex::set(&text, NAME, &launch.program, &launch.arguments(ours)).map_err(at);
    }
    set_members(client, text, launch, ours).map_err(at)
}

/// Sets the members of an entry that make it ours, one by one: what a person added stays.
fn set_members(
    client: Client,
    mut text: String,
    launch: &Launch,
    ours: Option<&Found>,
) -> Result<String, Fault> {
    let members = launch.members(client, ours);
    if ours.is_none() {
        let entry = members.into_iter().chain(Launch::more(client));
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

/// Puts our hook into the list of hooks, or takes it out; there is one of it, and it stays when it says the same.
fn set_hook(client: Client, hook: &Hook, text: &str, wanted: bool) -> Result<String, Error> {
    let at = |fault| Error::Text { path: hook.file.clone(), fault };
    let [outer, event] = hook.path;
    let elements = jsonc::get(text, &hook.path).map_err(at)?;
    let elements = elements.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if wanted && elements.contains(&hook.element) {
        return Ok(text.to_owned());
    }
    let mut text = text.to_owned();
    // From the last to the first, so that numbers stay true.
    for (number, element) in elements.iter().enumerate().rev() {
        let number = number.to_string();
        let line = |handler: &Value| {
            let line = handler.get("command").or_else(|| handler.get("bash"));
            line.and_then(Value::as_str).is_some_and(|line| is_our_hook(line, client))
        };
        if line(element) {
            text = jsonc::remove(&text, &[outer, event, &number]).map_err(at)?;
        }
        let handlers = element["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (inner, _) in handlers.iter().enumerate().rev().filter(|(_, handler)| line(handler)) {
            text = jsonc::remove(&text, &[outer, event, &number, "hooks", &inner.to_string()]).map_err(at)?;
        }
    }
    if !wanted {
        return Ok(text);
    }
    if let Some((name, value)) = &hook.head
        && jsonc::get(&text, &[name]).map_err(at)?.is_none()
    {
        text = jsonc::set(&text, &[name], value).map_err(at)?;
    }
    let end = elements.len().to_string();
    jsonc::set(&text, &[outer, event, &end], &hook.element).map_err(at)
}

/// Says what the person should know once the entry of a client stands there.
pub(crate) fn advice(client: Client) -> &'static str {
    client.after()
}
