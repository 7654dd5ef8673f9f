//! Threads that work in a git worktree made for them, and the commits of those worktrees.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::detect::environment;
use super::{Codex, Error, now};
use adjutant_host::git::{Author, Git, remove_kept_worktree};
use adjutant_host::process;
use adjutant_store::codex as rows;

/// Maximum bytes of an author's name or address, and the time that git has to print it.
const MAX_NAME_BYTES: u64 = 4096;
const NAME_TIMEOUT: Duration = Duration::from_secs(10);

impl Codex {
    /// Makes a worktree of the repository around `folder` at its HEAD. Returns the folder in it that corresponds.
    pub(super) async fn add_worktree(&self, folder: &Path) -> Result<String, Error> {
        let all = self.0.config.worktrees.as_ref().ok_or(Error::NoWorktree)?;
        let id = format!("codex-{:x}-{}", now(), self.0.runs.fetch_add(1, Ordering::Relaxed));
        let place = all.join(&id);
        let git = git(all);
        let made = async {
            let repository = git.find(folder).await?;
            git.add_worktree(&repository, &place, &id).await?;
            // Without the lock, the user can remove it with `git worktree remove`.
            git.release_worktree(&repository, &id);
            Ok(place.join(&repository.below).display().to_string())
        };
        made.await.map_err(Error::Worktree)
    }

    /// Returns the worktree that was made for a thread, if it is there and no other thread works in it.
    ///
    /// # Errors
    /// Fails if files or commits would be lost with the worktree.
    pub(super) async fn removable_worktree(&self, row: &rows::Thread) -> Result<Option<PathBuf>, Error> {
        let Some(all) = &self.0.config.worktrees else { return Ok(None) };
        let below = Path::new(&row.cwd).strip_prefix(all).ok();
        let Some(name) = below.and_then(|below| below.iter().next()) else { return Ok(None) };
        let place = all.join(name);
        let git = git(all);
        // A folder that git does not know is left alone.
        let Ok(repository) = git.find(&place).await else { return Ok(None) };
        if repository.top != place || rows::is_folder_shared(&self.0.store, row).await? {
            return Ok(None);
        }
        if git.is_committed(&repository).await.map_err(Error::Worktree)? {
            Ok(Some(place))
        } else {
            Err(Error::UnsavedWorktree(place.display().to_string()))
        }
    }

    /// Commits all files in the worktree of a thread, on its branch, or on a new one if it has none. Returns the commit
    /// and its branch.
    pub async fn commit(&self, thread: &str, message: &str) -> Result<(String, String), Error> {
        let row = self.row_here(thread).await?;
        let all = self.0.config.worktrees.as_ref().filter(|all| Path::new(&row.cwd).starts_with(all));
        let all = all.ok_or(Error::NoWorktree)?;
        let git = git(all);
        let author = author().await;
        let committed = async {
            let repository = git.find(Path::new(&row.cwd)).await?;
            let name = repository.top.file_name().map(|name| name.to_string_lossy().into_owned());
            let branch = format!("adjutant/{}", name.unwrap_or_default());
            git.commit(&repository, &branch, &author, message).await
        };
        committed.await.map_err(Error::Worktree)
    }
}

/// Removes a worktree that was made for a thread. A failure is logged: the thread is deleted already.
pub(super) async fn remove_worktree(place: PathBuf) {
    let id = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let removed = tokio::task::spawn_blocking(move || remove_kept_worktree(&place, &id));
    if let Ok(Err(error)) = removed.await {
        tracing::warn!(%error, "the worktree of a deleted thread cannot be removed");
    }
}

fn git(all: &Path) -> Git {
    let path = environment().into_iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    Git::new(&all.join(".git-scratch"), path)
}

/// Returns the author of the user's own configuration of git, without that of any repository.
async fn author() -> Author {
    let ask = async |key: &str| {
        let argv = ["git", "config", "--global", "--get", key].map(OsString::from);
        let said = process::output(&argv, Path::new("/"), &environment(), MAX_NAME_BYTES, NAME_TIMEOUT).await;
        let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
        said.ok().filter(|said| !said.is_empty())
    };
    Author {
        name: ask("user.name").await.unwrap_or_else(|| "Adjutant".to_owned()),
        email: ask("user.email").await.unwrap_or_else(|| "adjutant@localhost".to_owned()),
    }
}
