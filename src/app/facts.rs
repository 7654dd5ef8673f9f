//! What the hub itself sees of the folder that a question is about: beside an agent's words, for the person to compare.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::App;
use crate::config::env;
use crate::git::{Facts, Git};

/// How long a look counts as fresh. Every open page and terminal asks for the same few folders.
const FRESH: Duration = Duration::from_secs(3);

/// Folders that are remembered; past this the oldest looks go.
const REMEMBERED: usize = 64;

/// Looks at once: git reads a whole tree.
const AT_ONCE: usize = 2;

/// When a folder was looked at, and what was seen.
type Look = (Instant, Result<Facts, String>);

/// What was seen lately.
#[derive(Debug)]
pub(super) struct Known {
    looks: Mutex<HashMap<PathBuf, Look>>,
    turns: Semaphore,
}

impl Default for Known {
    fn default() -> Self {
        Self { looks: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Known {
    fn fresh(&self, folder: &Path) -> Option<Result<Facts, String>> {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(folder).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, seen)| seen.clone())
    }

    fn remember(&self, folder: &Path, seen: Result<Facts, String>) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= REMEMBERED {
            looks.retain(|_, (at, _)| at.elapsed() < FRESH);
        }
        if looks.len() < REMEMBERED {
            looks.insert(folder.to_owned(), (Instant::now(), seen));
        }
    }
}

impl App {
    /// Looks at the working tree around `folder`, which anybody may have named: only its state is read, and nothing
    /// in it is run. The error is a sentence fragment for the person.
    pub(crate) async fn facts(&self, folder: &Path) -> Result<Facts, String> {
        if !folder.is_absolute() {
            return Err("the path is not absolute".to_owned());
        }
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
}

/// Where git is looked for.
fn path() -> Option<OsString> {
    env::snapshot().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)
}
