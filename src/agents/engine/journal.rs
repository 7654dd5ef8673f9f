//! What happens in a run, written down in small batches: a runner may say more in a second than a disk can take.

use std::time::Duration;

use tokio::time::Instant;

use super::{Engine, now, rows};
use crate::agents::runner::reader::{Progress, ToolResult};
use crate::agents::task::What;
use crate::store::tasks::{self, NewEvent};

/// How long an event waits for others.
const PAUSE: Duration = Duration::from_millis(200);
/// Events of one batch; what comes beyond is counted only.
const BATCH: usize = 200;
/// Events that are kept of one run.
const EACH_RUN: usize = 5_000;

/// Events that wait to be written.
#[derive(Debug)]
pub(super) struct Journal {
    waiting: Vec<What>,
    due: Option<Instant>,
    left_out: u64,
    /// How many were told so far, and how many of them another hub wrote already.
    told: usize,
    known: usize,
}

impl Journal {
    /// `known` is how many events of this run are written already.
    pub(super) fn new(known: usize) -> Self {
        Self { waiting: Vec::new(), due: None, left_out: 0, told: 0, known }
    }

    pub(super) fn extend(&mut self, news: Vec<Progress>) {
        for progress in news {
            self.told += 1;
            if self.told <= self.known {
                continue;
            }
            if self.waiting.len() >= BATCH || self.told > EACH_RUN {
                self.left_out += 1;
                continue;
            }
            self.waiting.push(what(progress));
            self.due.get_or_insert_with(|| Instant::now() + PAUSE);
        }
    }

    /// Waits until a batch is due; for ever while there is none.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn take(&mut self) -> Vec<What> {
        self.due = None;
        std::mem::take(&mut self.waiting)
    }

    /// Returns the last batch, with a word about what was left out.
    pub(super) fn finish(mut self) -> Vec<What> {
        let mut last = self.take();
        if self.left_out > 0 {
            last.push(What::Notice { text: format!("{} more events are left out here", self.left_out) });
        }
        last
    }
}

impl Engine {
    /// Writes one event at once.
    pub(super) async fn tell(&self, row: &tasks::Task, what: What) {
        self.append(row, vec![what]).await;
    }

    /// Writes events; that they cannot be written does not end a run.
    pub(super) async fn append(&self, row: &tasks::Task, news: Vec<What>) {
        if news.is_empty() {
            return;
        }
        let event = |what: What| NewEvent { at: now(), kind: kind(&what), data: rows::json(&what) };
        let events = news.into_iter().map(event).collect();
        if let Err(error) = tasks::append_events(&self.store, &row.lease(), events).await {
            tracing::warn!(%error, task = row.id, "what happened in a run could not be written");
        }
        self.changed_now(&row.id);
    }

    /// Counts what the runner of the current attempt told so far, as far as it is written.
    pub(super) async fn told(&self, task: &str) -> usize {
        let (mut after, mut count) = (0, 0);
        while let Ok(events) = tasks::events(&self.store, task, after, 1_000).await
            && let Some(last) = events.last()
        {
            after = last.seq;
            for event in &events {
                count = if event.kind == "started" { 0 } else { count + 1 };
            }
        }
        count
    }
}

fn kind(what: &What) -> String {
    let json = serde_json::to_value(what).unwrap_or_default();
    json["kind"].as_str().unwrap_or("notice").to_owned()
}

fn what(progress: Progress) -> What {
    match progress {
        Progress::Text(text) => What::Text { text },
        Progress::Thinking(text) => What::Thinking { text },
        Progress::CommandStarted { command } => What::CommandStarted { command },
        Progress::CommandEnded { command, exit } => What::CommandEnded { command, exit },
        Progress::ToolStarted { tool } => What::ToolStarted { tool },
        Progress::ToolEnded { tool, result } => {
            What::ToolEnded { tool, failed: result == ToolResult::Failed }
        }
        Progress::FilesChanged(files) => What::FilesChanged { files },
        Progress::Notice(text) => What::Notice { text },
    }
}
