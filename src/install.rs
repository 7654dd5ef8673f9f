//! Puts this hub into the configuration of other programs, and takes it out again.
//!
//! [`plan`] reads and decides, [`Change::write`] writes; between the two a person sees the difference. What is changed
//! is one entry of a file, and the rest of the file keeps every byte.

mod backups;
mod client;
mod codex;
mod edit;
mod entry;
mod file;
mod jsonc;
pub(crate) mod link;
mod syntax;

use std::path::{Path, PathBuf};

pub(crate) use backups::Backups;
pub(crate) use client::Client;
use edit::Part;
pub(crate) use entry::Launch;
use entry::{Found, NAME};
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
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "--force puts ours in its place, and keeps a copy of the file",
            Self::Text { fault: Fault::Encoding { .. }, .. } => {
                "save it as UTF-8, which is what the program reads"
            }
            // The program may take what we do not dare to change.
            Self::Text { fault: Fault::Shape { .. } | Fault::Twice { .. }, .. } => {
                "change that by hand; docs/recipes.md shows how ours is written"
            }
            Self::Text { fault: Fault::Syntax { .. }, .. } => {
                "correct the file first; the program that reads it cannot read it either"
            }
            Self::Changed { .. } => "close the program that uses it, and try again",
            Self::Unreadable { .. } | Self::Unwritable { .. } => "make it a file that you may read and write",
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

/// How a client's configuration stands to us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It says what [`plan`] would write, with or without the hook.
    Installed,
    /// Our server stands there in words of somebody's own; `program` is what it starts, where it starts one.
    Otherwise {
        program: Option<PathBuf>,
    },
    /// Another server has our name; in a few words what it is.
    Foreign(String),
    Absent,
}

/// Reads how a client's configuration stands to us.
pub(crate) fn standing(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    launch: &Launch,
) -> Result<Standing, Error> {
    let entries = client.servers_files(folders).into_iter().map(|path| entry(client, &path));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    // A sibling without an entry is a program that is not connected.
    let is_missing = client.has_siblings() && entries.iter().any(Option::is_none);
    let Some(entry) = entries.into_iter().flatten().next().filter(|_| !is_missing) else {
        return Ok(Standing::Absent);
    };
    if !entry.is_ours() {
        return Ok(Standing::Foreign(entry.shown()));
    }
    // Whether prompts are expanded by a hook is the person's choice.
    for hook in [true, false] {
        let changes = plan(client, folders, backups, Wish::Installed { launch, hook, force: false })?;
        if changes.iter().all(|change| change.kind() == Kind::Unchanged) {
            return Ok(Standing::Installed);
        }
    }
    Ok(Standing::Otherwise { program: entry.command.map(PathBuf::from) })
}

/// Decides what becomes of the files of a client. Reads, and writes nothing.
pub(crate) fn plan(
    client: Client,
    folders: &ClientFolders,
    backups: &Backups,
    wish: Wish<'_>,
) -> Result<Vec<Change>, Error> {
    let mut files: Vec<_> =
        files(client, folders, wish)?.into_iter().map(|path| (path, vec![Part::Entry])).collect();
    let hook = match wish {
        Wish::Installed { launch, .. } => client.hook(folders, launch),
        // Where a hook stands does not depend on what it runs.
        Wish::Removed => client.hook(folders, &Launch { program: String::new(), home: None }),
    };
    if let Some(hook) = hook {
        match files.iter_mut().find(|(file, _)| *file == hook.file) {
            Some((_, parts)) => parts.push(Part::Hook(Box::new(hook))),
            None => files.push((hook.file.clone(), vec![Part::Hook(Box::new(hook))])),
        }
    }
    files.into_iter().map(|(path, parts)| changed(client, path, &parts, backups, wish)).collect()
}

/// Returns the files in which an entry of ours is wished for, or is to be looked for.
fn files(client: Client, folders: &ClientFolders, wish: Wish<'_>) -> Result<Vec<PathBuf>, Error> {
    let mut files = client.servers_files(folders);
    if client.has_siblings() || matches!(wish, Wish::Removed) {
        return Ok(files);
    }
    // One program reads all of these, so an entry that stands in one of them stays the only one.
    for number in 0..files.len() {
        if entry(client, &files[number])?.is_some_and(|entry| entry.is_ours()) {
            return Ok(vec![files.swap_remove(number)]);
        }
    }
    files.truncate(1);
    Ok(files)
}

/// Returns what stands under our name in a file, which may be missing.
fn entry(client: Client, path: &Path) -> Result<Option<Found>, Error> {
    match file::read(path)?.text {
        Some(text) => edit::found(client, path, &text),
        None => Ok(None),
    }
}

fn changed(
    client: Client,
    path: PathBuf,
    parts: &[Part],
    backups: &Backups,
    wish: Wish<'_>,
) -> Result<Change, Error> {
    let seen = file::read(&path)?;
    let edited = |text: &str| {
        parts.iter().try_fold(text.to_owned(), |text, part| part.edited(client, &path, &text, wish))
    };
    if let Wish::Removed = wish
        && let Some(receipt) = backups.receipt(client, &seen.path).filter(|receipt| receipt.is_of(&seen))
    {
        let before = receipt.before.map(|copy| file::read(&copy)).transpose()?;
        // A copy that somebody deleted says nothing; then only the entry goes.
        if before.as_ref().is_none_or(|copy| copy.text.is_some()) {
            // What was there before may hold an entry of ours that is older than the receipt.
            let after = before.and_then(|copy| copy.text).as_deref().map(edited).transpose()?;
            return Ok(Change { client, seen, path, after, restored: true });
        }
    }
    let text = edited(seen.text.as_deref().unwrap_or_default())?;
    let after = (seen.text.is_some() || !text.is_empty()).then_some(text);
    Ok(Change { client, seen, path, after, restored: false })
}

/// Says what the person should know once the entry of a client stands there.
pub(crate) fn advice(client: Client) -> &'static str {
    client.after()
}
