//! Task of a hub on this worker, from its claim to its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use async_nats::jetstream::{self, AckKind};
use futures::StreamExt as _;
use tokio::sync::OwnedRwLockReadGuard;

use super::claim::Claim;
use super::hub_client::ask;
use super::outbox::Parcel;
use super::{Worker, acknowledge};
use crate::files::{put_synced, write_chunk};
use crate::protocol::{Body, CHUNK_BYTES, HubFile, Response, Ticket, can_be_subject, cancel_subject};
use adjutant_agents::run_report::{FailureReport, Outcome};
use adjutant_agents::runner::failure::Class;
use adjutant_agents::task::Ending;
use adjutant_agents::worker_order::{Order, Reply};
use adjutant_agents::{BUNDLE_FILE, Error, INCLUDED_FILE, ORDER_FILE, Task, TaskEvent, TaskId, Viewer};

/// Events in one report, and their bytes.
const MAX_EVENTS: u32 = 200;
const MAX_EVENT_BYTES: usize = 2 * CHUNK_BYTES;

/// Maximum bytes of an order.
const MAX_ORDER_BYTES: u64 = 64 * 1024 * 1024;

/// Time that a claim waits for its response before the worker asks whether the hub is making the bundles, and then the
/// time between two such questions.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(5);
const PACKING_INTERVAL: Duration = Duration::from_secs(1);

/// The file of the claim in the folder of an assignment.
const CLAIM: &str = "claim.json";

/// A claimed task and its folder.
pub(super) struct Assignment {
    pub(super) claim: Claim,
    pub(super) folder: PathBuf,
    /// The ticket, which is kept from other workers while this one works on it.
    pub(super) message: Option<jetstream::Message>,
    /// Keeps the caches of the commits that the claim named to the hub, until the working tree is made.
    caches: Option<OwnedRwLockReadGuard<()>>,
}

impl Assignment {
    /// Returns the assignments that an earlier process left in `folder`. Those that had not begun are removed: the hub
    /// offers them again.
    pub(super) fn left_over(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut left = Vec::new();
        for entry in entries {
            let folder = entry.path();
            let claim = fs::read(folder.join(CLAIM)).ok().and_then(|json| serde_json::from_slice(&json).ok());
            match claim {
                Some(claim @ Claim { local: Some(_), .. }) => {
                    left.push(Self { claim, folder, message: None, caches: None });
                }
                _ => drop(fs::remove_dir_all(folder)),
            }
        }
        left
    }

    pub(super) fn task(&self) -> &str {
        &self.claim.task
    }

    /// Removes the folder with everything in it.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, "the files of a task could not be removed");
        }
    }

    fn save(&self) -> io::Result<()> {
        put_synced(&self.folder.join(CLAIM), &serde_json::to_vec(&self.claim).unwrap_or_default())
    }

    fn order(&self) -> Result<Order, String> {
        let json = fs::read(self.folder.join(ORDER_FILE)).map_err(|error| error.to_string())?;
        serde_json::from_slice(&json).map_err(|error| format!("the order cannot be read: {error}"))
    }
}

impl Worker {
    /// Claims the task of a ticket. `None` when the hub refuses, with its reason in the log.
    pub(super) async fn claim(
        &self,
        ticket: &Ticket,
        message: &jetstream::Message,
    ) -> Result<Option<Assignment>, String> {
        let mut claim = Claim {
            hub: ticket.hub.clone(),
            task: ticket.task.clone(),
            attempt: ticket.attempt,
            fence: ticket.fence,
            report_ms: 0,
            max_bytes: 0,
            local: None,
        };
        if !can_be_subject(&ticket.hub) || !can_be_subject(&ticket.task) {
            return Err("the ticket is not valid".to_owned());
        }
        let caches = self.caches.clone().read_owned().await;
        let commits = self.cached_commits(&ticket.hub).await;
        match self.ask_for_task(&claim, message, commits).await? {
            Response::Claimed { fence, report_ms, max_bytes, .. } => {
                (claim.fence, claim.report_ms, claim.max_bytes) = (fence, report_ms, max_bytes);
                let folder = self.settings.folder.join(format!("{}-{fence}", claim.task));
                fs::create_dir_all(&self.settings.folder).map_err(|error| error.to_string())?;
                // It fails where a ticket that came twice got the same claim.
                fs::create_dir(&folder).map_err(|error| error.to_string())?;
                tracing::info!(task = claim.task, "claimed");
                Ok(Some(Assignment { claim, folder, message: None, caches: Some(caches) }))
            }
            Response::Refused { reason } => {
                tracing::warn!(task = claim.task, "the hub keeps the task: {reason}");
                Ok(None)
            }
            _ => Err("the hub sent an unexpected answer".to_owned()),
        }
    }

    /// Sends a claim, and sends it again while the hub makes its bundles.
    async fn ask_for_task(
        &self,
        claim: &Claim,
        message: &jetstream::Message,
        commits: Vec<String>,
    ) -> Result<Response, String> {
        let mut again = false;
        loop {
            let body = Body::Claim { commits: commits.clone(), again };
            match ask(&self.client, &self.settings.id, claim, body, CLAIM_TIMEOUT).await {
                Ok(Response::Packing) => tokio::time::sleep(PACKING_INTERVAL).await,
                Ok(Response::Later { reason }) => return Err(reason),
                Ok(response) => return Ok(response),
                Err(reason) if again => return Err(reason),
                Err(_) => {}
            }
            acknowledge(message, AckKind::Progress).await;
            again = true;
        }
    }

    /// Runs an assignment from where it is, until the hub has its outcome. The error says why it counts no more.
    pub(super) async fn work(&self, assignment: &mut Assignment) -> Result<(), String> {
        if let Some(parcel) = Parcel::load(&assignment.folder) {
            return self.deliver_reporting(assignment, &parcel).await;
        }
        if assignment.claim.local.is_none() {
            match self.begin(assignment).await? {
                Ok(()) => {}
                Err(failure) => {
                    let outcome = Outcome { failure: Some(failure), ..Outcome::new(Ending::Failed) };
                    let parcel = Parcel::store(&assignment.folder, &outcome, None)?;
                    return self.deliver_reporting(assignment, &parcel).await;
                }
            }
        }
        let task = self.follow(assignment).await?;
        let order = assignment.order()?;
        let folder = assignment.folder.clone();
        let bundle = folder.join(super::outbox::BUNDLE);
        let limit = assignment.claim.max_bytes;
        let packing = self.agents.pack_result(&task, &order, &folder, &bundle, limit);
        let (outcome, commit) = self.reporting(assignment, true, packing).await;
        let parcel = Parcel::store(&folder, &outcome, commit)?;
        self.deliver_reporting(assignment, &parcel).await
    }

    async fn deliver_reporting(&self, assignment: &Assignment, parcel: &Parcel) -> Result<(), String> {
        let delivered = self.deliver(&assignment.claim, &assignment.folder, parcel);
        self.reporting(assignment, true, delivered).await
    }

    /// Awaits `work`, and reports meanwhile, so that a long transfer does not look like a lost worker.
    async fn reporting<T>(&self, assignment: &Assignment, started: bool, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let interval = Duration::from_millis(assignment.claim.report_ms);
        loop {
            let report = async {
                tokio::time::sleep(interval).await;
                self.keep_ticket(assignment).await;
                // A refusal ends the work too, with its next request.
                let _ = self.ask(&assignment.claim, Body::Progress { started, events: Vec::new() }).await;
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = report => {}
            }
        }
    }

    /// Fetches the files of an assignment and queues its task. The inner error says why the task cannot begin.
    async fn begin(&self, assignment: &mut Assignment) -> Result<Result<(), FailureReport>, String> {
        let failed = |class: Class, detail: String| FailureReport { class: class.name().to_owned(), detail };
        let made = self.reporting(assignment, false, self.fetch_and_make_tree(assignment)).await?;
        assignment.caches = None;
        let order = match made {
            Ok(order) => order,
            Err(reason) => {
                let detail = format!("the worker cannot make the working tree: {reason}");
                return Ok(Err(failed(Class::Refused, detail)));
            }
        };
        self.tidy_caches(&assignment.claim.hub, &order, &assignment.folder).await;
        // The hub must know before the agent can begin, because it never runs a task again whose agent may have begun.
        let started = Body::Progress { started: true, events: Vec::new() };
        match self.ask_until_answered(&assignment.claim, started).await {
            Response::Progress { reply: Reply::Continue | Reply::Cancel } => {}
            Response::Progress { reply: Reply::Stale } => return Err("its fence is stale".to_owned()),
            Response::Refused { reason } => return Err(reason),
            _ => return Err("the hub sent an unexpected answer".to_owned()),
        }
        // A slow disk must not silence the worker.
        let accepted = self.agents.accept_order(&order, &assignment.folder);
        match self.reporting(assignment, true, accepted).await {
            Ok(id) => {
                assignment.claim.local = Some(id);
                assignment.save().map_err(|error| error.to_string())?;
                Ok(Ok(()))
            }
            Err(error @ Error::MissingRunner { .. }) => {
                Ok(Err(failed(Class::NotInstalled, error.to_string())))
            }
            Err(error) => {
                let detail = format!("the worker cannot queue the task: {error}");
                Ok(Err(failed(Class::Refused, detail)))
            }
        }
    }

    /// Fetches the files of an assignment and makes its working tree. The inner error says why it cannot be made.
    async fn fetch_and_make_tree(&self, assignment: &Assignment) -> Result<Result<Order, String>, String> {
        let max_bytes = assignment.claim.max_bytes;
        self.fetch(assignment, HubFile::Order, ORDER_FILE, MAX_ORDER_BYTES).await?;
        self.fetch(assignment, HubFile::Bundle, BUNDLE_FILE, max_bytes).await?;
        self.fetch(assignment, HubFile::Included, INCLUDED_FILE, max_bytes).await?;
        let order = assignment.order()?;
        let made = self.make_tree(&assignment.claim.hub, &order, &assignment.folder).await;
        Ok(made.map(|()| order))
    }

    async fn fetch(
        &self,
        assignment: &Assignment,
        file: HubFile,
        name: &str,
        limit: u64,
    ) -> Result<(), String> {
        let path = assignment.folder.join(name);
        let mut offset = 0;
        loop {
            let body = Body::Read { file, offset };
            match self.ask_until_answered(&assignment.claim, body).await {
                Response::Data { data } if data.is_empty() => return Ok(()),
                Response::Data { data } => offset = write_chunk(&path, offset, &data, limit)?,
                Response::Refused { reason } => return Err(reason),
                _ => return Err("the hub sent an unexpected answer".to_owned()),
            }
        }
    }

    /// Reports the events of a task until it has ended, and cancels it where the hub says so. Returns the ended task.
    async fn follow(&self, assignment: &Assignment) -> Result<Task, String> {
        let claim = &assignment.claim;
        let Some(local) = &claim.local else { return Err("it has not begun".to_owned()) };
        self.connections.admit(local, claim, self.agents.workspace_of_order(&assignment.order()?, local));
        let interval = Duration::from_millis(claim.report_ms);
        let cancelled =
            self.client.subscribe(cancel_subject(&claim.hub, &self.settings.id, &claim.task)).await;
        let mut cancelled = cancelled.map_err(|error| error.to_string())?;
        let mut after = 0;
        loop {
            tokio::select! {
                () = self.agents.wait_for_event(local, after, interval) => {}
                // The reply to the next report says whether the hub sent it.
                Some(_) = cancelled.next() => {}
            }
            // Before its events, so that those of an ended task are complete.
            let task = self.agents.get(&Viewer::User, local).await.map_err(|error| error.to_string())?;
            let events = self.agents.events(&Viewer::User, local, after, MAX_EVENTS).await;
            let events = bounded(events.map_err(|error| error.to_string())?);
            let (count, last) = (events.len(), events.last().map_or(after, |event| event.seq));
            self.keep_ticket(assignment).await;
            match self.ask(claim, Body::Progress { started: true, events }).await {
                Ok(Response::Progress { reply: Reply::Continue }) => after = last,
                Ok(Response::Progress { reply: Reply::Cancel }) => {
                    after = last;
                    self.cancel(local).await;
                }
                Ok(_) => {
                    self.cancel(local).await;
                    return Err("its fence is stale: the hub gave the task up, or it has ended".to_owned());
                }
                Err(reason) => {
                    tracing::debug!(reason, task = claim.task, "a report is sent again");
                    tokio::time::sleep(interval).await;
                    continue;
                }
            }
            if task.state.is_ended() && count == 0 {
                return Ok(task);
            }
        }
    }

    async fn cancel(&self, local: &TaskId) {
        if let Err(error) = self.agents.cancel(&Viewer::User, local).await {
            tracing::warn!(%error, "a task could not be cancelled yet");
        }
    }

    /// Keeps the ticket of a task from other workers.
    async fn keep_ticket(&self, assignment: &Assignment) {
        if let Some(message) = &assignment.message {
            acknowledge(message, AckKind::Progress).await;
        }
    }
}

/// Returns the first events that fit into one report, at least one.
fn bounded(mut events: Vec<TaskEvent>) -> Vec<TaskEvent> {
    let mut bytes = 0;
    let fit = events.iter().take_while(|event| {
        bytes += serde_json::to_vec(event).map_or(0, |json| json.len());
        bytes <= MAX_EVENT_BYTES
    });
    let count = fit.count().max(1);
    events.truncate(count);
    events
}
