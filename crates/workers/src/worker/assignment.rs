//! Task of a hub on this worker, from its claim to its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::jetstream::{self, AckKind};
use futures::StreamExt as _;

use super::claim::Claim;
use super::outbox::Parcel;
use super::{Worker, acknowledge};
use crate::files::{put_synced, write_chunk};
use crate::protocol::{Body, CHUNK_BYTES, HubFile, Response, Ticket, cancel_subject};
use adjutant_agents::run_report::{FailureReport, Outcome};
use adjutant_agents::task::Ending;
use adjutant_agents::worker_order::{Order, Reply};
use adjutant_agents::{Task, TaskEvent, TaskId, Viewer};

/// Events in one report, and their bytes.
const MAX_EVENTS: u32 = 200;
const MAX_EVENT_BYTES: usize = 2 * CHUNK_BYTES;

/// Maximum bytes of an order.
const MAX_ORDER_BYTES: u64 = 64 * 1024 * 1024;

/// The files in the folder of an assignment.
const CLAIM: &str = "claim.json";
const ORDER: &str = "order.json";
const BUNDLE: &str = "workspace.bundle";

/// A claimed task and its folder.
pub(super) struct Assignment {
    pub(super) claim: Claim,
    pub(super) folder: PathBuf,
    /// The ticket, which is kept from other workers while this one works on it.
    pub(super) message: Option<jetstream::Message>,
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
                    left.push(Self { claim, folder, message: None });
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
        let json = fs::read(self.folder.join(ORDER)).map_err(|error| error.to_string())?;
        serde_json::from_slice(&json).map_err(|error| format!("the order cannot be read: {error}"))
    }
}

impl Worker {
    /// Claims the task of a ticket. `None` when the hub refuses, with its reason in the log.
    pub(super) async fn claim(&self, ticket: &Ticket) -> Result<Option<Assignment>, String> {
        let mut claim = Claim {
            hub: ticket.hub.clone(),
            task: ticket.task.clone(),
            attempt: ticket.attempt,
            fence: ticket.fence,
            report_ms: 0,
            max_bytes: 0,
            local: None,
        };
        match self.ask(&claim, Body::Claim).await? {
            Response::Claimed { fence, report_ms, max_bytes, .. } => {
                (claim.fence, claim.report_ms, claim.max_bytes) = (fence, report_ms, max_bytes);
                let folder = self.settings.folder.join(format!("{}-{fence}", claim.task));
                fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
                tracing::info!(task = claim.task, "claimed");
                Ok(Some(Assignment { claim, folder, message: None }))
            }
            Response::Refused { reason } => {
                tracing::warn!(task = claim.task, "the hub keeps the task: {reason}");
                Ok(None)
            }
            _ => Err("the hub answered something else".to_owned()),
        }
    }

    /// Runs an assignment from where it is, until the hub has its outcome. The error says why it counts no more.
    pub(super) async fn work(&self, assignment: &mut Assignment) -> Result<(), String> {
        if let Some(parcel) = Parcel::load(&assignment.folder) {
            return self.deliver(&assignment.claim, &assignment.folder, &parcel).await;
        }
        if assignment.claim.local.is_none() {
            match self.begin(assignment).await? {
                Ok(()) => {}
                Err(reason) => {
                    let detail = format!("the worker cannot make the working tree: {reason}");
                    let failure = Some(FailureReport { class: "refused".to_owned(), detail });
                    let outcome = Outcome { failure, ..Outcome::new(Ending::Failed) };
                    let parcel = Parcel::store(&assignment.folder, &outcome, None)?;
                    return self.deliver(&assignment.claim, &assignment.folder, &parcel).await;
                }
            }
        }
        let task = self.follow(assignment).await?;
        let order = assignment.order()?;
        let folder = assignment.folder.clone();
        let bundle = folder.join(super::outbox::BUNDLE);
        let limit = assignment.claim.max_bytes;
        let (outcome, commit) = self.agents.pack_result(&task, &order, &folder, &bundle, limit).await;
        let parcel = Parcel::store(&folder, &outcome, commit)?;
        self.deliver(&assignment.claim, &assignment.folder, &parcel).await
    }

    /// Fetches the files of an assignment and queues its task. The inner error says why the task cannot begin.
    async fn begin(&self, assignment: &mut Assignment) -> Result<Result<(), String>, String> {
        let max_bytes = assignment.claim.max_bytes;
        self.fetch(assignment, HubFile::Order, ORDER, MAX_ORDER_BYTES).await?;
        self.fetch(assignment, HubFile::Bundle, BUNDLE, max_bytes).await?;
        let order = assignment.order()?;
        // The hub must know before the agent can begin, because it never runs a task again whose agent may have begun.
        let started = Body::Progress { started: true, events: Vec::new() };
        match self.ask_until_answered(&assignment.claim, started).await {
            Response::Progress { reply: Reply::Continue | Reply::Cancel } => {}
            Response::Progress { reply: Reply::Stale } => return Err("its fence is stale".to_owned()),
            Response::Refused { reason } => return Err(reason),
            _ => return Err("the hub answered something else".to_owned()),
        }
        let bundle = assignment.folder.join(BUNDLE);
        match self.agents.accept_order(&order, &bundle, &assignment.folder).await {
            Ok(id) => {
                assignment.claim.local = Some(id);
                assignment.save().map_err(|error| error.to_string())?;
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(error.to_string())),
        }
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
                _ => return Err("the hub answered something else".to_owned()),
            }
            self.keep_ticket(assignment).await;
        }
    }

    /// Reports the events of a task until it has ended, and cancels it where the hub says so. Returns the ended task.
    async fn follow(&self, assignment: &Assignment) -> Result<Task, String> {
        let claim = &assignment.claim;
        let Some(local) = &claim.local else { return Err("it has not begun".to_owned()) };
        let interval = Duration::from_millis(claim.report_ms);
        let cancelled = self.client.subscribe(cancel_subject(&claim.hub, &claim.task)).await;
        let mut cancelled = cancelled.map_err(|error| error.to_string())?;
        let mut after = 0;
        loop {
            tokio::select! {
                () = self.agents.wait_for_event(local, after, interval) => {}
                Some(_) = cancelled.next() => self.cancel(local).await,
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
