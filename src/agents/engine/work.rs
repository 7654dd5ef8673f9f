//! The worker loop: takes up what a dead hub left, claims, runs, and keeps leases alive.

use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::run::remove_but_tree;
use super::{Engine, Running, now};
use crate::agents::receipt::{Fault, Outcome, Receipt};
use crate::events::Event;
use crate::process;
use crate::store::Millis;
use crate::store::tasks::{self, Claim, Ending, Keep, Slots};

/// How long a claim stands without being extended, and how often it is.
const LEASE: Duration = Duration::from_mins(1);
const EXTEND: Duration = Duration::from_secs(15);
/// How often the queue is looked at without a reason: another hub may have put something in.
const LOOK: Duration = Duration::from_secs(2);
/// How often the tasks of hubs that share the store are looked through for lost ones, and old tasks are removed.
const LOOK_ROUND: Duration = Duration::from_secs(30);
const SWEEP: Duration = Duration::from_hours(1);

/// The lease's end, from now.
pub(super) fn lease_until() -> Millis {
    now() + Millis::try_from(LEASE.as_millis()).unwrap_or(0)
}

impl Engine {
    /// Runs until `stop`; then every run is ended, or left to the next hub where its agent says so.
    pub(in crate::agents) async fn work(self: Arc<Self>, stop: CancellationToken) {
        let mut runs = JoinSet::new();
        // A store of our own has one hub at a time: whoever ran something before us is gone.
        let shared = self.store.is_shared();
        if !self.has_runs().await {
            // Nobody's agent can be mistaken, so nobody waits for the database.
            self.taken_up.send_replace(true);
        }
        let mut known = false;
        let mut round = interval_at(Instant::now() + LOOK_ROUND, LOOK_ROUND);
        let mut sweep = interval_at(Instant::now() + LOOK_ROUND, SWEEP);
        for timer in [&mut round, &mut sweep] {
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        loop {
            if !known {
                known = self.take_up(&mut runs, &stop, if shared { now() } else { Millis::MAX }).await;
                self.taken_up.send_if_modified(|before| known && !std::mem::replace(before, true));
            }
            // A store that does not answer is asked again soon, though nobody enters anything.
            let again = !self.claim(&mut runs, &stop).await || !known;
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.wake.notified() => {}
                Some(_) = runs.join_next(), if !runs.is_empty() => {}
                _ = round.tick(), if shared => known = false,
                _ = sweep.tick() => self.sweep().await,
                () = tokio::time::sleep(LOOK), if shared || again => {}
            }
        }
        while runs.join_next().await.is_some() {}
        if self.settings.spool.is_none() {
            let folder = self.spool.clone();
            let _ = tokio::task::spawn_blocking(move || remove_own_spool(&folder)).await;
        }
    }

    /// Whether a run goes on that a hub left.
    async fn has_runs(&self) -> bool {
        let spool = self.spool.clone();
        tokio::task::spawn_blocking(move || process::has_runs(&spool)).await.unwrap_or(true)
    }

    /// Claims what there is room for. Returns whether the store could tell.
    async fn claim(self: &Arc<Self>, runs: &mut JoinSet<()>, stop: &CancellationToken) -> bool {
        let claimed = tasks::claim(
            &self.store,
            Claim {
                hub: self.hub.clone(),
                now: now(),
                lease_until: lease_until(),
                total: self.settings.max_running,
                runners: self.slots(),
                at_most: self.settings.max_running,
            },
        )
        .await;
        match claimed {
            Ok(rows) => {
                for row in rows {
                    self.spawn(runs, row, None, stop);
                }
            }
            Err(error) => {
                tracing::error!(%error, "the queue cannot be read");
                return false;
            }
        }
        true
    }

    fn slots(&self) -> Vec<Slots> {
        let slots = |name: &str| {
            let own = self.settings.per_runner.get(name).copied();
            own.unwrap_or(self.settings.max_running_per_runner)
        };
        self.selector
            .candidates()
            .iter()
            .map(|candidate| candidate.runner.name())
            .map(|name| Slots { runner: name.to_owned(), slots: slots(name) })
            .collect()
    }

    /// Runs one claimed row on a task of its own. `spool` is the folder of a run that a hub left.
    fn spawn(
        self: &Arc<Self>,
        runs: &mut JoinSet<()>,
        row: tasks::Task,
        spool: Option<PathBuf>,
        stop: &CancellationToken,
    ) {
        let engine = self.clone();
        let stop = stop.clone();
        let cancelled = CancellationToken::new();
        if row.cancel_requested_at.is_some() {
            cancelled.cancel();
        }
        // The agent of a run that goes on may ask this hub before the run is followed again.
        let supervisor = spool.as_deref().and_then(process::supervisor_of);
        let entry = Running { cancelled: cancelled.clone(), run: None, supervisor };
        self.running().insert(row.id.clone(), entry);
        self.changed_now(&row.id);
        self.events.send(Event::TasksChanged);
        runs.spawn(async move {
            let lease = row.lease();
            let run = AssertUnwindSafe(engine.run(row.clone(), spool, cancelled, &stop)).catch_unwind();
            tokio::select! {
                ran = run => if ran.is_err() {
                    engine.fail(&row).await;
                },
                () = engine.keep(&lease) => {}
            }
            engine.running().remove(&row.id);
            engine.changed_now(&row.id);
            engine.events.send(Event::TasksChanged);
        });
    }

    /// Extends a lease until it is lost, and passes on a wish to cancel that another process wrote down.
    async fn keep(&self, lease: &tasks::Lease) {
        loop {
            tokio::time::sleep(EXTEND).await;
            match tasks::extend(&self.store, lease, lease_until(), None).await {
                Ok(Some(true)) => self.stop_run(&lease.task),
                Ok(Some(false)) => {}
                // Another hub speaks for the task now; the run here is dropped, and ended with that.
                Ok(None) => return,
                Err(error) => tracing::warn!(%error, "a lease could not be extended"),
            }
        }
    }

    /// Takes up the tasks of hubs whose leases ended before `before`: a run that goes on is followed, one that ended
    /// is read. What never began is begun; nothing that may have begun is ever run again by itself. Returns whether the
    /// store told of all of them, and gave them.
    async fn take_up(
        self: &Arc<Self>,
        runs: &mut JoinSet<()>,
        stop: &CancellationToken,
        before: Millis,
    ) -> bool {
        let left = match tasks::running_of_dead_hubs(&self.store, &self.hub, before).await {
            Ok(left) => left,
            Err(error) => {
                tracing::error!(%error, "the tasks of the last hub cannot be read yet");
                return false;
            }
        };
        let mut all = true;
        for row in left {
            match tasks::take_over(&self.store, &row.lease(), &self.hub, lease_until()).await {
                // The folder of a run is noted before the run begins.
                Ok(Some(row)) => {
                    let spool = row.spool.clone().map(PathBuf::from);
                    self.spawn(runs, row, spool, stop);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, task = row.id, "a task could not be taken over yet");
                    all = false;
                }
            }
        }
        all
    }

    /// Removes old tasks and their files.
    async fn sweep(&self) {
        let ago = |age: Duration| now() - Millis::try_from(age.as_millis()).unwrap_or(Millis::MAX / 2);
        let keep = Keep {
            delivered_since: ago(self.settings.keep_delivered),
            ended_since: ago(self.settings.keep_undelivered),
            count: self.settings.keep_count,
        };
        loop {
            match tasks::prune(&self.store, keep).await {
                Ok(gone) if gone.is_empty() => return,
                Ok(gone) => {
                    for task in gone {
                        self.remove_files(&task.id).await;
                    }
                }
                Err(error) => return tracing::warn!(%error, "old tasks could not be removed"),
            }
        }
    }

    /// Ends a task of which nobody knows how far it came. It is never run again by itself.
    pub(super) async fn lose(&self, row: &tasks::Task, detail: &str, receipt: Receipt) {
        let outcome = Outcome {
            status: Ending::Lost.as_str().to_owned(),
            failure: Some(Fault { class: "lost".to_owned(), detail: detail.to_owned() }),
            receipt,
            ..Outcome::default()
        };
        self.finish(row, &outcome).await;
    }

    /// Ends a task at which the hub itself made a mistake, which is in the log.
    async fn fail(&self, row: &tasks::Task) {
        let detail = "the hub made a mistake while it ran; its log says more".to_owned();
        let outcome = Outcome {
            status: Ending::Failed.as_str().to_owned(),
            failure: Some(Fault { class: "hub".to_owned(), detail }),
            ..Outcome::default()
        };
        self.finish(row, &outcome).await;
    }
}

/// Removes a spool that was made for this process alone, but for worktrees that were kept.
fn remove_own_spool(folder: &Path) -> io::Result<()> {
    for task in std::fs::read_dir(folder)? {
        remove_but_tree(&task?.path())?;
    }
    std::fs::remove_dir(folder)
}
