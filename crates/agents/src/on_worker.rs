//! The worker's side of a task of a hub: runs it through the same queue as a hub's own, and packs its result.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agents::Agents;
use super::caller::Viewer;
use super::error::Error;
use super::executor::context::{make_private, now};
use super::executor::rows;
use super::run_report::Outcome;
use super::task::{Task, TaskId};
use super::workdir::Workdir;
use super::worker_order::Order;
use super::workspace_bundle::{BUNDLE_FILE, INCLUDED_FILE};
use super::worktrees::WORKTREE;
use adjutant_base::events::Event;
use adjutant_host::git::{Author, Git, cached_commits, remove_kept_worktree};
use adjutant_store::tasks;

/// The caller of all tasks of hubs.
const CALLER: &str = "hub";

/// Maximum time in which the task of an order ends after its cancellation.
const END_TIMEOUT: Duration = Duration::from_mins(1);

/// The repository in the folder of an order.
const TREE: &str = "tree";

/// The folder of private git directories in an order's folder.
const SCRATCH: &str = "git";

impl Agents {
    /// Adds the bundle in the folder of an order to `cache`, and makes a repository in `folder/tree`, with the files of
    /// `.worktreeinclude` alone. The run checks the others out into its worktree. The error is a sentence fragment.
    pub async fn make_tree(&self, order: &Order, folder: &Path, cache: &Path) -> Result<(), String> {
        let tree = folder.join(TREE);
        // An earlier process may have ended in the middle.
        let _ = fs::remove_dir_all(&tree);
        let git = self.git_of_order(folder)?;
        let (bundle, included) = (folder.join(BUNDLE_FILE), folder.join(INCLUDED_FILE));
        git.cache_bundle(cache, Some(&*bundle).filter(|bundle| bundle.exists()), &order.commit).await?;
        git.clone_cache(cache, &order.commit, &tree).await?;
        fs::create_dir_all(tree.join(&order.below)).map_err(|error| error.to_string())?;
        match &order.included {
            Some(commit) => git.unpack_included(&included, commit, &tree).await,
            None => Ok(()),
        }
    }

    /// Returns the commits of the caches below `folder` that have names beginning with `start`. Blocks on the disk.
    pub fn cached_commits(folder: &Path, start: &str) -> Vec<String> {
        cached_commits(folder, start)
    }

    /// Removes the least recently used caches below `folder`, until the rest has at most `limit` bytes; `kept` stays.
    /// No other task may use a cache meanwhile. `scratch` is the folder of an order, for private git directories.
    pub async fn tidy_caches(
        &self,
        folder: &Path,
        kept: &Path,
        limit: u64,
        scratch: &Path,
    ) -> Result<(), String> {
        self.git_of_order(scratch)?.tidy_caches(folder, kept, limit).await
    }

    /// Queues the task of an order whose working tree is made. Returns the id that the task has here. Refuses a runner
    /// that is not configured here, for which the task would wait without end.
    pub async fn accept_order(&self, order: &Order, folder: &Path) -> Result<TaskId, Error> {
        if !self.context.selector.names().contains(&order.runner) {
            return Err(Error::MissingRunner { name: order.runner.clone() });
        }
        let tree = folder.join(TREE);
        let workdir = tree.join(&order.below);
        let workdir = Workdir::parse(&workdir.to_string_lossy()).map_err(Error::Workdir)?;
        let mut options: rows::Options = serde_json::from_str(&order.options)
            .map_err(|error| Error::Workdir(format!("the order cannot be read: {error}")))?;
        let path = workdir.path().to_string_lossy().into_owned();
        options.workdir = workdir;
        options.keep = false;
        options.without_checkout = true;
        let id = TaskId::new().map_err(|_| Error::Stopping)?;
        let row = tasks::NewTask {
            id: id.to_string(),
            caller: CALLER.to_owned(),
            agent: order.agent.clone(),
            runner: order.runner.clone(),
            text: order.text.clone(),
            workdir: path,
            priority: 0,
            parent: None,
            root: id.to_string(),
            depth: 0,
            options: rows::json(&options),
            created_at: now(),
        };
        let limits = tasks::QueueLimits { each_caller: u32::MAX, total: u32::MAX };
        tasks::enqueue(&self.context.store, row, limits).await?;
        self.context.wake.notify_one();
        self.context.events.send(Event::TasksChanged);
        Ok(id)
    }

    /// Returns the folder in which the agent of an accepted order works or will work.
    pub fn workspace_of_order(&self, order: &Order, id: &TaskId) -> PathBuf {
        self.context.folder(id.as_str()).join(WORKTREE).join(&order.below)
    }

    /// Packs the commit that an ended task left: all its changes, in a bundle without what the hub has; without a file
    /// `bundle` where the hub has the commit. Returns the outcome as the hub keeps it, and the commit; `None` where nothing
    /// changed.
    pub async fn pack_result(
        &self,
        task: &Task,
        order: &Order,
        folder: &Path,
        bundle: &Path,
        limit: u64,
    ) -> (Outcome, Option<String>) {
        let mut outcome =
            task.outcome.as_deref().cloned().unwrap_or_else(|| Outcome::new(tasks::Ending::Lost));
        let kept = outcome.report.repository.as_mut().and_then(|repository| repository.kept.take());
        let Some(kept) = kept else { return (outcome, None) };
        match self.commit_of(task, order, folder, Path::new(&kept), bundle, limit).await {
            Ok(commit) => (outcome, commit),
            Err(reason) => {
                outcome.report.files_unknown = Some(format!("the worker cannot send its commit: {reason}"));
                (outcome, None)
            }
        }
    }

    async fn commit_of(
        &self,
        task: &Task,
        order: &Order,
        folder: &Path,
        worktree: &Path,
        bundle: &Path,
        limit: u64,
    ) -> Result<Option<String>, String> {
        let git = self.git_of_order(folder)?;
        let inner = git.find(worktree).await?;
        let author = Author { name: task.agent.clone(), email: format!("{}@adjutant.invalid", task.agent) };
        let message = format!("{}: {:.60}\n", task.agent, task.text.lines().next().unwrap_or_default());
        let dirty = git.facts(worktree).await.map_or(true, |facts| facts.dirty > 0 || facts.more);
        let commit = if dirty {
            Some(git.commit(&inner, &format!("adjutant/{}", task.id), &author, &message).await?.0)
        } else {
            inner.head.clone()
        };
        let Some(commit) = commit.filter(|commit| *commit != order.commit) else { return Ok(None) };
        let _ = fs::remove_file(bundle);
        let known = std::slice::from_ref(&order.commit);
        git.write_bundle(&inner, &commit, known, bundle, limit).await?;
        Ok(Some(commit))
    }

    /// Waits until the task of an order has ended, and removes the worktree that it left, because its hub has the commit or
    /// does not want it.
    pub async fn remove_worktree_of_order(&self, id: &TaskId) {
        match self.wait(&Viewer::User, id, END_TIMEOUT).await {
            Ok(task) if task.state.is_ended() => {}
            Ok(_) => return tracing::warn!(task = %id, "a worktree stays, because its task has not ended"),
            Err(error) => return tracing::warn!(%error, task = %id, "a worktree stays"),
        }
        let (worktree, id) = (self.context.folder(id.as_str()).join(WORKTREE), id.to_string());
        let removed = tokio::task::spawn_blocking(move || remove_kept_worktree(&worktree, &id)).await;
        if let Err(error) = removed.unwrap_or_else(|error| Err(error.into())) {
            tracing::warn!(%error, "a worktree could not be removed");
        }
    }

    fn git_of_order(&self, folder: &Path) -> Result<Git, String> {
        let scratch = folder.join(SCRATCH);
        let _ = fs::remove_dir_all(&scratch);
        make_private(&scratch).map_err(|error| error.to_string())?;
        Ok(Git::new(&scratch, self.context.environment.path()))
    }
}
