//! What the hub itself sees of the folder that a question is about: beside an agent's words, for the person to compare.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::App;
use crate::config::env;
use crate::events::Event;
use crate::git::{Facts, Git};

/// How long a look counts as fresh. Every open page and terminal asks for the same few folders.
const FRESH: Duration = Duration::from_secs(3);

/// Folders that are remembered; past this the oldest looks go.
const REMEMBERED: usize = 64;

/// Looks at once: git reads a whole tree.
const AT_ONCE: usize = 2;

/// What was seen of a folder, or a sentence fragment that says why nothing was.
pub(crate) type Seen = Result<Facts, String>;

/// What was seen lately.
#[derive(Debug)]
pub(super) struct Known {
    looks: Mutex<Looks>,
    turns: Semaphore,
}

#[derive(Debug, Default)]
struct Looks {
    /// When each folder was looked at, and what was seen.
    seen: HashMap<PathBuf, (Instant, Seen)>,
    /// Folders that are looked at now because what is known of them is old.
    again: HashSet<PathBuf>,
}

impl Default for Known {
    fn default() -> Self {
        Self { looks: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Known {
    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, folder: &Path) -> Option<Seen> {
        let looks = self.looks();
        looks.seen.get(folder).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, seen)| seen.clone())
    }

    fn remember(&self, folder: &Path, seen: Seen) {
        let mut looks = self.looks();
        if looks.seen.len() >= REMEMBERED && !looks.seen.contains_key(folder) {
            let oldest = looks.seen.iter().min_by_key(|(_, (at, _))| *at).map(|(folder, _)| folder.clone());
            oldest.and_then(|folder| looks.seen.remove(&folder));
        }
        looks.seen.insert(folder.to_owned(), (Instant::now(), seen));
    }
}

impl App {
    /// Looks at the working tree around `folder`, which anybody may have named: only its state is read, and nothing
    /// in it is run.
    pub(crate) async fn facts(&self, folder: &Path) -> Seen {
        nameable(folder)?;
        if let Some(seen) = self.facts.fresh(folder) {
            return seen;
        }
        let _turn = self.facts.turns.acquire().await.map_err(|error| error.to_string())?;
        // Whoever had the turn before may have looked at the same folder.
        if let Some(seen) = self.facts.fresh(folder) {
            return seen;
        }
        let seen = match tokio::fs::metadata(folder).await {
            Ok(found) if found.is_dir() => Git::new(&self.config.home, path()).facts(folder).await,
            Ok(_) => Err("it is not a folder".to_owned()),
            Err(_) => Err("there is no such folder".to_owned()),
        };
        self.facts.remember(folder, seen.clone());
        seen
    }

    /// Returns what is known of a folder without waiting for git, and how old that is where it is not of just now. What
    /// is not known, or old, is looked at meanwhile; where something else is seen then, an event says so.
    pub(crate) fn facts_known(self: &Arc<Self>, folder: &Path) -> Option<(Option<Duration>, Seen)> {
        if let Err(fault) = nameable(folder) {
            return Some((None, Err(fault)));
        }
        let mut looks = self.facts.looks();
        let known = looks.seen.get(folder).map(|(at, seen)| (at.elapsed(), seen.clone()));
        if known.as_ref().is_none_or(|(age, _)| *age >= FRESH) && looks.again.insert(folder.to_owned()) {
            let (app, folder, before) =
                (self.clone(), folder.to_owned(), known.as_ref().map(|(_, seen)| seen.clone()));
            // It ends by itself: git has a deadline.
            tokio::spawn(async move {
                let seen = app.facts(&folder).await;
                app.facts.looks().again.remove(&folder);
                if before != Some(seen) {
                    app.events.send(Event::FolderSeen);
                }
            });
        }
        known.map(|(age, seen)| (Some(age).filter(|age| *age >= FRESH), seen))
    }
}

/// Says what is wrong with a path that names no folder, without a look.
fn nameable(folder: &Path) -> Result<(), String> {
    if folder.is_absolute() { Ok(()) } else { Err("the path is not absolute".to_owned()) }
}

/// Where git is looked for.
fn path() -> Option<OsString> {
    env::snapshot().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)
}
