//! Cache of the git state of folders that questions are about, so that the user can compare it with an agent's words.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use adjutant_base::config::env;
use adjutant_base::events::{Event, Events};
use adjutant_base::mutex::lock;
use adjutant_host::git::{Facts, Git};

/// Age up to which a state is fresh. Every open page and terminal asks for the same few folders.
const MAX_AGE: Duration = Duration::from_secs(3);

/// Maximum folders in the cache; the oldest state is dropped first.
const MAX_FOLDERS: usize = 64;

/// Maximum concurrent reads, because git reads a whole tree.
const MAX_CONCURRENT_READS: usize = 2;

/// State of a folder, or a sentence fragment that says why it cannot be read.
pub(crate) type RepoStatus = Result<Facts, String>;

/// The states that were read last.
#[derive(Debug)]
pub struct RepoStatusCache {
    home: PathBuf,
    events: Events,
    entries: Mutex<Entries>,
    turns: Semaphore,
}

#[derive(Debug, Default)]
struct Entries {
    /// When each folder was read, and its state.
    states: HashMap<PathBuf, (Instant, RepoStatus)>,
    /// Folders that are read again now because their known state is old.
    refreshing: HashSet<PathBuf>,
}

impl RepoStatusCache {
    /// `home` is the hub's own folder; `events` gets [`Event::FolderSeen`] when a state has changed.
    pub(super) fn new(home: PathBuf, events: Events) -> Self {
        Self { home, events, entries: Mutex::default(), turns: Semaphore::new(MAX_CONCURRENT_READS) }
    }

    fn fresh(&self, folder: &Path) -> Option<RepoStatus> {
        let entries = lock(&self.entries);
        entries.states.get(folder).filter(|(at, _)| at.elapsed() < MAX_AGE).map(|(_, state)| state.clone())
    }

    fn remember(&self, folder: &Path, state: RepoStatus) {
        let mut entries = lock(&self.entries);
        if entries.states.len() >= MAX_FOLDERS && !entries.states.contains_key(folder) {
            let oldest =
                entries.states.iter().min_by_key(|(_, (at, _))| *at).map(|(folder, _)| folder.clone());
            oldest.and_then(|folder| entries.states.remove(&folder));
        }
        entries.states.insert(folder.to_owned(), (Instant::now(), state));
    }

    /// Reads the state of the working tree around `folder`. Nothing in it is run, because any client may name a folder.
    ///
    /// # Errors
    /// Fails with a sentence fragment where the folder or its state cannot be read.
    pub async fn get(&self, folder: &Path) -> RepoStatus {
        check_path(folder)?;
        if let Some(state) = self.fresh(folder) {
            return state;
        }
        let _turn = self.turns.acquire().await.map_err(|error| error.to_string())?;
        // The read before this one may have been of the same folder.
        if let Some(state) = self.fresh(folder) {
            return state;
        }
        let state = match tokio::fs::metadata(folder).await {
            Ok(found) if found.is_dir() => Git::new(&self.home, path()).facts(folder).await,
            Ok(_) => Err("it is not a folder".to_owned()),
            Err(_) => Err("there is no such folder".to_owned()),
        };
        self.remember(folder, state.clone());
        state
    }

    /// Returns the last known state of a folder without waiting for git, with its age where it is not fresh. A state
    /// that is unknown or old is read in the background, and an event is sent when it has changed.
    pub fn last_known(self: &Arc<Self>, folder: &Path) -> Option<(Option<Duration>, RepoStatus)> {
        if let Err(fault) = check_path(folder) {
            return Some((None, Err(fault)));
        }
        let mut entries = lock(&self.entries);
        let known = entries.states.get(folder).map(|(at, state)| (at.elapsed(), state.clone()));
        if known.as_ref().is_none_or(|(age, _)| *age >= MAX_AGE)
            && entries.refreshing.insert(folder.to_owned())
        {
            let (cache, folder, before) =
                (self.clone(), folder.to_owned(), known.as_ref().map(|(_, state)| state.clone()));
            // It ends by itself: git has a deadline.
            tokio::spawn(async move {
                let state = cache.get(&folder).await;
                lock(&cache.entries).refreshing.remove(&folder);
                if before != Some(state) {
                    cache.events.send(Event::FolderSeen);
                }
            });
        }
        known.map(|(age, state)| (Some(age).filter(|age| *age >= MAX_AGE), state))
    }
}

/// Rejects a path that cannot name a folder, without reading the disk.
fn check_path(folder: &Path) -> Result<(), String> {
    if folder.is_absolute() { Ok(()) } else { Err("the path is not absolute".to_owned()) }
}

/// Returns the `PATH` on which git is searched.
fn path() -> Option<OsString> {
    env::snapshot().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)
}
