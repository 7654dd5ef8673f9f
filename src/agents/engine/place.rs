//! Where an agent works, and what it changed there: the caller's folder, or a worktree made for the task.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Engine;
use super::attempt::make_private;
use super::run::{TREE, Work};
use crate::agents::receipt::{self, Touched};
use crate::git::{Git, Repository, Snapshot};

/// What is known of the repository around the working folder, from before the first run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Before {
    /// The caller's.
    repository: Repository,
    /// The one that the agent works in: the same, or its worktree.
    inner: Repository,
    snapshot: Snapshot,
    worktree: Option<PathBuf>,
}

impl Engine {
    /// Makes the place ready, once, before the first run. The error is a sentence for the caller.
    pub(super) async fn make_ready(&self, work: &mut Work<'_>) -> Result<(), String> {
        work.options.workdir.path().clone_into(&mut work.place);
        if work.notes.before.is_none() {
            let before = self.look(work).await;
            match before {
                Ok(before) => work.notes.before = Some(before),
                Err(reason) if work.options.worktree => return Err(reason),
                // Outside of a repository, or in one that git cannot read, the receipt says less.
                Err(reason) => tracing::debug!(task = work.row.id, reason, "no receipt of files"),
            }
        }
        if let Some(Before { inner, repository, worktree: Some(_), .. }) = &work.notes.before {
            work.place = inner.top.join(&repository.below);
        }
        Ok(())
    }

    async fn look(&self, work: &Work<'_>) -> Result<Before, String> {
        let folder = work.options.workdir.path();
        if !work.options.worktree && !in_a_repository(folder) {
            return Err("it is in no repository".to_owned());
        }
        let git = self.git(work)?;
        let repository = git.find(folder).await.map_err(|reason| no_repository(&reason))?;
        if !work.options.worktree {
            let snapshot = git.snapshot(&repository).await?;
            return Ok(Before { inner: repository.clone(), repository, snapshot, worktree: None });
        }
        let worktree = work.folder.join(TREE);
        let reason = format!("adjutant task {}", work.row.id);
        git.add_worktree(&repository, &worktree, &reason).await.map_err(|reason| no_repository(&reason))?;
        let worktree = worktree.canonicalize().map_err(|error| error.to_string())?;
        let inner = git.find(&worktree).await?;
        // A folder that is in no commit is not in the worktree.
        let place = inner.top.join(&repository.below);
        if !place.is_dir() {
            let _ = git.remove_worktree(&repository, &worktree).await;
            return Err("the working directory is in no commit, so no worktree has it".to_owned());
        }
        let snapshot = git.snapshot(&inner).await?;
        Ok(Before { repository, inner, snapshot, worktree: Some(worktree) })
    }

    /// Says what changed since the first run.
    pub(super) async fn changed_files(&self, work: &Work<'_>) -> Option<receipt::Repository> {
        let before = work.notes.before.as_ref()?;
        let read = async {
            let git = self.git(work)?;
            let after = git.snapshot(&before.inner).await?;
            let difference = git.difference(&before.inner, &before.snapshot.tree, &after.tree).await?;
            let mut seen = receipt::Repository {
                head_before: before.snapshot.head.clone(),
                head_after: after.head,
                isolation: work.options.isolation().name().to_owned(),
                files: difference
                    .files
                    .into_iter()
                    .map(|file| Touched {
                        path: file.path,
                        insertions: file.insertions,
                        deletions: file.deletions,
                    })
                    .collect(),
                insertions: difference.insertions,
                deletions: difference.deletions,
                more_files: difference.more,
                ..receipt::Repository::default()
            };
            if before.worktree.is_some() && before.snapshot.tree != after.tree {
                let most = self.settings.largest_patch;
                seen.patch = git.patch(&before.inner, &before.snapshot.tree, &after.tree, most).await?;
                seen.patch_left_out = seen.patch.is_none();
            }
            Ok::<_, String>(seen)
        };
        read.await
            .inspect_err(|reason| tracing::warn!(task = work.row.id, reason, "the receipt lacks the files"))
            .ok()
    }

    /// Removes the worktree; one with changes stays where that is configured, or where its patch is in no receipt.
    pub(super) async fn clear_away(&self, work: &Work<'_>, seen: Option<&mut receipt::Repository>) {
        let Some(Before { repository, worktree: Some(worktree), .. }) = &work.notes.before else { return };
        let Ok(git) = self.git(work) else { return };
        let (changed, lost) = seen.as_ref().map_or((true, true), |seen| {
            (!seen.files.is_empty(), seen.patch_left_out || seen.more_files > 0 && seen.patch.is_none())
        });
        if changed && (self.settings.keep_worktrees || lost) {
            git.release_worktree(repository, worktree).await;
            if let Some(seen) = seen {
                seen.kept = Some(worktree.display().to_string());
            }
        } else if let Err(reason) = git.remove_worktree(repository, worktree).await {
            tracing::warn!(task = work.row.id, reason, "a worktree could not be removed");
        }
    }

    fn git(&self, work: &Work<'_>) -> Result<Git, String> {
        let scratch = work.folder.join("git");
        make_private(&scratch.join("objects")).map_err(|error| error.to_string())?;
        Ok(Git::new(&scratch, self.environment.path()))
    }
}

fn no_repository(reason: &str) -> String {
    format!(
        "isolation `worktree` needs a git repository with at least one commit around the working directory: {reason}"
    )
}

/// Most folders without a repository are known without asking git.
fn in_a_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").exists())
}
