//! Values for monitoring: the hub's readiness, and numbers of its requests and its store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use super::App;
use adjutant_base::metrics::Counts;
use adjutant_questions as questions;
use adjutant_store::{Store, Timings};

/// How long the store, or the disk with the prompts and agents, may take. A probe of an orchestrator waits for this.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The requests of clients since this process started. A subscription is not counted, because it lasts as long as its client.
#[derive(Debug)]
pub struct RequestCounts {
    /// Ended requests, by outcome. `dropped`: its client cancelled it or left.
    pub ended: Counts,
    in_flight: AtomicU64,
    tool_errors: AtomicU64,
}

impl RequestCounts {
    pub(crate) fn new() -> Self {
        Self {
            ended: Counts::new(&["result", "error", "dropped"]),
            in_flight: AtomicU64::default(),
            tool_errors: AtomicU64::default(),
        }
    }

    /// Waits for the answer to a request, and counts the request.
    pub async fn count<T, E>(&self, answer: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let mut request = InFlight { counts: self, outcome: "dropped" };
        let answer = answer.await;
        request.outcome = if answer.is_ok() { "result" } else { "error" };
        answer
    }

    /// Counts a tool call that failed; its request counts as `result`.
    pub fn add_tool_error(&self) {
        self.tool_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of tool calls that failed.
    pub fn tool_errors(&self) -> u64 {
        self.tool_errors.load(Ordering::Relaxed)
    }

    /// Returns the number of requests without an answer.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// A request in flight. It is counted when this is dropped, which also happens to a request that is cancelled.
struct InFlight<'a> {
    counts: &'a RequestCounts,
    outcome: &'static str,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.counts.ended.add(self.outcome);
    }
}

/// Numbers of the rows in the store.
#[derive(Clone, Debug)]
pub struct StoredCounts {
    pub pending_questions: u64,
    /// Each state of tasks by name, with the number of this machine's tasks in it.
    pub tasks: Vec<(&'static str, u64)>,
}

impl App {
    /// Checks that the store answers and that the folders of prompts and agents can be read. The error is the sentence
    /// for a program that monitors the hub.
    pub async fn check_readiness(&self) -> Result<(), &'static str> {
        let store = timeout(PROBE_TIMEOUT, self.questions.count_pending());
        let prompts = timeout(PROBE_TIMEOUT, self.prompts.files.fresh());
        let agents = timeout(PROBE_TIMEOUT, self.agents.registry().files.fresh());
        let (store, prompts, agents) = tokio::join!(store, prompts, agents);
        if !matches!(store, Ok(Ok(_))) {
            return Err("the store does not answer");
        }
        let read = matches!((prompts, agents), (Ok(Ok(_)), Ok(Ok(_))));
        if read { Ok(()) } else { Err("the folders of prompts and agents cannot be read") }
    }

    /// Returns why the database does not answer, in words without its URL; `None` if it answers.
    pub async fn database_fault(&self) -> Option<String> {
        match timeout(PROBE_TIMEOUT, self.questions.count_pending()).await {
            Ok(Ok(_)) => None,
            Ok(Err(questions::Error::Store(error))) => {
                Some(error.cause().unwrap_or_else(|| error.to_string()))
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
        }
    }

    /// Counts rows of the store; `None` if it does not answer in time.
    pub async fn stored_counts(&self) -> Option<StoredCounts> {
        let read = async {
            let pending_questions = self.questions.count_pending().await.ok()?;
            Some(StoredCounts { pending_questions, tasks: self.agents.count_by_state().await.ok()? })
        };
        timeout(PROBE_TIMEOUT, read).await.ok().flatten()
    }

    /// Returns how long the operations of the store took.
    pub fn store_timings(&self) -> Option<&Timings> {
        self.stores.first().map(Store::timings)
    }
}
