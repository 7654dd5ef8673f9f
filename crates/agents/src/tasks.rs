//! Reads, awaits and cancels tasks.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::agents::Agents;
use super::caller::{Caller, Viewer};
use super::error::Error;
use super::executor::context::now;
use super::executor::rows;
use super::run_report::{FailureReport, Outcome};
use super::task::{Ending, Filter, Page, State, Task, TaskEvent, TaskId};
use super::workspace_bundle::forget;
use adjutant_base::events::Event;
use adjutant_base::text::suggest::near_names;
use adjutant_store::tasks;

/// The most tasks of one tree that a cancellation reaches.
const MAX_TREE: u32 = 1_000;
/// Maximum distance, in the order of all tasks, between two tasks of a race: others may delegate at the same moment.
const RACE_DISTANCE: u32 = 8;
/// How long a change that another hub made on a shared store may stay unseen.
const SHARED_STORE_INTERVAL: Duration = Duration::from_secs(1);

impl Agents {
    /// Returns a task that `viewer` may see, with its outcome once it has ended. It does not count as fetching the
    /// outcome.
    pub async fn get(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        let row = tasks::get(&self.context.store, id.as_str()).await?;
        let row = row.filter(|row| viewer.may_see(&row.caller));
        self.complete(row.ok_or_else(|| Error::UnknownTask { id: id.to_string() })?).await
    }

    /// Returns the one task that `viewer` may see whose id is `text` or begins with it.
    pub async fn find(&self, viewer: &Viewer, text: &str) -> Result<TaskId, Error> {
        /// Ids that an error offers where several begin alike, and ids that a misspelt one is compared with.
        const MAX_OFFERED: u32 = 4;
        const MAX_COMPARED: u32 = 1_000;
        if let Some(id) = TaskId::parse(text) {
            return Ok(self.get(viewer, &id).await?.id);
        }
        let store = &self.context.store;
        let start = text.trim().to_ascii_lowercase();
        let caller = match viewer {
            Viewer::Caller(caller) => Some(caller.key.as_str()),
            Viewer::User => None,
        };
        let found = match start.as_str() {
            "" => Vec::new(),
            start => tasks::ids(store, caller, start, MAX_OFFERED).await?,
        };
        match found.as_slice() {
            [] => {
                let all = tasks::ids(store, caller, "", MAX_COMPARED).await?;
                let near = near_names(&start, all.iter().map(String::as_str));
                Err(Error::NoTask { start: text.trim().to_owned(), near })
            }
            [only] => TaskId::parse(only).ok_or_else(|| Error::UnknownTask { id: only.clone() }),
            several => Err(Error::SeveralTasks { start, among: several.to_vec() }),
        }
    }

    /// Returns the tasks that race with this one, which is among them, in the order of their creation: those that its
    /// caller delegated close to it, with the same text and folder. No row names a race, because these values identify
    /// it.
    pub async fn race(&self, id: &TaskId) -> Result<Vec<TaskId>, Error> {
        let ids = tasks::same_text(&self.context.store, id.as_str(), RACE_DISTANCE).await?;
        Ok(ids.iter().filter_map(|id| TaskId::parse(id)).collect())
    }

    /// Makes a task of its row; adds what it waits for, or its outcome.
    pub(crate) async fn complete(&self, row: tasks::Task) -> Result<Task, Error> {
        let store = &self.context.store;
        match row.state {
            State::Queued => {
                let position = tasks::position(store, &row.id).await?;
                let waiting_reason = self.waiting_reason(&row).await?;
                Ok(Task { waiting_reason, ..rows::task(row, position, None)? })
            }
            State::Running => rows::task(row, None, None),
            State::Ended(_) => {
                let outcome = tasks::outcome(store, &row.id).await?;
                rows::task(row, None, outcome.as_deref())
            }
        }
    }

    /// Waits until a task has ended or `timeout` is over, and returns it as it is then. The task continues in any
    /// case, also when the caller drops this future.
    pub async fn wait(&self, viewer: &Viewer, id: &TaskId, timeout: Duration) -> Result<Task, Error> {
        let end = Instant::now() + timeout;
        let mut changes = self.context.watch(id);
        loop {
            changes.mark_unchanged();
            let task = self.get(viewer, id).await?;
            if task.state.is_ended() || tokio::time::timeout_at(end, next_change(&mut changes)).await.is_err()
            {
                return Ok(task);
            }
        }
    }

    /// Returns at most `limit` tasks, newest first, with the first 400 characters of their texts and without outcomes.
    /// `before` is the `seq` of the last task of the previous page. A [`Viewer::Caller`] sees its own tasks only,
    /// also where the filter names a different caller.
    pub async fn list(
        &self,
        viewer: &Viewer,
        mut filter: Filter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        if let Viewer::Caller(caller) = viewer {
            filter.caller = Some(caller.key.clone());
        }
        let store = &self.context.store;
        let rows = tasks::list(store, &filter, before, limit.saturating_add(1)).await?;
        let mut tasks =
            rows.into_iter().map(|row| rows::task(row, None, None)).collect::<Result<Vec<_>, _>>()?;
        let more = tasks.len() > limit as usize;
        // A first page with all of them needs no second pass over the rows.
        let total =
            if more || before.is_some() { tasks::count(store, &filter).await? } else { tasks.len() as u64 };
        tasks.truncate(limit as usize);
        let next = tasks.last().filter(|_| more).map(|task| task.seq);
        Ok(Page { tasks, total, next })
    }

    /// Returns at most `limit` queued and running tasks of all callers, newest first, as [`Self::list`] does, and the number of
    /// all of them. The ended tasks are not read.
    pub async fn unended(&self, limit: u32) -> Result<(Vec<Task>, u64), Error> {
        let store = &self.context.store;
        let rows = tasks::unended(store, limit).await?;
        let count = tasks::count_unended(store).await?;
        let tasks = rows.into_iter().map(|row| rows::task(row, None, None)).collect::<Result<_, _>>()?;
        Ok((tasks, count))
    }

    /// Returns at most `limit` tasks that pass the filter, newest first. Unlike those of [`Self::list`] they are not counted, for
    /// which all tasks would be read.
    pub async fn search(&self, filter: &Filter, limit: u32) -> Result<Vec<Task>, Error> {
        let rows = tasks::list(&self.context.store, filter, None, limit).await?;
        rows.into_iter().map(|row| rows::task(row, None, None)).collect()
    }

    /// Returns each state of tasks by name, with the number of this machine's tasks in it.
    pub async fn count_by_state(&self) -> Result<Vec<(&'static str, u64)>, Error> {
        let counted = tasks::count_by_state(&self.context.store).await?;
        let count = |state| counted.iter().find(|(of, _)| *of == state).map_or(0, |(_, count)| *count);
        Ok(State::ALL.map(|state| (state.as_str(), count(state))).to_vec())
    }

    /// Cancels a task and the tasks that its agent delegated. A queued task is cancelled at once; a running one has
    /// ended when no process of it is left, which [`Self::wait`] waits for. An ended task does not change.
    pub async fn cancel(&self, viewer: &Viewer, id: &TaskId) -> Result<Task, Error> {
        let task = self.get(viewer, id).await?;
        self.cancel_one(id).await?;
        if let Err(error) = self.cancel_below(&task).await {
            tracing::warn!(%error, task = %id, "the tasks below a cancelled one could not be cancelled");
        }
        self.get(viewer, id).await
    }

    /// Cancels the tasks that the agent of a task delegated, and the tasks below them.
    async fn cancel_below(&self, task: &Task) -> Result<(), Error> {
        let store = &self.context.store;
        let Some(row) = tasks::get(store, task.id.as_str()).await? else { return Ok(()) };
        let filter =
            Filter { root: Some(row.root), states: vec![State::Queued, State::Running], ..Filter::default() };
        let tree = tasks::list(store, &filter, None, MAX_TREE).await?;
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
        let context = &self.context;
        let fault =
            FailureReport { class: "cancelled".to_owned(), detail: "cancelled before it ran".to_owned() };
        let outcome = Outcome { failure: Some(fault), ..Outcome::new(Ending::Cancelled) };
        match tasks::cancel(&context.store, id.as_str(), &rows::json(&outcome), now()).await? {
            tasks::Cancelled::Asked => {
                context.cancel_run(id.as_str());
                // No receiver: no worker runs tasks for this hub.
                let _ = context.cancellations.send(id.to_string());
            }
            tasks::Cancelled::Waiting => {
                // A hub that was killed while it packed the task for a worker left a reference in the user's repository. The
                // task is cancelled already, so a store that is away now fails nothing.
                if context.folder(id.as_str()).exists()
                    && let Ok(Some(row)) = tasks::get(&context.store, id.as_str()).await
                {
                    forget(context, &row).await;
                }
                context.events.send(Event::TasksChanged);
            }
            tasks::Cancelled::Not(_) => {}
        }
        context.notify_changed(id.as_str());
        Ok(())
    }

    /// Returns at most `limit` events of a task after the event numbered `after`, in order.
    pub async fn events(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TaskEvent>, Error> {
        self.get(viewer, id).await?;
        let events = tasks::events(&self.context.store, id.as_str(), after, limit).await?;
        Ok(events.iter().filter_map(rows::event).collect())
    }

    /// Returns the last events of a task, or the last before the event numbered `before`; at most `limit`, in order.
    pub async fn events_before(
        &self,
        viewer: &Viewer,
        id: &TaskId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<TaskEvent>, Error> {
        self.get(viewer, id).await?;
        let before = before.unwrap_or(i64::MAX);
        let events = tasks::events_before(&self.context.store, id.as_str(), before, limit).await?;
        Ok(events.iter().filter_map(rows::event).collect())
    }

    /// Waits until a task has an event after the one numbered `after`, has ended, or `timeout` is over. Then read
    /// [`Self::events`] and [`Self::get`] again.
    pub async fn wait_for_event(&self, id: &TaskId, after: i64, timeout: Duration) {
        let store = &self.context.store;
        let end = Instant::now() + timeout;
        let mut changes = self.context.watch(id);
        loop {
            changes.mark_unchanged();
            let later = tasks::events(store, id.as_str(), after, 1).await;
            let row = tasks::get(store, id.as_str()).await;
            let is_new = later.is_ok_and(|events| !events.is_empty());
            let is_over = row.is_ok_and(|row| row.is_none_or(|row| row.state.is_ended()));
            if is_new || is_over || tokio::time::timeout_at(end, next_change(&mut changes)).await.is_err() {
                return;
            }
        }
    }

    /// Returns at most `limit` ended tasks of a caller whose outcome was not fetched yet, oldest first.
    pub async fn undelivered(&self, caller: &Caller, limit: u32) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for row in tasks::undelivered(&self.context.store, &caller.key, limit).await? {
            tasks.push(self.complete(row).await?);
        }
        Ok(tasks)
    }

    /// Records that the outcome reached its asker; call it once the answer with the outcome is on its way. Returns
    /// true for the first call only.
    pub async fn mark_delivered(&self, id: &TaskId) -> bool {
        tasks::mark_delivered(&self.context.store, id.as_str(), now()).await.unwrap_or_else(|error| {
            tracing::warn!(%error, task = %id, "a fetched outcome could not be recorded as fetched");
            false
        })
    }
}

/// Waits for a change of this process, or until the store has to be read for changes of another hub.
async fn next_change(changes: &mut watch::Receiver<u64>) {
    let _ = tokio::time::timeout(SHARED_STORE_INTERVAL, changes.changed()).await;
}
