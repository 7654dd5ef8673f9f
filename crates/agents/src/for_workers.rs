//! The hub's side of workers: offers its queued tasks, hands them over, and takes their results.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::broadcast;

use super::agents::Agents;
use super::error::Error;
use super::executor::context::{ExecutorContext, make_private, now};
use super::executor::rows;
use super::lane;
use super::run_report::{FailureReport, Outcome, RunReport};
use super::task::{TaskEvent, TaskId};
use super::worker_order::{Claimed, Offer, RemoteAgent, Reply};
use super::workspace_bundle::{BUNDLE_FILE, INCLUDED_FILE, ORDER_FILE, forget, pack, unpack};
use adjutant_base::events::Event;
use adjutant_store::tasks::{self, Ending, Lease, NewEvent, State};
use adjutant_store::{Millis, workers};

/// Queued tasks that are offered at once.
const MAX_OFFERS: u32 = 1_000;

impl Agents {
    /// Returns the queued tasks of this machine that a worker may claim: those that work in a worktree.
    pub async fn offers(&self) -> Result<Vec<Offer>, Error> {
        let rows = tasks::offered(&self.context.store, MAX_OFFERS).await?;
        let in_worktree = |row: &tasks::Task| rows::options(row).is_ok_and(|options| options.worktree);
        let offered = rows.into_iter().filter(in_worktree);
        Ok(offered
            .map(|row| {
                let (runner, label) = lane::parts(&row.runner);
                let (runner, label) = (runner.to_owned(), label.map(ToOwned::to_owned));
                Offer { task: row.id, attempt: row.attempt + 1, fence: row.fence, runner, label }
            })
            .collect())
    }

    /// Returns when a task was queued since the last call. Several tasks are one; for one caller.
    pub async fn task_queued(&self) {
        self.context.queued.notified().await;
    }

    /// Accepts tasks that need a worker with a label from now on, because workers are served.
    pub fn serve_workers(&self) {
        let _ = self.context.serves_workers.set(());
    }

    /// Returns the label that a queued task needs; `None` where it needs none or is not queued.
    pub async fn label_of(&self, task: &str) -> Result<Option<String>, Error> {
        let row = tasks::get(&self.context.store, task).await?;
        Ok(row.and_then(|row| lane::parts(&row.runner).1.map(ToOwned::to_owned)))
    }

    /// Returns the id of the worker that holds a task.
    pub async fn worker_of(&self, task: &str) -> Result<Option<String>, Error> {
        let row = tasks::get(&self.context.store, task).await?;
        Ok(row.and_then(|row| tasks::held_by(row.hub.as_deref()?).map(ToOwned::to_owned)))
    }

    /// Claims a task for a worker, and writes its order and its bundles. The lease ends after `lease` without a report.
    /// The bundles have at most `max_bundle` bytes each, and leave out the `commits`, which the worker has. The error
    /// is a text for the worker, and begins with `stale:` if the offer is outdated; the task is queued still, or has
    /// ended. A claim `again` of a worker that got no answer to the first one returns what that one claimed.
    pub async fn claim_for_worker(
        &self,
        ticket: &Lease,
        worker: &str,
        (lease, max_bundle): (Duration, u64),
        (commits, again): (&[String], bool),
    ) -> Result<Claimed, String> {
        let context = &*self.context;
        if again && let Some(claimed) = self.claimed_before(ticket, worker, lease).await? {
            return Ok(claimed);
        }
        let row = tasks::get(&context.store, &ticket.task).await.map_err(|error| error.to_string())?;
        let current = row.filter(|row| row.state == State::Queued && row.fence == ticket.fence);
        let Some(row) = current else {
            return Err("stale: the task is not queued with this fence".to_owned());
        };
        let folder = context.folder(&row.id);
        make_private(&folder).map_err(|error| format!("the task's folder cannot be made: {error}"))?;
        let (order, bundle_bytes) = pack(context, &row, &folder, max_bundle, commits).await?;
        let order = rows::json(&order);
        fs::write(folder.join(ORDER_FILE), &order).map_err(|error| error.to_string())?;
        let claimed = tasks::claim_for_worker(&context.store, ticket, worker, now(), lease_end(lease));
        let Some(row) = claimed.await.map_err(|error| error.to_string())? else {
            forget(context, &row).await;
            return Err("stale: this hub was faster, or the task was cancelled".to_owned());
        };
        context.notify_changed(&row.id);
        context.events.send(Event::TasksChanged);
        Ok(Claimed { fence: row.fence, order_bytes: order.len() as u64, bundle_bytes })
    }

    /// Returns what an earlier claim with this ticket gave `worker`, if its agent is not started, and renews its lease.
    async fn claimed_before(
        &self,
        ticket: &Lease,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, String> {
        let context = &*self.context;
        let claimed = Lease { task: ticket.task.clone(), fence: ticket.fence + 1 };
        let row = held(context, &claimed, worker).await.map_err(|error| error.to_string())?;
        if row.is_none_or(|row| row.spool.is_some()) {
            return Ok(None);
        }
        let extended = tasks::extend(&context.store, &claimed, lease_end(lease), None).await;
        if extended.map_err(|error| error.to_string())?.is_none() {
            return Ok(None);
        }
        let folder = context.folder(&claimed.task);
        let bytes = |name| folder.join(name).metadata().map_or(0, |found| found.len());
        let (order_bytes, bundle_bytes) = (bytes(ORDER_FILE), bytes(BUNDLE_FILE) + bytes(INCLUDED_FILE));
        Ok(Some(Claimed { fence: claimed.fence, order_bytes, bundle_bytes }))
    }

    /// Returns the folder of a task that `worker` holds with this fence; `None` when it does not.
    pub async fn folder_for_worker(&self, lease: &Lease, worker: &str) -> Result<Option<PathBuf>, Error> {
        let Some(row) = held(&self.context, lease, worker).await? else { return Ok(None) };
        let folder = self.context.folder(&row.id);
        // It is removed while the disk is nearly full; a result needs it again.
        if let Err(error) = make_private(&folder) {
            tracing::warn!(%error, task = row.id, "the folder of a worker's task cannot be made");
        }
        Ok(Some(folder))
    }

    /// Returns the agent of a task that `worker` holds with this fence, as a client of this hub; `None` when it does not.
    /// `worker` is the worker's id and name, `there` the folder of the agent on the worker.
    pub async fn agent_on_worker(
        &self,
        lease: &Lease,
        worker: (&str, &str),
        there: PathBuf,
    ) -> Result<Option<RemoteAgent>, Error> {
        let (id, name) = worker;
        let Some(row) = held(&self.context, lease, id).await? else { return Ok(None) };
        let task = TaskId::parse(&row.id).ok_or_else(|| Error::UnknownTask { id: row.id.clone() })?;
        Ok(Some(RemoteAgent { task, worker: name.to_owned(), there, here: row.workdir.into() }))
    }

    /// Returns whether `worker` holds a task with this fence.
    pub async fn is_held_by(&self, lease: &Lease, worker: &str) -> Result<bool, Error> {
        Ok(held(&self.context, lease, worker).await?.is_some())
    }

    /// Takes a report of a worker: extends its lease by `lost_after`, records if its agent was `started`, and appends
    /// the events of the run.
    pub async fn progress_of_worker(
        &self,
        lease: &Lease,
        worker: &str,
        started: bool,
        events: Vec<TaskEvent>,
        lost_after: Duration,
    ) -> Result<Reply, Error> {
        let context = &*self.context;
        if held(context, lease, worker).await?.is_none() {
            return Ok(Reply::Stale);
        }
        let spool = started.then(|| context.folder(&lease.task).display().to_string());
        let Some(cancel) =
            tasks::extend(&context.store, lease, lease_end(lost_after), spool.as_deref()).await?
        else {
            return Ok(Reply::Stale);
        };
        if !events.is_empty() {
            let event = |event: TaskEvent| NewEvent {
                at: event.at,
                kind: event.kind.name(),
                data: rows::json(&event.kind),
            };
            tasks::append_events(&context.store, lease, events.into_iter().map(event).collect()).await?;
            context.notify_changed(&lease.task);
        }
        Ok(if cancel { Reply::Cancel } else { Reply::Continue })
    }

    /// Ends a task with the outcome that its worker delivered. `worker` is the worker's id and name, `result` the
    /// commit and its bundle; the commit is in the repository as `refs/adjutant/TASK` before the task ends. False when
    /// the fence is stale: then the task has not changed.
    pub async fn finish_for_worker(
        &self,
        lease: &Lease,
        worker: (&str, &str),
        mut outcome: Outcome,
        result: Option<(String, PathBuf)>,
    ) -> Result<bool, Error> {
        let context = &*self.context;
        let (id, name) = worker;
        let Some(row) = held(context, lease, id).await? else { return Ok(false) };
        outcome.report.worker = Some(name.to_owned());
        if let Some((commit, bundle)) = result {
            match unpack(context, &row, &commit, &bundle).await {
                Ok(reference) => {
                    outcome.report.repository.get_or_insert_default().reference = Some(reference);
                }
                Err(reason) => {
                    outcome.report.files_unknown =
                        Some(format!("the worker's commit was not taken: {reason}"));
                }
            }
        }
        let class = outcome.failure.as_ref().map(|fault| fault.class.clone());
        let (ending, json) = (outcome.status, rows::json(&outcome));
        // Before the end, so that a hub that dies in between leaves no reference.
        forget(context, &row).await;
        let ended = tasks::finish(&context.store, lease, ending, class.as_deref(), &json, now()).await?;
        context.notify_changed(&lease.task);
        context.events.send(Event::TasksChanged);
        if ended {
            let folder = context.folder(&lease.task);
            let _ = tokio::task::spawn_blocking(move || fs::remove_dir_all(folder)).await;
        }
        Ok(ended)
    }

    /// Returns whether a task ended with the outcome that `worker` delivered with this fence.
    pub async fn is_settled_for_worker(&self, lease: &Lease, worker: &str) -> Result<bool, Error> {
        let row = tasks::get(&self.context.store, &lease.task).await?;
        Ok(row.is_some_and(|row| {
            let delivered = matches!(row.state, State::Ended(ending) if ending != Ending::Lost);
            delivered && row.fence == lease.fence && row.hub.as_deref() == Some(&*tasks::holder(worker))
        }))
    }

    /// Returns the ids of the tasks that workers hold and have not reported on for too long, and of those that revoked workers
    /// hold, oldest first.
    pub async fn tasks_of_lost_workers(&self) -> Result<Vec<String>, Error> {
        let expired = tasks::expired(&self.context.store, now()).await?;
        Ok(expired.into_iter().map(|row| row.id).collect())
    }

    /// Puts a task of a worker that is revoked, or has not reported for `lost_after`, back into the queue, or ends it as lost
    /// where the agent was started, because a run that started is never run again by itself. A task on which the worker
    /// reported since then stays, and without `lost_after` each task of a worker that is not revoked. No request about the
    /// task may be carried out meanwhile, because both use its folder.
    pub async fn settle_task_of_lost_worker(
        &self,
        task: &str,
        lost_after: Option<Duration>,
    ) -> Result<(), Error> {
        let context = &*self.context;
        let Some(row) = tasks::get(&context.store, task).await? else { return Ok(()) };
        let Some(worker) = row.hub.as_deref().and_then(tasks::held_by) else { return Ok(()) };
        if row.state != State::Running {
            return Ok(());
        }
        let known = workers::get(&context.store, worker).await?;
        let reason = match lost_after {
            _ if known.as_ref().is_some_and(|known| known.revoked_at.is_some()) => "is revoked".to_owned(),
            Some(lost_after) if row.lease_until.is_some_and(|end| end < now()) => {
                format!("has not reported for {} s", lost_after.as_secs())
            }
            Some(_) | None => return Ok(()),
        };
        let lease = row.lease();
        forget(context, &row).await;
        if tasks::release(&context.store, &lease).await? {
            tracing::warn!(task, "a worker was lost before it started the task: it is queued again");
            context.wake.notify_one();
            context.queued.notify_one();
        } else {
            let worker = known.map_or_else(|| worker.to_owned(), |known| known.name);
            let detail = format!("{worker} {reason}; how far the agent came is unknown");
            let failure = Some(FailureReport { class: "lost".to_owned(), detail });
            let report = RunReport { worker: Some(worker), is_uncounted: true, ..RunReport::default() };
            let outcome = rows::json(&Outcome { failure, report, ..Outcome::new(Ending::Lost) });
            if tasks::finish(&context.store, &lease, Ending::Lost, Some("lost"), &outcome, now()).await? {
                tracing::warn!(task, "a worker was lost after it started the task, which ended as lost");
            }
        }
        context.notify_changed(task);
        context.events.send(Event::TasksChanged);
        Ok(())
    }

    /// Returns a receiver of the ids of running tasks that are to be cancelled, from now on.
    pub fn cancellations(&self) -> broadcast::Receiver<String> {
        self.context.cancellations.subscribe()
    }
}

fn lease_end(lease: Duration) -> Millis {
    now() + Millis::try_from(lease.as_millis()).unwrap_or(Millis::MAX / 2)
}

/// Returns the row of a task that `worker` holds with this fence.
async fn held(context: &ExecutorContext, lease: &Lease, worker: &str) -> Result<Option<tasks::Task>, Error> {
    let row = tasks::get(&context.store, &lease.task).await?;
    let holder = tasks::holder(worker);
    Ok(row.filter(|row| {
        row.state == State::Running && row.fence == lease.fence && row.hub.as_deref() == Some(&holder)
    }))
}
