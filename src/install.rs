//! Adds the hub to the configuration of clients, and removes it.
//!
//! [`plan`] reads and decides, [`Change::write`] writes; between the two the user sees the difference. One entry of a
//! file changes, and the rest of the file keeps every byte.

mod backups;
mod client;
pub(crate) mod deep_link;
mod entry_edits;
mod file_snapshot;
mod hub_entry;
mod jsonc;
mod launch;
mod syntax_error;
mod toml;

use std::path::{Path, PathBuf};

pub(crate) use backups::Backups;
pub(crate) use client::Client;
use entry_edits::Part;
use file_snapshot::FileSnapshot;
use hub_entry::{Found, NAME};
pub(crate) use launch::Launch;
use syntax_error::SyntaxError;

use adjutant_base::config::client_dirs::ClientFolders;

/// The reason why a configuration is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("cannot write {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    #[error("{} cannot be changed: {error}", path.display())]
    Text { path: PathBuf, error: SyntaxError },
    #[error("{} already has a different server named `{NAME}`: {entry}", path.display())]
    Foreign { path: PathBuf, entry: String },
    #[error("{} was not written by Adjutant", path.display())]
    ForeignFile { path: PathBuf },
    #[error("{} was changed by another program, and nothing was written; run the command again", path.display())]
    Changed { path: PathBuf },
}

impl Error {
    /// Returns the remedy.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Foreign { .. } | Self::ForeignFile { .. } => {
                "--force replaces it, and keeps a copy of the file"
            }
            Self::Text { error: SyntaxError::Encoding { .. }, .. } => {
                "save it as UTF-8, which the program reads"
            }
            // The program may accept a file that cannot be changed safely.
            Self::Text { error: SyntaxError::Shape { .. } | SyntaxError::Twice { .. }, .. } => {
                "change the file by hand; docs/clients has a page for each client with its entry"
            }
            Self::Text { error: SyntaxError::Syntax { .. }, .. } => {
                "correct the file first; the program that reads it cannot read it either"
            }
            Self::Changed { .. } => "close the program that uses it, and try again",
            Self::Unreadable { .. } | Self::Unwritable { .. } => "make it a file that you may read and write",
        }
    }
}

/// The state that a client's configuration should have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DesiredState<'a> {
    Installed {
        launch: &'a Launch,
        /// Whether the hooks expand prompts when they are sent, and decide permissions.
        hook: bool,
        /// Whether another server called `adjutant` is replaced.
        force: bool,
    },
    Removed,
}

/// The change of one file.
#[derive(Debug)]
pub(crate) struct Change {
    client: Client,
    snapshot: FileSnapshot,
    /// The path that the client reads, which may be a link.
    pub(crate) path: PathBuf,
    /// `None` removes the file.
    pub(crate) after: Option<String>,
    /// Whether `after` is the backup from before the installation.
    restored: bool,
}

impl Change {
    /// Returns the current text; empty if the file does not exist.
    pub(crate) fn before(&self) -> &str {
        self.snapshot.text.as_deref().unwrap_or_default()
    }

    /// Returns the kind of the change.
    pub(crate) fn kind(&self) -> Kind {
        match (&self.snapshot.text, &self.after) {
            (before, after) if before == after => Kind::Unchanged,
            (None, _) => Kind::Created,
            (Some(_), None) => Kind::Removed,
            (Some(_), Some(_)) if self.restored => Kind::Restored,
            (Some(_), Some(_)) => Kind::Changed,
        }
    }

    /// Returns the file that is written, if the path is a link to it.
    pub(crate) fn linked_to(&self) -> Option<&Path> {
        self.snapshot.linked.then_some(&*self.snapshot.path)
    }

    /// Writes the file after a copy of its current text; returns the copy. `stamp` makes the name of the copy unique.
    pub(crate) fn write(
        &self,
        backups: &Backups,
        desired: DesiredState<'_>,
        stamp: &str,
    ) -> Result<Option<PathBuf>, Error> {
        if self.kind() == Kind::Unchanged {
            return Ok(None);
        }
        self.snapshot.check_writable()?;
        match (desired, &self.after) {
            (DesiredState::Installed { .. }, Some(after)) => {
                let copy = backups.keep(self.client, &self.snapshot, after, stamp)?;
                self.snapshot.replace(Some(after))?;
                Ok(copy)
            }
            (DesiredState::Installed { .. } | DesiredState::Removed, after) => {
                self.snapshot.replace(after.as_deref())?;
                if let Some(record) = backups.change_record(self.client, &self.snapshot.path)
                    && after.is_none()
                {
                    backups::remove_empty(&record.folders);
                }
                backups.forget(self.client, &self.snapshot.path)?;
                Ok(None)
            }
        }
    }
}

adjutant_base::named_enum! {
    /// The kind of a change.
    Kind {
        Changed = "changed",
        Created = "created",
        Removed = "removed",
        /// The bytes from before the installation.
        Restored = "restored",
        Unchanged = "unchanged",
    }
}

/// The state of the hub's entry in a client's configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InstallState {
    /// The entry is as [`plan`] would write it, with or without the hook.
    Installed,
    /// The entry was changed by hand; `program` is what it starts, if it starts a program.
    Otherwise {
        program: Option<PathBuf>,
    },
    /// Another server is called `adjutant`; a short description of it.
    Foreign(String),
    Absent,
}

/// Reads the state of the hub's entry in a client's configuration.
pub(crate) fn current_state(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    launch: &Launch,
) -> Result<InstallState, Error> {
    let entries = client.servers_files(folders).into_iter().map(|path| entry(client, &path));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    // A sibling without an entry is a program that is not connected.
    let is_missing = client.has_siblings() && entries.iter().any(Option::is_none);
    let Some(entry) = entries.into_iter().flatten().next().filter(|_| !is_missing) else {
        return Ok(InstallState::Absent);
    };
    if !entry.is_own() {
        return Ok(InstallState::Foreign(entry.describe()));
    }
    // The hook is the user's choice.
    for hook in [true, false] {
        match plan(client, folders, backups, DesiredState::Installed { launch, hook, force: false }) {
            Ok(changes) if changes.iter().all(|change| change.kind() == Kind::Unchanged) => {
                return Ok(InstallState::Installed);
            }
            Ok(_) | Err(Error::ForeignFile { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(InstallState::Otherwise { program: entry.command.map(PathBuf::from) })
}

/// Plans the changes of a client's files. Reads, and writes nothing.
pub(crate) fn plan(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    desired: DesiredState<'_>,
) -> Result<Vec<Change>, Error> {
    let mut files: Vec<_> =
        files(client, folders, desired)?.into_iter().map(|path| (path, vec![Part::Entry])).collect();
    // The path of a hook does not depend on its command.
    let none = Launch { program: String::new(), home: None };
    let launch = if let DesiredState::Installed { launch, .. } = desired { launch } else { &none };
    files.extend(client.plugin(folders, launch).map(|(path, text)| (path, vec![Part::Plugin(text)])));
    for hook in client.hooks(folders, launch) {
        match files.iter_mut().find(|(file, _)| *file == hook.file) {
            Some((_, parts)) => parts.push(Part::Hook(Box::new(hook))),
            None => files.push((hook.file.clone(), vec![Part::Hook(Box::new(hook))])),
        }
    }
    // The folders of a later file may be in those of an earlier one.
    if let DesiredState::Removed = desired {
        files.reverse();
    }
    files.into_iter().map(|(path, parts)| changed(client, path, &parts, backups, desired)).collect()
}

/// Returns the files that should get the hub's entry, or may have it.
fn files(client: Client, folders: &ClientFolders, desired: DesiredState<'_>) -> Result<Vec<PathBuf>, Error> {
    let mut files = client.servers_files(folders);
    if client.has_siblings() || matches!(desired, DesiredState::Removed) {
        return Ok(files);
    }
    // One program reads all these files, so an entry in one of them stays the only one.
    for number in 0..files.len() {
        if entry(client, &files[number])?.is_some_and(|entry| entry.is_own()) {
            return Ok(vec![files.swap_remove(number)]);
        }
    }
    files.truncate(1);
    Ok(files)
}

/// Returns the entry called `adjutant` in a file, which may be missing.
fn entry(client: Client, path: &Path) -> Result<Option<Found>, Error> {
    match file_snapshot::read(path)?.text {
        Some(text) => entry_edits::find(client, path, &text),
        None => Ok(None),
    }
}

fn changed(
    client: Client,
    path: PathBuf,
    parts: &[Part],
    backups: &Backups,
    desired: DesiredState<'_>,
) -> Result<Change, Error> {
    let snapshot = file_snapshot::read(&path)?;
    let edit = |text: &str| {
        parts.iter().try_fold(text.to_owned(), |text, part| part.apply(client, &path, &text, desired))
    };
    if let DesiredState::Removed = desired
        && let Some(record) =
            backups.change_record(client, &snapshot.path).filter(|record| record.matches(&snapshot))
    {
        let before = record.before.map(|copy| file_snapshot::read(&copy)).transpose()?;
        // If the backup was deleted, only the entry is removed.
        if before.as_ref().is_none_or(|copy| copy.text.is_some()) {
            // The backup may have an older entry of the hub.
            let after = before.and_then(|copy| copy.text).as_deref().map(edit).transpose()?;
            return Ok(Change { client, snapshot, path, after, restored: true });
        }
    }
    let text = edit(snapshot.text.as_deref().unwrap_or_default())?;
    let is_plugin = matches!(parts, [Part::Plugin(_)]);
    let after = (snapshot.text.is_some() && !is_plugin || !text.is_empty()).then_some(text);
    Ok(Change { client, snapshot, path, after, restored: false })
}

/// Returns advice for the user after the entry of a client was written.
pub(crate) fn advice(client: Client) -> &'static str {
    client.after()
}
