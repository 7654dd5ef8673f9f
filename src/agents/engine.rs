//! The queue and what runs of it: one per process, shared by all workspaces.

mod attempt;
mod checks;
mod journal;
mod place;
pub(super) mod rows;
mod run;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::caller::{Caller, Link, Origin, Viewer};
use super::definition::Agent;
use super::delegate::Checked;
use super::receipt::{Fault, Outcome};
use super::runner::environment::Environment;
use super::runner::probe::Versions;
use super::select::Selector;
use super::task::{Happened, Page, State, Task, TaskId};
use super::{Error, Filter};
use crate::config::delegation::Delegation;
use crate::events::{Event, Events};
use crate::names::near_names;
use crate::process::{self, Ancestry, Canceller};
use crate::recorder::Recorder;
use crate::store::{Millis, Store, tasks};
pub(super) use attempt::make_private;

/// Tasks of one tree that are looked at together.
const TREE: u32 = 1_000;

/// Shared by all that delegate.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) settings: Delegation,
    pub(super) selector: Selector,
    pub(super) store: Store,
    pub(super) events: Events,
    pub(super) recorder: Recorder,
    /// This process, for its claims: another one with each start.
    hub: String,
    /// Where runs have their folders.
    spool: PathBuf,
    environment: Environment,
    versions: Versions,
    /// There may be something to claim.
    wake: Notify,
    /// Whether the runs of the last hub are known.
    pub(super) taken_up: watch::Sender<bool>,
    /// Of the tasks that somebody looks at: grows whenever this process wrote something about one.
    changes: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// The runs of this process that can be cancelled, by task.
    running: Mutex<HashMap<String, Running>>,
    /// Held while a tree of tasks is counted and grows, so that two cannot pass its limit together.
    pub(super) growing: tokio::sync::Mutex<()>,
    /// Runs of other hubs that this process itself is part of.
    outer_depth: OnceLock<u32>,
}

/// A task that this process runs.
#[derive(Debug, Default)]
struct Running {
    /// Somebody asked for its end, perhaps between two runners.
    cancelled: CancellationToken,
    run: Option<Canceller>,
    /// The supervisor of that run: its descendants ask on behalf of this task.
    supervisor: Option<u32>,
}

impl Engine {
    pub(super) fn new(
        settings: Delegation,
        selector: Selector,
        store: Store,
        events: Events,
        recorder: Recorder,
    ) -> Self {
        // A clock and a number: unique among the starts on one machine, which is all that a claim needs.
        let hub = format!("{}-{}", std::process::id(), now());
        let spool =
            settings.spool.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("adjutant-{hub}")));
        Self {
            settings,
            selector,
            store,
            events,
            recorder,
            hub,
            spool,
            environment: Environment::of_this_process(),
            versions: Versions::default(),
            wake: Notify::new(),
            taken_up: watch::Sender::new(false),
            changes: Mutex::default(),
            running: Mutex::default(),
            growing: tokio::sync::Mutex::default(),
            outer_depth: OnceLock::new(),
        }
    }

    /// Returns the folder of a task: its runs, its worktree.
    pub(super) fn folder(&self, task: &str) -> PathBuf {
        self.spool.join(task)
    }

    /// Returns the folder for runs that need none; no task has that name.
    pub(super) fn empty_folder(&self) -> PathBuf {
        self.spool.join("empty")
    }

    /// Says which of the tasks that run here a process belongs to.
    pub(super) fn origin(&self, pid: u32) -> Origin {
        let line = match process::ancestry(pid) {
            Ancestry::Unknown => return Origin::Outside,
            Ancestry::Gone => return Origin::Gone,
            Ancestry::Above(line) => line,
        };
        let running = self.running();
        let below = |entry: &&Running| entry.supervisor.is_some_and(|supervisor| line.contains(&supervisor));
        let task = running.iter().find(|(_, entry)| below(entry)).and_then(|(task, _)| TaskId::parse(task));
        match task {
            Some(task) => Origin::Task(task),
            // A check, or what a run left: ours, and nobody's.
            None if line.contains(&std::process::id()) => Origin::Gone,
            None => Origin::Outside,
        }
    }

    /// Says which of the tasks that run here holds the other end of a connection.
    pub(super) fn origin_over(&self, link: &Link) -> Origin {
        // A run that the last hub left is not below this process, but its supervisor is known.
        let mut roots: Vec<u32> = self.running().values().filter_map(|entry| entry.supervisor).collect();
        roots.push(std::process::id());
        process::peer_below(&roots, link.local, link.remote).map_or(Origin::Outside, |pid| self.origin(pid))
    }

    /// Returns how many delegations deep a task of a client from outside is: more than 0 where this process was itself
    /// started by a delegated agent.
    pub(super) fn outer_depth(&self) -> u32 {
        *self.outer_depth.get_or_init(process::supervisors_above)
    }

    /// What a run needs beside its row, as JSON.
    pub(super) fn options(checked: &Checked, agent: &Agent) -> String {
        rows::json(&rows::Options::new(checked, agent))
    }

    /// Enters a checked task; when this returns it is on disk.
    pub(super) async fn enqueue(&self, new: tasks::NewTask, label: String) -> Result<Task, Error> {
        let limits = tasks::QueueLimits {
            each_caller: self.settings.max_waiting_per_caller,
            total: self.settings.max_waiting,
        };
        let row = tasks::enqueue(&self.store, new, limits).await?;
        self.wake.notify_one();
        self.events.send(Event::TasksChanged);
        let mut task = self.task(row).await?;
        task.label = label;
        Ok(task)
    }

    pub(super) async fn get(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        let row = tasks::get(&self.store, id.as_str()).await?;
        let row = row.filter(|row| viewer.may_see(&row.caller));
        self.task(row.ok_or_else(|| Error::UnknownTask { id: id.to_string() })?).await
    }

    pub(super) async fn find(&self, viewer: &Viewer, text: &str) -> Result<TaskId, Error> {
        /// Ids that are offered where several begin alike, and that are compared with a misspelt one.
        const OFFERED: u32 = 4;
        const COMPARED: u32 = 1_000;
        if let Some(id) = TaskId::parse(text) {
            return Ok(self.get(viewer, &id).await?.id);
        }
        let start = text.trim().to_ascii_lowercase();
        let caller = match viewer {
            Viewer::Caller(caller) => Some(caller.key.as_str()),
            Viewer::Person => None,
        };
        let found = match start.as_str() {
            "" => Vec::new(),
            start => tasks::ids(&self.store, caller, start, OFFERED).await?,
        };
        match found.as_slice() {
            [] => {
                let all = tasks::ids(&self.store, caller, "", COMPARED).await?;
                let near = near_names(&start, all.iter().map(String::as_str));
                Err(Error::NoTask { start: text.trim().to_owned(), near })
            }
            [only] => TaskId::parse(only).ok_or_else(|| Error::UnknownTask { id: only.clone() }),
            several => Err(Error::SeveralTasks { start, among: several.to_vec() }),
        }
    }

    /// Adds to a row what stands beside it.
    async fn task(&self, row: tasks::Task) -> Result<Task, Error> {
        let position = match row.state {
            State::Queued => tasks::position(&self.store, &row.id).await?,
            State::Running | State::Ended(_) => None,
        };
        let outcome = if row.state.is_ended() { tasks::outcome(&self.store, &row.id).await? } else { None };
        rows::task(row, position, outcome.as_deref())
    }

    pub(super) async fn wait(&self, viewer: &Viewer, id: &TaskId, patience: Duration) -> Result<Task, Error> {
        let end = Instant::now() + patience;
        let mut changes = self.watch(id);
        loop {
            changes.mark_unchanged();
            let task = self.get(viewer, id).await?;
            if task.state.is_ended()
                || tokio::time::timeout_at(end, self.another(&mut changes)).await.is_err()
            {
                return Ok(task);
            }
        }
    }

    /// Waits for a change; one that another hub made on a shared store shows within a second.
    async fn another(&self, changes: &mut watch::Receiver<u64>) {
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }

    pub(super) async fn list(
        &self,
        viewer: &Viewer,
        mut filter: Filter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        if let Viewer::Caller(caller) = viewer {
            filter.caller = Some(caller.key.clone());
        }
        let rows = tasks::list(&self.store, &filter, before, limit.saturating_add(1)).await?;
        let total = tasks::count(&self.store, &filter).await?;
        let mut tasks =
            rows.into_iter().map(|row| rows::task(row, None, None)).collect::<Result<Vec<_>, _>>()?;
        let more = tasks.len() > limit as usize;
        tasks.truncate(limit as usize);
        let next = tasks.last().filter(|_| more).map(|task| task.seq);
        Ok(Page { tasks, total, next })
    }

    pub(super) async fn cancel(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        let task = self.get(viewer, id).await?;
        self.cancel_one(id).await?;
        if let Err(error) = self.cancel_below(&task).await {
            tracing::warn!(%error, task = %id, "the tasks below a cancelled one could not be cancelled");
        }
        self.get(viewer, id).await
    }

    /// Cancels what the agent of a task delegated in its turn.
    async fn cancel_below(&self, task: &Task) -> Result<(), Error> {
        let Some(row) = tasks::get(&self.store, task.id.as_str()).await? else { return Ok(()) };
        let filter =
            Filter { root: Some(row.root), states: vec![State::Queued, State::Running], ..Filter::default() };
        let tree = tasks::list(&self.store, &filter, None, TREE).await?;
        let mut above = vec![row.id];
        while let Some(parent) = above.pop() {
            for child in tree.iter().filter(|child| child.parent.as_deref() == Some(&parent)) {
                if let Some(id) = TaskId::parse(&child.id) {
                    self.cancel_one(&id).await?;
                }
                above.push(child.id.clone());
            }
        }
        Ok(())
    }

    async fn cancel_one(&self, id: &TaskId) -> Result<(), Error> {
        let outcome = Outcome {
            status: "cancelled".to_owned(),
            failure: Some(Fault {
                class: "cancelled".to_owned(),
                detail: "cancelled before it ran".to_owned(),
            }),
            ..Outcome::default()
        };
        match tasks::cancel(&self.store, id.as_str(), &rows::json(&outcome), now()).await? {
            tasks::Cancelled::Asked => self.stop_run(id.as_str()),
            tasks::Cancelled::Waiting => self.events.send(Event::TasksChanged),
            tasks::Cancelled::Not(_) => {}
        }
        self.changed_now(id.as_str());
        Ok(())
    }

    fn stop_run(&self, task: &str) {
        if let Some(running) = self.running().get(task) {
            running.cancelled.cancel();
            if let Some(run) = &running.run {
                run.cancel();
            }
        }
    }

    pub(super) async fn happened(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Happened>, Error> {
        self.get(viewer, id).await?;
        let events = tasks::events(&self.store, id.as_str(), after, limit).await?;
        Ok(events.iter().filter_map(rows::happened).collect())
    }

    pub(super) async fn happened_before(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Happened>, Error> {
        self.get(viewer, id).await?;
        let before = before.unwrap_or(i64::MAX);
        let events = tasks::events_before(&self.store, id.as_str(), before, limit).await?;
        Ok(events.iter().filter_map(rows::happened).collect())
    }

    pub(super) async fn changed(&self, id: &TaskId, after: i64, patience: Duration) {
        let end = Instant::now() + patience;
        let mut changes = self.watch(id);
        loop {
            changes.mark_unchanged();
            let later = tasks::events(&self.store, id.as_str(), after, 1).await;
            let row = tasks::get(&self.store, id.as_str()).await;
            let news = later.is_ok_and(|events| !events.is_empty());
            let over = row.is_ok_and(|row| row.is_none_or(|row| row.state.is_ended()));
            if news || over || tokio::time::timeout_at(end, self.another(&mut changes)).await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn undelivered(&self, caller: &Caller, limit: u32) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for row in tasks::undelivered(&self.store, &caller.key, limit).await? {
            tasks.push(self.task(row).await?);
        }
        Ok(tasks)
    }

    pub(super) async fn delivered(&self, id: &TaskId) -> bool {
        tasks::mark_delivered(&self.store, id.as_str(), now()).await.unwrap_or_else(|error| {
            tracing::warn!(%error, task = %id, "a fetched outcome could not be noted as fetched");
            false
        })
    }

    /// Tells everybody who waits for a task that something about it was written.
    fn changed_now(&self, task: &str) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = changes.get(task) {
            sender.send_modify(|count| *count += 1);
            if sender.is_closed() {
                changes.remove(task);
            }
        }
    }

    /// Returns what tells of a task's changes from now on.
    fn watch(&self, task: &TaskId) -> watch::Receiver<u64> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|_, sender| !sender.is_closed());
        changes.entry(task.to_string()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Milliseconds since 1970. A clock before that counts as 1970.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
