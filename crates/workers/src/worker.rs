//! The worker's side: pulls tickets, and runs each claimed task in a folder of its own.

mod agent_connections;
mod assignment;
mod caches;
mod claim;
mod hello;
mod hub_client;
mod outbox;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{self, AckKind};
use futures::StreamExt as _;
use tokio::sync::{Mutex, RwLock, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::credentials::Credentials;
use crate::protocol::{STREAM, Ticket, VERSION, can_be_subject, consumer_name};
use adjutant_agents::{Agents, Viewer};
pub use agent_connections::AgentConnections;
use assignment::Assignment;

/// Time that one pull waits for a ticket.
const PULL_TIMEOUT: Duration = Duration::from_secs(1);
/// Minimum of [`PULL_TIMEOUT`] in a worker that pulls many queues in turn.
const MIN_PULL_TIMEOUT: Duration = Duration::from_millis(100);
/// Pause after a failed pull: there is no stream before the first ticket.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Time that a process that ends spends on its last results.
const LAST_DELIVERIES: Duration = Duration::from_secs(10);

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// The id of this machine, and its name.
    pub id: String,
    pub name: String,
    /// The folder of the claimed tasks.
    pub folder: PathBuf,
    /// The folder of bare repositories of hubs, and their bytes at most.
    pub caches: PathBuf,
    pub max_cache_bytes: u64,
    /// The runners for which tasks are claimed.
    pub runners: Vec<String>,
    /// Tasks that run at the same time.
    pub max_tasks: usize,
    /// The labels that the worker has; tasks without a label are claimed too.
    pub labels: Vec<String>,
    /// Whether the worker ends when there is no ticket and no task.
    pub exit_when_idle: bool,
    /// The credentials of a worker that joined.
    pub credentials: Option<Credentials>,
}

/// The reason why a worker ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop, or was idle where that ends it.
    Stopped,
    /// It drained.
    Drained,
    /// The user revoked it.
    Revoked,
}

/// A worker that is connected to a NATS server.
pub struct Worker {
    agents: Agents,
    client: async_nats::Client,
    settings: WorkerSettings,
    connections: AgentConnections,
    slots: Arc<Semaphore>,
    running: TaskTracker,
    stop: CancellationToken,
    /// Held by each claim until its working tree is made, because the hub's bundle counts on the commits in the caches;
    /// held alone while caches are removed.
    caches: Arc<RwLock<()>>,
    /// Held while a working tree is made of a cache.
    trees: Mutex<()>,
    /// Cancelled when no further task is to be claimed.
    full: CancellationToken,
    revoked: AtomicBool,
}

impl Worker {
    /// Makes a worker without I/O. `agents` is the worker's own queue, with its own database, and `connections` those of
    /// its agents.
    pub fn new(
        agents: Agents,
        client: async_nats::Client,
        settings: WorkerSettings,
        connections: AgentConnections,
        stop: CancellationToken,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(settings.max_tasks));
        let full = stop.child_token();
        let running = TaskTracker::new();
        let (caches, trees) = (Arc::default(), Mutex::default());
        let revoked = AtomicBool::new(false);
        Self { agents, client, settings, connections, slots, running, stop, caches, trees, full, revoked }
    }

    /// Delivers what an earlier process of this worker left, then claims and runs tasks until the stop, or until it is idle
    /// where that ends it, drained or revoked.
    pub async fn run(self: Arc<Self>) -> Ended {
        let worker = self;
        let reports = tokio::spawn({
            let worker = worker.clone();
            async move { worker.say_hello().await }
        });
        worker.work_on_tasks().await;
        reports.abort();
        if worker.revoked.load(Ordering::SeqCst) {
            Ended::Revoked
        } else if worker.full.is_cancelled() && !worker.stop.is_cancelled() {
            Ended::Drained
        } else {
            Ended::Stopped
        }
    }

    /// Delivers the results of runs that ended because this process ends, within [`LAST_DELIVERIES`]. The next process of this
    /// worker delivers the others.
    pub async fn deliver_ended(&self) {
        let deliveries = Assignment::left_over(&self.settings.folder).into_iter().map(async |assignment| {
            let Some(local) = &assignment.claim.local else { return };
            let task = self.agents.get(&Viewer::User, local).await;
            if task.is_ok_and(|task| task.state.is_ended()) {
                self.finish(assignment).await;
            }
        });
        if tokio::time::timeout(LAST_DELIVERIES, futures::future::join_all(deliveries)).await.is_err() {
            tracing::warn!("some results are not delivered yet; the next start of this worker delivers them");
        }
    }

    async fn work_on_tasks(self: &Arc<Self>) {
        let worker = self;
        for assignment in Assignment::left_over(&worker.settings.folder) {
            let running = worker.clone();
            worker.running.spawn(async move { running.end(assignment).await });
        }
        let labels = || [None].into_iter().chain(worker.settings.labels.iter().map(Some));
        let runners = worker.settings.runners.iter().filter(|runner| can_be_subject(runner));
        let queues: Vec<String> = runners
            .flat_map(|runner| labels().map(|label| consumer_name(runner, label.map(String::as_str))))
            .collect();
        let idle: Vec<AtomicBool> = queues.iter().map(|_| AtomicBool::new(false)).collect();
        let pulls = queues.iter().enumerate().map(|(number, queue)| worker.pull(queue, number, &idle));
        futures::future::join_all(pulls).await;
        worker.running.close();
        worker.running.wait().await;
    }

    async fn pull(self: &Arc<Self>, queue: &str, number: usize, idle: &[AtomicBool]) {
        let jetstream = jetstream::new(self.client.clone());
        // With one free slot the queues are pulled in turn.
        let queues = u32::try_from(idle.len()).unwrap_or(u32::MAX);
        let timeout = (PULL_TIMEOUT / queues).max(MIN_PULL_TIMEOUT);
        loop {
            let Some(Ok(slot)) = self.full.run_until_cancelled(self.slots.clone().acquire_owned()).await
            else {
                return;
            };
            let next = self.full.run_until_cancelled(next_ticket(&jetstream, queue, timeout)).await;
            match next {
                None => return,
                Some(Ok(Some(message))) => {
                    idle[number].store(false, Ordering::SeqCst);
                    let worker = self.clone();
                    self.running.spawn(async move {
                        worker.take(message).await;
                        drop(slot);
                    });
                }
                Some(Ok(None)) => {
                    drop(slot);
                    idle[number].store(true, Ordering::SeqCst);
                    let all_idle = idle.iter().all(|idle| idle.load(Ordering::SeqCst));
                    if self.settings.exit_when_idle && all_idle && self.running.is_empty() {
                        self.stop.cancel();
                    }
                }
                Some(Err(reason)) => {
                    drop(slot);
                    tracing::debug!(reason, queue, "no ticket can be pulled");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    /// Claims the task of a ticket and runs it to its end.
    async fn take(&self, message: jetstream::Message) {
        let Ok(ticket) = serde_json::from_slice::<Ticket>(&message.payload) else {
            return acknowledge(&message, AckKind::Term).await;
        };
        if ticket.version != VERSION {
            let theirs = ticket.version;
            tracing::warn!(theirs, ours = VERSION, "the hub of a ticket has another version of the protocol");
            return acknowledge(&message, AckKind::Nak(Some(PULL_TIMEOUT))).await;
        }
        let Some(claimed) = self.stop.run_until_cancelled(self.claim(&ticket, &message)).await else {
            return acknowledge(&message, AckKind::Nak(None)).await;
        };
        match claimed {
            Ok(Some(mut assignment)) => {
                assignment.message = Some(message);
                self.end(assignment).await;
            }
            // The hub publishes it again as long as the task is queued.
            Ok(None) => acknowledge(&message, AckKind::Ack).await,
            Err(reason) => {
                tracing::warn!(reason, task = ticket.task, "the hub cannot be asked for a task");
                acknowledge(&message, AckKind::Nak(Some(PULL_TIMEOUT))).await;
            }
        }
    }

    /// Runs an assignment from where it is to its end, or to the stop of this process.
    async fn end(&self, assignment: Assignment) {
        let finished = Box::pin(self.finish(assignment));
        self.stop.run_until_cancelled(finished).await;
    }

    /// Runs an assignment from where it is to its end, and removes its files once the hub does not need them.
    async fn finish(&self, mut assignment: Assignment) {
        let settled = Box::pin(self.work(&mut assignment)).await;
        if let Some(local) = &assignment.claim.local {
            self.connections.dismiss(local);
        }
        if let Err(reason) = settled {
            tracing::warn!(reason, task = assignment.task(), "a task of a hub does not count");
        }
        if let Some(message) = &assignment.message {
            acknowledge(message, AckKind::Ack).await;
        }
        if let Some(local) = &assignment.claim.local {
            // Before the folder, which has the repository of the worktree.
            Box::pin(self.agents.remove_worktree_of_order(local)).await;
        }
        assignment.remove();
    }
}

/// Pulls the next ticket of a queue; `None` when there is none.
async fn next_ticket(
    jetstream: &jetstream::Context,
    queue: &str,
    timeout: Duration,
) -> Result<Option<jetstream::Message>, String> {
    // A worker may not ask for the stream, because the answer could have the subjects of all tickets.
    let consumer: Consumer<pull::Config> =
        jetstream.get_consumer_from_stream(queue, STREAM).await.map_err(|error| error.to_string())?;
    let batch = consumer.batch().max_messages(1).expires(timeout).messages().await;
    let mut batch = batch.map_err(|error| error.to_string())?;
    batch.next().await.transpose().map_err(|error| error.to_string())
}

/// Acknowledges a ticket. A lost acknowledgement brings the ticket again, and its fence has its claim refused.
async fn acknowledge(message: &jetstream::Message, kind: AckKind) {
    if let Err(error) = message.ack_with(kind).await {
        tracing::debug!(%error, "a ticket could not be acknowledged");
    }
}
