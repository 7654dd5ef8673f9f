//! Writes the events of a run in small batches, because a runner may print more lines in a second than a disk can take.

use std::time::Duration;

use tokio::time::Instant;

use super::context::{ExecutorContext, now};
use super::rows;
use crate::task::TaskEventKind;
use adjutant_store::tasks::{self, NewEvent};

/// How long the first event of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_millis(200);
/// Events of one batch; further events until the batch is written are only counted.
const BATCH_SIZE: usize = 200;
/// Events of one run that are written; further events are only counted.
const MAX_EVENTS: usize = 5_000;
/// Events that are read from the store at once.
const PAGE_SIZE: u32 = 1_000;

/// Events of a run that wait to be written.
#[derive(Debug)]
pub(super) struct EventBatch {
    waiting: Vec<TaskEventKind>,
    write_at: Option<Instant>,
    left_out: u64,
    /// How many events the run has had so far.
    total: usize,
    /// How many of them an earlier hub has written.
    written: usize,
}

impl EventBatch {
    /// `written` is how many events of this run are in the store already.
    pub(super) fn new(written: usize) -> Self {
        Self { waiting: Vec::new(), write_at: None, left_out: 0, total: 0, written }
    }

    /// Adds events, except those that are in the store already.
    pub(super) fn extend(&mut self, events: Vec<TaskEventKind>) {
        for event in events {
            self.total += 1;
            if self.total <= self.written {
                continue;
            }
            if self.waiting.len() >= BATCH_SIZE || self.total > MAX_EVENTS {
                self.left_out += 1;
                continue;
            }
            self.waiting.push(event);
            self.write_at.get_or_insert_with(|| Instant::now() + BATCH_DELAY);
        }
    }

    /// Waits until the batch has to be written; for ever while it is empty.
    pub(super) async fn wait_for_batch(&self) {
        match self.write_at {
            Some(write_at) => tokio::time::sleep_until(write_at).await,
            None => std::future::pending().await,
        }
    }

    /// Returns the batch, and starts an empty one.
    pub(super) fn take(&mut self) -> Vec<TaskEventKind> {
        self.write_at = None;
        std::mem::take(&mut self.waiting)
    }

    /// Returns the last batch, with a notice of the events that were left out.
    pub(super) fn finish(mut self) -> Vec<TaskEventKind> {
        let mut last = self.take();
        if self.left_out > 0 {
            let text = format!("{} more events are left out here", self.left_out);
            last.push(TaskEventKind::HubNotice { text });
        }
        last
    }
}

/// Writes one event at once.
pub(super) async fn write_event(context: &ExecutorContext, row: &tasks::Task, event: TaskEventKind) {
    write_events(context, row, vec![event]).await;
}

/// Writes events. A failure is logged and does not end the run.
pub(super) async fn write_events(context: &ExecutorContext, row: &tasks::Task, events: Vec<TaskEventKind>) {
    if events.is_empty() {
        return;
    }
    let event = |kind: TaskEventKind| NewEvent { at: now(), kind: kind.name(), data: rows::json(&kind) };
    let events = events.into_iter().map(event).collect();
    if let Err(error) = tasks::append_events(&context.store, &row.lease(), events).await {
        tracing::warn!(%error, task = row.id, "the events of a run could not be written");
    }
    context.notify_changed(&row.id);
}

/// Counts the events of a task's current attempt that are in the store.
pub(super) async fn count_written(context: &ExecutorContext, task: &str) -> usize {
    let (mut after, mut count) = (0, 0);
    while let Ok(events) = tasks::events(&context.store, task, after, PAGE_SIZE).await
        && let Some(last) = events.last()
    {
        after = last.seq;
        for event in &events {
            count = if event.kind == "started" { 0 } else { count + 1 };
        }
    }
    count
}
