//! Messages between hub and worker, their subjects, and the stream of tickets.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use serde::{Deserialize, Serialize};

use adjutant_agents::TaskEvent;
use adjutant_agents::worker_order::Reply;

/// The version of the messages. A side that reads a different version refuses it and names both numbers.
pub(crate) const VERSION: u32 = 2;

/// Time that the hub waits for a part of a stream before it answers that there is none yet.
pub(crate) const POLL_TIMEOUT: Duration = Duration::from_secs(5);

/// The stream of tickets. All hubs on a NATS server share it.
pub(crate) const STREAM: &str = "ADJUTANT-TICKETS";

/// Time that a ticket waits for an acknowledgement before another worker gets it.
const ACK_WAIT: Duration = Duration::from_secs(30);

/// The place of the label in the subject of a ticket that needs none. No label begins with it.
const NO_LABEL: &str = "_";

/// Maximum commits that a worker says it has.
pub(crate) const MAX_COMMITS: usize = 512;

/// Maximum bytes of one chunk of a file or part of a stream, because a NATS server accepts messages of 1 MiB.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// A task that may be claimed. It has no text, because every worker may read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ticket {
    pub(crate) version: u32,
    /// The id of the machine on which the hub of the task is.
    pub(crate) hub: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    pub(crate) fence: i64,
}

/// The member that all versions of a message have.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Versioned {
    pub(crate) version: u32,
}

/// A request of a worker to the hub. The subject has the id of the worker, because the NATS server holds a worker to the
/// subjects of its credentials, and to no content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) version: u32,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    /// In a claim the fence of the ticket, in later requests the fence that the claim got.
    pub(crate) fence: i64,
    pub(crate) body: Body,
}

/// The content of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Body {
    Claim {
        /// Commits of the hub's repositories that the worker has.
        commits: Vec<String>,
        /// Whether the worker got no answer to an earlier request of this claim.
        #[serde(default)]
        again: bool,
    },
    /// A part of a file of the hub.
    Read { file: HubFile, offset: u64 },
    Progress {
        /// Whether the agent is about to be started, or was.
        started: bool,
        events: Vec<TaskEvent>,
    },
    /// A part of the result, in base64.
    Write { file: ResultFile, offset: u64, data: String },
    /// The files of the result are complete.
    Finish { commit: Option<String> },
    /// The agent of the task connects. The worker chooses the name of the `stream`, so that the request may come twice.
    Open {
        stream: String,
        /// The folder of the agent on the worker.
        folder: PathBuf,
    },
    /// The part of a stream with this number, in base64; empty at its end. Parts are numbered from 1 on.
    Send { stream: String, number: u64, data: String },
    /// Asks for the part of the other direction with this number, and says that the worker has those before it.
    Receive { stream: String, number: u64 },
}

/// A file that travels from hub to worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HubFile {
    Order,
    /// Empty where the worker has the commit.
    Bundle,
    /// The ignored files that travel.
    Included,
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
    /// An earlier request of this claim is carried out: the bundles are made.
    Packing,
    /// A part of a file, or of a stream; an empty one of a stream says that there is nothing yet.
    Data {
        data: String,
    },
    Progress {
        reply: Reply,
    },
    /// The part of a file is stored, or that of a stream is passed on.
    Written,
    Opened,
    /// The stream has no part of this number: the hub has ended it.
    Ended,
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

/// A worker's report about itself to all hubs, at its start and then at an interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    pub(crate) name: String,
    /// The version of the program.
    pub(crate) program: String,
    pub(crate) runners: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) max_tasks: usize,
    /// The end of its credentials in milliseconds since 1970; `None` without credentials.
    pub(crate) expires_at: Option<i64>,
}

/// The reply of a hub that knows the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Greeting {
    Known {
        /// The version of the hub's program.
        program: String,
        /// Whether the worker is to claim nothing more.
        draining: bool,
        /// A new token, where that of the worker ends soon.
        renewed: Option<Renewed>,
    },
    /// The hub and the worker do not understand each other.
    OtherVersion { reason: String },
    /// The user ended the worker's credentials.
    Revoked,
}

/// The request for credentials of a worker that has a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Join {
    pub(crate) version: u32,
    /// The public key of the worker.
    pub(crate) worker: String,
    pub(crate) name: String,
    /// The key of an earlier join of the same home.
    #[serde(default)]
    pub(crate) earlier: Option<EarlierKey>,
}

/// The earlier key of a worker that joins again, with the proof that the worker has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EarlierKey {
    /// The public key.
    pub(crate) worker: String,
    /// The signature of the new public key, in base64.
    pub(crate) signature: String,
}

/// The reply of the hub that made the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Joined {
    Welcome(Renewed),
    Refused { reason: String },
}

/// Credentials of a worker, without its key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Renewed {
    pub(crate) jwt: String,
    /// In milliseconds since 1970.
    pub(crate) expires_at: i64,
    pub(crate) labels: Vec<String>,
}

/// Returns what is wrong with the version of a message, and the remedy; `None` if both sides have the same.
pub(crate) fn version_fault(theirs: u32) -> Option<String> {
    (theirs != VERSION).then(|| {
        let (older, newer) = if theirs < VERSION { ("worker", "hub") } else { ("hub", "worker") };
        format!(
            "this hub has version {VERSION} of the protocol, the worker {theirs}; install the adjutant of the {newer} on \
             the {older} too"
        )
    })
}

/// Returns the subject of a ticket. A newer ticket of a task replaces the older one.
pub(crate) fn ticket_subject(hub: &str, runner: &str, label: Option<&str>, task: &str) -> String {
    format!("adj.{hub}.ticket.{runner}.{}.{task}", label.unwrap_or(NO_LABEL))
}

/// Returns the pattern of the subjects of a hub's tickets.
pub(crate) fn tickets_of_hub(hub: &str) -> String {
    format!("adj.{hub}.ticket.>")
}

/// Returns the subject of requests of a worker to a hub; `*` stands for all workers.
pub(crate) fn hub_subject(hub: &str, worker: &str) -> String {
    format!("adj.{hub}.hub.{worker}")
}

/// Returns the subject of a worker's reports about itself.
pub(crate) fn hello_subject(worker: &str) -> String {
    format!("adj.hello.{worker}")
}

/// Returns the subject on which a code asks for credentials.
pub(crate) fn join_subject(invitation: &str) -> String {
    format!("adj.join.{invitation}")
}

/// Returns the beginning of the subjects of replies to a worker. Hubs reply there and nowhere else, or a worker could have
/// them publish to another subject.
pub(crate) fn inbox(worker: &str) -> String {
    format!("_INBOX.{worker}")
}

/// Returns the id at the end of the subject of a request, and whether `reply` is an inbox of that id or of a process
/// without credentials.
pub(crate) fn sender<'a>(subject: &'a str, reply: &str, open: bool) -> Option<&'a str> {
    let (_, id) = subject.rsplit_once('.')?;
    let below = |prefix: &str| reply.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    (below(&inbox(id)) || open && below("_INBOX")).then_some(id)
}

/// Returns the subject on which the cancellation of a task reaches its worker. The message has no content: the worker asks
/// the hub, because other workers can have the NATS server publish something here.
pub(crate) fn cancel_subject(hub: &str, worker: &str, task: &str) -> String {
    format!("adj.{hub}.cancel.{worker}.{task}")
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

/// Returns the name of the queue of the tickets for a runner, and for workers with a label.
pub(crate) fn consumer_name(runner: &str, label: Option<&str>) -> String {
    // A runner's name has no `=`, so the two forms never collide.
    label.map_or_else(|| format!("runner-{runner}"), |label| format!("runner-{runner}={label}"))
}

/// Returns the settings of the queue [`consumer_name`], which takes the tickets of all hubs.
pub(crate) fn consumer(runner: &str, label: Option<&str>) -> pull::Config {
    pull::Config {
        durable_name: Some(consumer_name(runner, label)),
        filter_subject: format!("adj.*.ticket.{runner}.{}.*", label.unwrap_or(NO_LABEL)),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        ..pull::Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{VERSION, sender, version_fault};

    #[test]
    fn a_reply_goes_to_the_inbox_of_the_sender_alone() {
        assert_eq!(sender("adj.h.hub.UA", "_INBOX.UA.x.1", false), Some("UA"));
        for other in ["_INBOX.UB.x.1", "_INBOX.UAB.x", "adj.h.hub.UB", "adj.h.cancel.UB.t", "_INBOX.x"] {
            assert_eq!(sender("adj.h.hub.UA", other, false), None, "{other}");
        }
        assert_eq!(sender("adj.h.hub.w", "_INBOX.x.1", true), Some("w"));
        assert_eq!(sender("adj.h.hub.w", "adj.h.hub.v", true), None);
    }

    #[test]
    fn the_older_side_is_the_one_to_update() {
        assert_eq!(version_fault(VERSION), None);
        assert!(version_fault(VERSION - 1).unwrap().contains("the adjutant of the hub on the worker"));
        assert!(version_fault(VERSION + 1).unwrap().contains("the adjutant of the worker on the hub"));
    }
}
