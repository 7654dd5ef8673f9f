//! The worker loop: takes up what a dead hub left, claims, runs, and keeps leases alive.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Engine, Running, now, rows};
use crate::agents::receipt::{Fault, Outcome};
use crate::store::Millis;
use crate::store::tasks::{self, Claim, Ending, Slots};

/// How long a claim stands without being extended, and how often it is.
const LEASE: Duration = Duration::from_mins(1);
const EXTEND: Duration = Duration::from_secs(15);
/// How often the queue is looked at without a reason: another hub may have put something in.
const LOOK: Duration = Duration::from_secs(2);

/// The lease's end, from now.
pub(super) fn lease_until() -> Millis {
    now() + Millis::try_from(LEASE.as_millis()).unwrap_or(0)
}

impl Engine {
    /// Runs until `stop`; then every run is ended, or left to the next hub where its agent says so.
    pub(in crate::agents) async fn work(self: Arc<Self>, stop: CancellationToken) {
        let mut runs = JoinSet::new();
        self.prune().await;
        self.take_up(&mut runs, &stop).await;
        loop {
            self.claim(&mut runs, &stop).await;
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.wake.notified() => {}
                Some(_) = runs.join_next(), if !runs.is_empty() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        while runs.join_next().await.is_some() {}
    }

    /// Forgets tasks that are older, or more, than are kept, with the folders of their runs.
    async fn prune(&self) {
        let settings = &self.settings;
        let ago = |age: Duration| now() - Millis::try_from(age.as_millis()).unwrap_or(Millis::MAX);
        let keep = tasks::Keep {
            delivered_since: ago(settings.keep_delivered),
            ended_since: ago(settings.keep_undelivered),
            count: settings.keep_count,
        };
        loop {
            match tasks::prune(&self.store, keep).await {
                Ok(gone) if gone.is_empty() => return,
                Ok(gone) => {
                    for folder in gone.iter().filter_map(|task| task.spool.as_deref()) {
                        // The folder of a run stands in that of its task.
                        if let Some(task) = std::path::Path::new(folder).parent() {
                            let _ = std::fs::remove_dir_all(task);
                        }
                    }
                }
                Err(error) => return tracing::warn!(%error, "old tasks could not be removed"),
            }
        }
    }

    /// Claims what there is room for.
    async fn claim(self: &Arc<Self>, runs: &mut JoinSet<()>, stop: &CancellationToken) {
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
            Err(error) => tracing::error!(%error, "the queue cannot be read"),
        }
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

    /// Runs one claimed row on a task of its own. `spool` is the folder of a run that goes on.
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
        self.running().insert(row.id.clone(), Running { cancelled: cancelled.clone(), run: None });
        self.changed_now();
        self.events.send(crate::events::Event::TasksChanged);
        runs.spawn(async move {
            let id = row.id.clone();
            let lease = row.lease();
            tokio::select! {
                () = engine.run(row, spool, cancelled, &stop) => {}
                () = engine.keep(&lease) => {}
            }
            engine.running().remove(&id);
            engine.changed_now();
            engine.events.send(crate::events::Event::TasksChanged);
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

    /// Takes up the tasks of hubs that are gone: a run that goes on is followed, any other is lost.
    async fn take_up(self: &Arc<Self>, runs: &mut JoinSet<()>, stop: &CancellationToken) {
        let left = match tasks::running_of_dead_hubs(&self.store, &self.hub, now()).await {
            Ok(left) => left,
            Err(error) => return tracing::error!(%error, "the tasks of the last hub cannot be read"),
        };
        for row in left {
            let taken = tasks::take_over(&self.store, &row.lease(), &self.hub, lease_until()).await;
            let Ok(Some(row)) = taken else { continue };
            let keep = rows::options(&row).is_ok_and(|options| options.keep);
            match row.spool.clone().map(PathBuf::from).filter(|_| keep) {
                Some(spool) => self.spawn(runs, row, Some(spool), stop),
                None => self.lose(&row, "the hub that ran it ended, and the run with it").await,
            }
        }
    }

    /// Ends a task of which nobody knows how far it came. It is never run again by itself.
    pub(super) async fn lose(&self, row: &tasks::Task, detail: &str) {
        let outcome = Outcome {
            status: Ending::Lost.as_str().to_owned(),
            failure: Some(Fault { class: "lost".to_owned(), detail: detail.to_owned() }),
            ..Outcome::default()
        };
        let json = rows::json(&outcome);
        if let Err(error) =
            tasks::finish(&self.store, &row.lease(), Ending::Lost, Some("lost"), &json, now()).await
        {
            tracing::error!(%error, task = row.id, "an outcome could not be written");
        }
        self.changed_now();
    }
}
