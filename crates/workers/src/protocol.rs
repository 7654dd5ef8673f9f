//! Messages between hub and worker, their subjects, and the stream of tickets.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use serde::{Deserialize, Serialize};

use adjutant_agents::TaskEvent;
use adjutant_agents::worker_order::Reply;

/// The version of the messages. A side that reads a different version refuses it and names both numbers.
pub(crate) const VERSION: u32 = 1;

/// The stream of tickets. All hubs on a NATS server share it.
pub(crate) const STREAM: &str = "ADJUTANT-TICKETS";

/// How long a ticket waits for an acknowledgement before another worker gets it.
const ACK_WAIT: Duration = Duration::from_secs(30);

/// Maximum bytes of one chunk of a file, because a NATS server accepts messages of 1 MiB.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// A task that may be claimed. It has no text, because every worker may read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ticket {
    pub(crate) version: u32,
    /// The id of the machine whose hub has the task.
    pub(crate) hub: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    pub(crate) fence: i64,
}

/// A request of a worker to the hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) version: u32,
    /// The id of the worker's machine, and its name.
    pub(crate) worker: String,
    pub(crate) worker_name: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    /// Of the ticket in a claim, then that of the claim.
    pub(crate) fence: i64,
    pub(crate) body: Body,
}

/// What a request asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Body {
    Claim,
    /// A part of a file of the hub.
    Read {
        file: HubFile,
        offset: u64,
    },
    Progress {
        /// Whether the agent is about to be started, or was.
        started: bool,
        events: Vec<TaskEvent>,
    },
    /// A part of the result, in base64.
    Write {
        file: ResultFile,
        offset: u64,
        data: String,
    },
    /// The files of the result are complete.
    Finish {
        commit: Option<String>,
    },
}

/// A file that travels from hub to worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HubFile {
    Order,
    Bundle,
}

/// A file that travels from worker to hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResultFile {
    Outcome,
    Bundle,
}

/// The hub's reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Response {
    Claimed {
        fence: i64,
        order_bytes: u64,
        bundle_bytes: u64,
        /// Milliseconds between two reports, at most.
        report_ms: u64,
        /// Maximum bytes of a result.
        max_bytes: u64,
    },
    Data {
        data: String,
    },
    Progress {
        reply: Reply,
    },
    Written,
    /// The outcome is committed.
    Settled,
    /// The request will never succeed; the fence is stale, or the task cannot travel.
    Refused {
        reason: String,
    },
    /// The hub cannot answer now; the same request later may succeed.
    Later {
        reason: String,
    },
}

/// Returns the subject of a ticket. A newer ticket of a task replaces the older one.
pub(crate) fn ticket_subject(hub: &str, runner: &str, task: &str) -> String {
    format!("adj.{hub}.ticket.{runner}.{task}")
}

/// Returns the subject of requests to a hub.
pub(crate) fn hub_subject(hub: &str) -> String {
    format!("adj.{hub}.hub")
}

/// Returns the subject on which the cancellation of a task reaches its worker.
pub(crate) fn cancel_subject(hub: &str, task: &str) -> String {
    format!("adj.{hub}.cancel.{task}")
}

/// Returns whether a runner's name can be a part of a subject.
pub(crate) fn can_be_subject(runner: &str) -> bool {
    !runner.is_empty() && runner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns the settings of the stream of tickets: a work queue with one ticket for each task.
pub(crate) fn stream() -> Config {
    Config {
        name: STREAM.to_owned(),
        subjects: vec!["adj.*.ticket.>".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::Old,
        max_messages_per_subject: 1,
        ..Config::default()
    }
}

/// Returns the name of the queue of a runner's tickets.
pub(crate) fn consumer_name(runner: &str) -> String {
    format!("runner-{runner}")
}

/// Returns the settings of the queue of a runner's tickets, for the tasks of all hubs.
pub(crate) fn consumer(runner: &str) -> pull::Config {
    pull::Config {
        durable_name: Some(consumer_name(runner)),
        filter_subject: format!("adj.*.ticket.{runner}.*"),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        ..pull::Config::default()
    }
}
