//! The hub's side: publishes tickets, answers workers, and settles what lost workers held.

mod arrivals;
mod requests;
mod streams;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::jetstream;
use async_nats::jetstream::stream::Stream;
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::connection::{Login, connect, log_version};
use crate::protocol::{
    STREAM, Ticket, VERSION, can_be_subject, cancel_subject, consumer, consumer_name, hello_subject,
    hub_subject, join_subject, sender, stream, ticket_subject, tickets_of_hub,
};
use adjutant_agents::Agents;
use adjutant_agents::worker_order::Offer;
use adjutant_base::config::workers::WorkersConfig;
pub use streams::Arrivals;
use streams::{MAX_STREAMS, Streams};

/// Interval at which the tickets are compared with the queue, besides after each new task.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(1);
/// Pause before a new task is offered: a hub with a free slot has claimed it then, and tasks that come together are offered
/// together.
const OFFER_DELAY: Duration = Duration::from_millis(50);
/// Interval at which the hub looks whether NATS has lost the ticket of a queued task.
const TICKET_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Pause before a task that cannot travel is offered again. A commit of its changes may make it travel.
const REFUSAL_INTERVAL: Duration = Duration::from_secs(30);
/// Requests of a kind that are answered at the same time, but for those of streams.
const MAX_REQUESTS: usize = 16;

/// The kinds of messages that a hub answers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Request,
    Hello,
    Join,
}

/// A hub with workers.
pub struct Hub {
    agents: Agents,
    config: WorkersConfig,
    /// The id of this machine.
    id: String,
    home: PathBuf,
    /// The account with the key that makes credentials; `None` where the NATS server decides who is a worker.
    account: Option<Account>,
    /// The connections of agents on workers, and the place where the hub takes them.
    streams: Streams,
    arrivals: Arrivals,
    /// The places of requests that are answered soon, and of those that use a repository, which may take minutes.
    slots: Semaphore,
    repository_slots: Semaphore,
    /// The tasks whose folder or repository a request uses now, and the worker that sent it.
    busy: Mutex<HashMap<String, String>>,
    /// The ends of the pauses in which queued tasks are not offered, by task and fence: of each that was offered.
    quiet: Mutex<HashMap<(String, i64), Instant>>,
}

impl Hub {
    /// Makes the hub's side without I/O. `id` is that of the machine, and a relative path of credentials is below
    /// `home`. Agents on workers that connect arrive at `arrivals`.
    pub fn new(agents: Agents, config: WorkersConfig, id: String, home: PathBuf, arrivals: Arrivals) -> Self {
        if config.nats.is_some() {
            agents.serve_workers();
        }
        let (slots, repository_slots) = (Semaphore::new(MAX_REQUESTS), Semaphore::new(MAX_REQUESTS));
        let (streams, busy, quiet) = (Streams::default(), Mutex::default(), Mutex::default());
        Self {
            agents,
            config,
            id,
            home,
            account: None,
            streams,
            arrivals,
            slots,
            repository_slots,
            busy,
            quiet,
        }
    }

    /// Serves workers until `stop`; returns at once where no NATS server is configured.
    pub async fn serve(mut self, stop: CancellationToken) {
        let Some(url) = self.config.nats.clone() else { return };
        let client = match self.connect(&url).await {
            Ok(client) => client,
            Err(reason) => return tracing::error!(reason, "no worker is served"),
        };
        let hub = Arc::new(self);
        let warned = async {
            log_version(&client).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = async { stop.cancelled().await; hub.streams.all_ended().await } => {}
            () = hub.streams.end_idle() => {}
            () = hub.answer(&client, Kind::Request) => {}
            () = hub.answer(&client, Kind::Hello) => {}
            () = hub.answer(&client, Kind::Join) => {}
            () = hub.cancel(&client) => {}
            () = hub.reconcile(&client) => {}
            () = hub.settle(&client) => {}
            () = warned => {}
        }
    }

    async fn connect(&mut self, url: &str) -> Result<async_nats::Client, String> {
        let login = Login::of_hub(&self.config, &self.home)?;
        if matches!(login, Login::Open) {
            tracing::warn!(
                "workers have no credentials: everybody who may publish to the NATS server can act as one; \
                 `adjutant worker nats-config` prints a configuration of the server that prevents it"
            );
        }
        self.account = Account::load(&self.home)?;
        connect(url, login, "adjutant hub").await
    }

    /// Answers one kind of messages, in the inbox of the sender.
    async fn answer(self: &Arc<Self>, client: &async_nats::Client, kind: Kind) {
        let subject = match kind {
            Kind::Request => hub_subject(&self.id, "*"),
            Kind::Hello => hello_subject("*"),
            Kind::Join => join_subject("*"),
        };
        let requests = match client.subscribe(subject).await {
            Ok(requests) => requests,
            Err(error) => return tracing::error!(%error, "workers are not answered"),
        };
        let open = self.account.is_none();
        requests
            .for_each_concurrent(2 * MAX_REQUESTS + 2 * MAX_STREAMS, |message| async move {
                let Some(inbox) = message.reply else { return };
                let Some(id) = sender(&message.subject, &inbox, open) else {
                    return tracing::warn!(subject = %message.subject, "a request names an inbox of another process");
                };
                let response = match kind {
                    Kind::Request => serde_json::to_vec(&self.respond(id, &message.payload).await).ok(),
                    Kind::Hello => self.greeting(id, &message.payload).await.and_then(|it| serde_json::to_vec(&it).ok()),
                    Kind::Join => self.joined(id, &message.payload).await.and_then(|it| serde_json::to_vec(&it).ok()),
                };
                let Some(response) = response else { return };
                if let Err(error) = client.publish(inbox, response.into()).await {
                    tracing::warn!(%error, "a worker gets no answer");
                }
            })
            .await;
    }

    /// Sends cancellations to the workers at once; a report of a worker that missed one is answered with it too.
    async fn cancel(&self, client: &async_nats::Client) {
        let mut cancellations = self.agents.cancellations();
        loop {
            match cancellations.recv().await {
                Ok(task) => {
                    let Ok(Some(worker)) = self.agents.worker_of(&task).await else { continue };
                    let subject = cancel_subject(&self.id, &worker, &task);
                    if let Err(error) = client.publish(subject, "".into()).await {
                        tracing::warn!(%error, task, "a cancellation reaches its worker with its next report");
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Keeps a ticket in the stream for each task that the database has as queued.
    async fn reconcile(&self, client: &async_nats::Client) {
        let jetstream = jetstream::new(client.clone());
        let mut failed = false;
        loop {
            match self.publish(&jetstream).await {
                Ok(()) => failed = false,
                Err(reason) if failed => tracing::debug!(reason, "tasks are not offered to workers"),
                Err(reason) => {
                    failed = true;
                    tracing::warn!(reason, "tasks are not offered to workers until this works again");
                }
            }
            let _ = tokio::time::timeout(RECONCILE_INTERVAL, self.agents.task_queued()).await;
            tokio::time::sleep(OFFER_DELAY).await;
        }
    }

    async fn publish(&self, jetstream: &jetstream::Context) -> Result<(), String> {
        let offers = self.agents.offers().await.map_err(|error| error.to_string())?;
        let offers = self.due(offers);
        if offers.is_empty() {
            return Ok(());
        }
        let queue = jetstream.get_or_create_stream(stream()).await;
        let queue = queue.map_err(|error| format!("the stream {STREAM} cannot be made: {error}"))?;
        // A ticket that is published again goes to the end of its queue, so one that is there keeps its place.
        let kept = if offers.iter().any(|(_, was_published)| *was_published) {
            self.kept_tickets(&queue).await?
        } else {
            HashSet::new()
        };
        let mut made = HashSet::new();
        for (offer, was_published) in offers {
            let label = offer.label.as_deref();
            // Also for a ticket that is there, because a server can lose the one without the other.
            let name = consumer_name(&offer.runner, label);
            if !made.contains(&name) {
                let result = queue.get_or_create_consumer(&name, consumer(&offer.runner, label)).await;
                result.map_err(|error| format!("the queue {name} cannot be made: {error}"))?;
                made.insert(name);
            }
            let subject = ticket_subject(&self.id, &offer.runner, label, &offer.task);
            if was_published && kept.contains(&subject) {
                self.be_quiet(offer.task, offer.fence, TICKET_CHECK_INTERVAL);
                continue;
            }
            let ticket = Ticket {
                version: VERSION,
                hub: self.id.clone(),
                task: offer.task.clone(),
                attempt: offer.attempt,
                fence: offer.fence,
            };
            let payload = serde_json::to_vec(&ticket).unwrap_or_default();
            let sent = jetstream.publish(subject, payload.into()).await.map_err(|error| error.to_string())?;
            sent.await.map_err(|error| format!("a ticket is not stored: {error}"))?;
            self.be_quiet(offer.task, offer.fence, TICKET_CHECK_INTERVAL);
        }
        Ok(())
    }

    /// Returns the subjects of this hub's tickets that are in the stream.
    async fn kept_tickets(&self, queue: &Stream) -> Result<HashSet<String>, String> {
        let tickets = queue.info_with_subjects(tickets_of_hub(&self.id)).await;
        let tickets = tickets.map_err(|error| format!("the stream {STREAM} cannot be read: {error}"))?;
        let subjects = tickets.map_ok(|(subject, _)| subject).try_collect().await;
        subjects.map_err(|error| format!("the stream {STREAM} cannot be read: {error}"))
    }

    /// Returns the offers whose pause is over or that had none, with whether this hub published a ticket of them before.
    fn due(&self, offers: Vec<Offer>) -> Vec<(Offer, bool)> {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |offer: &Offer| (offer.task.clone(), offer.fence);
        let queued: HashSet<_> = offers.iter().map(key).collect();
        quiet.retain(|offer, _| queued.contains(offer));
        let (busy, now) = (self.busy.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let due = offers.into_iter().filter_map(|offer| {
            let until = quiet.get(&key(&offer));
            // A task for which a bundle is being made is queued still.
            let is_due = can_be_subject(&offer.runner)
                && until.is_none_or(|until| *until <= now)
                && !busy.contains_key(&offer.task);
            is_due.then_some((offer, until.is_some()))
        });
        due.collect()
    }

    fn be_quiet(&self, task: String, fence: i64, duration: Duration) {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        quiet.insert((task, fence), Instant::now() + duration);
    }

    /// Reserves a task for one request of `worker`, because two that pack or unpack it at once would use the same files.
    /// The error is the worker whose request has it.
    fn reserve(&self, task: &str, worker: &str) -> Result<Reservation<'_>, String> {
        match self.busy.lock().unwrap_or_else(PoisonError::into_inner).entry(task.to_owned()) {
            Entry::Occupied(entry) => Err(entry.get().clone()),
            Entry::Vacant(entry) => {
                entry.insert(worker.to_owned());
                Ok(Reservation { hub: self, task: task.to_owned() })
            }
        }
    }

    /// Settles the tasks of lost and of revoked workers. Workers get the whole time after the start of the hub, and after each time in which
    /// the hub had no connection or the database did not answer, because no report reached the database then.
    async fn settle(&self, client: &async_nats::Client) {
        let lost_after = self.config.lost_after;
        let mut since = Instant::now();
        loop {
            tokio::time::sleep(RECONCILE_INTERVAL).await;
            let asked = Instant::now();
            let lost = self.agents.tasks_of_lost_workers().await;
            // A call waits for a database that is away, and one on a busy disk is slow without that.
            let is_slow = asked.elapsed() > lost_after / 4;
            if client.connection_state() != State::Connected || lost.is_err() || is_slow {
                since = Instant::now();
            }
            let lost = match lost {
                Ok(lost) => lost,
                Err(error) => {
                    tracing::warn!(%error, "the tasks of lost workers cannot be read");
                    continue;
                }
            };
            let lost_after = (since.elapsed() >= lost_after).then_some(lost_after);
            for task in lost {
                // A request about the task is carried out, so its worker is not lost.
                let Ok(_reservation) = self.reserve(&task, &self.id) else { continue };
                if let Err(error) = self.agents.settle_task_of_lost_worker(&task, lost_after).await {
                    // A database that takes no change takes no report.
                    since = Instant::now();
                    tracing::warn!(%error, task, "the task of a lost worker cannot be settled");
                }
            }
        }
    }
}

/// A task that one request has; it is free again with the end of this value.
struct Reservation<'a> {
    hub: &'a Hub,
    task: String,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.hub.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.task);
    }
}
