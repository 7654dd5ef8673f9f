//! Queue of tasks: claims and runs them, keeps their leases alive, and adopts the runs that an earlier hub left.

use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::context::{
    ActiveRun, ExecutorContext, lease_until, make_space, now, remove_except_worktree, remove_files,
};
use super::task_run::{self, mark_failed};
use crate::worktrees;
use adjutant_base::events::Event;
use adjutant_host::{process, temporary_folder};
use adjutant_store::Millis;
use adjutant_store::tasks::{self, Claim, Retention, Slots};

/// How often a lease is extended.
const LEASE_INTERVAL: Duration = Duration::from_secs(15);
/// How often a shared queue is read without a notification, because another hub may have queued a task.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often the tasks of hubs that share the store are searched for ended leases.
const ORPHAN_INTERVAL: Duration = Duration::from_secs(30);
/// How often old tasks are removed.
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);

/// Claims and runs tasks until `stop`; then every run is ended, or left to the next hub where its agent says so.
pub(crate) async fn run(context: &Arc<ExecutorContext>, stop: CancellationToken) {
    let mut runs = JoinSet::new();
    // A store that is not shared has one hub at a time, so every earlier hub has ended.
    let shared = context.store.is_shared();
    if !has_runs(context).await {
        // No process can be mistaken for an agent of an earlier hub, so nothing has to wait for the database.
        context.runs_adopted.send_replace(true);
    }
    tokio::task::spawn_blocking(remove_abandoned_folders);
    let mut adopted = false;
    let mut orphan_timer = interval_at(Instant::now() + ORPHAN_INTERVAL, ORPHAN_INTERVAL);
    let mut prune_timer = interval_at(Instant::now() + ORPHAN_INTERVAL, PRUNE_INTERVAL);
    for timer in [&mut orphan_timer, &mut prune_timer] {
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    }
    loop {
        if !adopted {
            // The last try may have failed because the disk was full.
            make_space(context).await;
            adopted = adopt_runs(context, &mut runs, &stop, if shared { now() } else { Millis::MAX }).await;
            context.runs_adopted.send_if_modified(|before| adopted && !std::mem::replace(before, true));
        }
        // A claim that failed may have been carried out, and its tasks are adopted then.
        adopted &= claim(context, &mut runs, &stop).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = context.wake.notified() => {}
            Some(_) = runs.join_next(), if !runs.is_empty() => make_space(context).await,
            _ = orphan_timer.tick(), if shared => adopted = false,
            _ = prune_timer.tick() => prune(context).await,
            // A store that does not answer is asked again soon, although no task is queued.
            () = tokio::time::sleep(POLL_INTERVAL), if shared || !adopted => {}
        }
    }
    while runs.join_next().await.is_some() {}
    if context.settings.spool.is_none() {
        let folder = context.spool.clone();
        let _ = tokio::task::spawn_blocking(move || remove_temporary_spool(&folder)).await;
    }
}

/// Returns whether a run of an earlier hub still runs.
async fn has_runs(context: &ExecutorContext) -> bool {
    let spool = context.spool.clone();
    tokio::task::spawn_blocking(move || process::has_runs(&spool)).await.unwrap_or(true)
}

/// Claims tasks for the free slots. Returns false if the store does not answer.
async fn claim(context: &Arc<ExecutorContext>, runs: &mut JoinSet<()>, stop: &CancellationToken) -> bool {
    let _claiming = context.claiming.lock().await;
    if context.drains.load(Ordering::SeqCst) > 0 {
        return true;
    }
    let claimed = tasks::claim(
        &context.store,
        Claim {
            hub: context.hub.clone(),
            now: now(),
            lease_until: lease_until(),
            total: context.settings.max_running,
            runners: slots(context),
            at_most: context.settings.max_running,
        },
    )
    .await;
    match claimed {
        Ok(rows) => {
            for row in rows {
                spawn(context, runs, row, None, stop);
            }
        }
        Err(error) => {
            tracing::error!(%error, "the queue cannot be read");
            return false;
        }
    }
    true
}

fn slots(context: &ExecutorContext) -> Vec<Slots> {
    let names = context.selector.names().into_iter();
    names.map(|name| Slots { slots: slots_of(context, &name), runner: name }).collect()
}

/// Returns how many tasks the hub itself runs at once on a runner.
pub(crate) fn slots_of(context: &ExecutorContext, runner: &str) -> u32 {
    let own = context.settings.per_runner.get(runner).copied();
    own.unwrap_or(context.settings.max_running_per_runner)
}

/// Runs one claimed row on a separate async task. `spool` is the folder of the attempt that an earlier hub left.
fn spawn(
    context: &Arc<ExecutorContext>,
    runs: &mut JoinSet<()>,
    row: tasks::Task,
    spool: Option<PathBuf>,
    stop: &CancellationToken,
) {
    let context = context.clone();
    let stop = stop.clone();
    let cancelled = CancellationToken::new();
    if row.cancel_requested_at.is_some() {
        cancelled.cancel();
    }
    // The agent of a resumed run may send a request before its output is followed again.
    let supervisor = spool.as_deref().and_then(process::supervisor_of);
    let active = ActiveRun { cancelled: cancelled.clone(), run: None, supervisor };
    context.active().insert(row.id.clone(), active);
    context.notify_changed(&row.id);
    context.events.send(Event::TasksChanged);
    runs.spawn(async move {
        let lease = row.lease();
        let run =
            AssertUnwindSafe(task_run::run(&context, row.clone(), spool, cancelled, &stop)).catch_unwind();
        tokio::select! {
            ran = run => if ran.is_err() {
                mark_failed(&context, &row, &stop).await;
            },
            () = hold_lease(&context, &lease) => {}
        }
        context.active().remove(&row.id);
        context.notify_changed(&row.id);
        context.events.send(Event::TasksChanged);
    });
}

/// Extends a lease until it is lost, and cancels the run when another process has recorded a cancellation.
async fn hold_lease(context: &ExecutorContext, lease: &tasks::Lease) {
    loop {
        tokio::time::sleep(LEASE_INTERVAL).await;
        match tasks::extend(&context.store, lease, lease_until(), None).await {
            Ok(Some(true)) => context.cancel_run(&lease.task),
            Ok(Some(false)) => {}
            // Another hub holds the task now. Dropping the run ends it.
            Ok(None) => return,
            Err(error) => tracing::warn!(%error, "a lease could not be extended"),
        }
    }
}

/// Adopts the tasks of other hubs whose leases ended before `before`, and those of this hub that nothing here runs: a run
/// that still runs is followed, the output of one that ended is read, and one that never started is started. A run that
/// started is never run again by itself. Returns false if the store did not answer for all of them.
async fn adopt_runs(
    context: &Arc<ExecutorContext>,
    runs: &mut JoinSet<()>,
    stop: &CancellationToken,
    before: Millis,
) -> bool {
    let running = match tasks::running(&context.store, &context.hub, before).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::error!(%error, "the tasks of the last hub cannot be read yet");
            return false;
        }
    };
    let mut all = true;
    for row in running {
        if context.active().contains_key(&row.id) {
            continue;
        }
        match tasks::take_over(&context.store, &row.lease(), &context.hub, lease_until()).await {
            // The row names the spool before its run starts.
            Ok(Some(row)) => {
                let spool = row.spool.clone().map(PathBuf::from);
                spawn(context, runs, row, spool, stop);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, task = row.id, "a task could not be adopted yet");
                all = false;
            }
        }
    }
    all
}

/// Removes old worktrees, then old tasks and their files.
async fn prune(context: &ExecutorContext) {
    let (spool, age) = (context.spool.clone(), context.settings.keep_worktrees_for);
    let _ = tokio::task::spawn_blocking(move || worktrees::remove_older(&spool, age)).await;
    let ago = |age: Duration| now() - Millis::try_from(age.as_millis()).unwrap_or(Millis::MAX / 2);
    let keep = Retention {
        delivered_since: ago(context.settings.keep_delivered),
        ended_since: ago(context.settings.keep_undelivered),
        count: context.settings.keep_count,
    };
    loop {
        match tasks::prune(&context.store, keep).await {
            Ok(removed) if removed.is_empty() => return,
            Ok(removed) => {
                for task in removed {
                    remove_files(context, &task.id).await;
                }
            }
            Err(error) => return tracing::warn!(%error, "old tasks could not be removed"),
        }
    }
}

/// Removes the temporary folders of killed processes, because the output of agents would stay in them. A folder with a
/// running process of a run stays. Blocks on the disk.
fn remove_abandoned_folders() {
    for folder in temporary_folder::abandoned() {
        if !process::has_runs(&folder)
            && let Err(error) = remove_temporary_spool(&folder)
        {
            tracing::warn!(%error, "the temporary files of a killed process could not be removed");
        }
    }
}

/// Removes a spool that was made for this process alone, except the worktrees in it.
fn remove_temporary_spool(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_except_worktree(&entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    std::fs::remove_dir(folder)
}
