//! Requests of workers, and the hub's responses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Hub, REFUSAL_INTERVAL};
use crate::files::{read_chunk, write_chunk};
use crate::protocol::{Body, HubFile, MAX_COMMITS, Request, Response, ResultFile, Versioned, version_fault};
use adjutant_agents::run_report::Outcome;
use adjutant_agents::worker_order::Lease;
use adjutant_agents::worker_registry::{Worker, words};
use adjutant_agents::{BUNDLE_FILE, Error, INCLUDED_FILE, ORDER_FILE};

/// The longest time between two reports of a worker.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum bytes of an outcome: the limits of its patch and its lists, with room.
const MAX_OUTCOME_BYTES: u64 = 64 * 1024 * 1024;

/// The reason for a worker with another fence than that of the database.
pub(super) const STALE: &str =
    "stale: the task has another fence now, or has ended; this result does not count";

impl Hub {
    /// Carries out a request and returns its response.
    pub(super) async fn respond(&self, id: &str, payload: &[u8]) -> Response {
        match serde_json::from_slice(payload) {
            Ok(Versioned { version }) => {
                if let Some(reason) = version_fault(version) {
                    return refused(reason);
                }
            }
            Err(error) => return refused(format!("the request cannot be read: {error}")),
        }
        let request: Request = match serde_json::from_slice(payload) {
            Ok(request) => request,
            Err(error) => return refused(format!("the request cannot be read: {error}")),
        };
        let worker = match self.agents.worker(id).await {
            Ok(worker) => worker,
            Err(error) => return Response::Later { reason: error.to_string() },
        };
        if worker.as_ref().is_some_and(|worker| worker.revoked_at.is_some()) {
            return refused("this worker is revoked".to_owned());
        }
        if worker.is_none() && self.account.is_some() {
            return refused(
                "this worker has not joined this hub; `adjutant worker join CODE` joins it".to_owned(),
            );
        }
        let lease = Lease { task: request.task.clone(), fence: request.fence };
        let is_of_stream =
            matches!(request.body, Body::Open { .. } | Body::Send { .. } | Body::Receive { .. });
        let uses_repository = matches!(request.body, Body::Claim { .. } | Body::Finish { .. });
        let _reservation = match uses_repository.then(|| self.reserve(&lease.task, id)).transpose() {
            Ok(reservation) => reservation,
            Err(holder) if holder == id && matches!(request.body, Body::Claim { again: true, .. }) => {
                return Response::Packing;
            }
            Err(_) => {
                return Response::Later {
                    reason: "another request about the task is carried out".to_owned(),
                };
            }
        };
        // A request of a stream waits, and must not keep a place from the others; a long one must not from reports.
        let _slot = if is_of_stream {
            None
        } else if uses_repository {
            self.repository_slots.acquire().await.ok()
        } else {
            self.slots.acquire().await.ok()
        };
        let name = worker.as_ref().map_or(id, |worker| worker.name.as_str());
        let answered = match request.body {
            Body::Claim { commits, again } => match self.may_claim(worker.as_ref(), &lease.task).await {
                Ok(()) => Ok(self.claim(&lease, (id, name), (&commits, again)).await),
                Err(reason) => Ok(refused(reason)),
            },
            Body::Progress { started, events } => {
                let lost_after = self.config.lost_after;
                let taken = self.agents.progress_of_worker(&lease, id, started, events, lost_after);
                taken.await.map(|reply| Response::Progress { reply })
            }
            Body::Read { file, offset } => self.read(&lease, id, file, offset).await,
            Body::Write { file, offset, data } => self.write(&lease, id, (file, offset), data).await,
            Body::Finish { commit } => self.finish(&lease, (id, name), commit).await,
            Body::Open { stream, folder } => self.open(&lease, (id, name), stream, folder).await,
            Body::Send { stream, number, data } => {
                self.send(&lease, (id.to_owned(), stream), number, &data).await
            }
            Body::Receive { stream, number } => self.receive(&lease, (id.to_owned(), stream), number).await,
        };
        answered.unwrap_or_else(|error| Response::Later { reason: error.to_string() })
    }

    /// Refuses a worker that drains, or that does not have the label of the task.
    async fn may_claim(&self, worker: Option<&Worker>, task: &str) -> Result<(), String> {
        if worker.is_some_and(|worker| worker.draining != 0) {
            return Err("this worker is draining".to_owned());
        }
        let Some(label) = self.agents.label_of(task).await.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        let has = worker.is_some_and(|worker| words(&worker.labels).contains(&label));
        if has { Ok(()) } else { Err(format!("the task needs a worker with the label `{label}`")) }
    }

    async fn claim(
        &self,
        ticket: &Lease,
        (worker, name): (&str, &str),
        (commits, again): (&[String], bool),
    ) -> Response {
        let (lost_after, max_bytes) = (self.config.lost_after, self.config.max_bundle_bytes);
        let commits = commits.get(..MAX_COMMITS).unwrap_or(commits);
        match self.agents.claim_for_worker(ticket, worker, (lost_after, max_bytes), (commits, again)).await {
            Ok(claimed) => {
                tracing::info!(task = ticket.task, worker = name, "a worker has a task");
                let report = REPORT_INTERVAL.min(lost_after / 4);
                Response::Claimed {
                    fence: claimed.fence,
                    order_bytes: claimed.order_bytes,
                    bundle_bytes: claimed.bundle_bytes,
                    report_ms: u64::try_from(report.as_millis()).unwrap_or(u64::MAX),
                    max_bytes,
                }
            }
            Err(reason) => {
                if !reason.starts_with("stale:") {
                    tracing::warn!(task = ticket.task, reason, "a task cannot run on another machine");
                    self.be_quiet(ticket.task.clone(), ticket.fence, REFUSAL_INTERVAL);
                }
                refused(reason)
            }
        }
    }

    async fn read(&self, lease: &Lease, worker: &str, file: HubFile, offset: u64) -> Result<Response, Error> {
        let Some(folder) = self.agents.folder_for_worker(lease, worker).await? else {
            return Ok(refused(STALE.to_owned()));
        };
        let name = match file {
            HubFile::Order => ORDER_FILE,
            HubFile::Bundle => BUNDLE_FILE,
            HubFile::Included => INCLUDED_FILE,
        };
        let read = blocking(move || match read_chunk(&folder.join(name), offset) {
            // The bundle of commits is absent if the worker has them, and the bundle of ignored files if none travels.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && file != HubFile::Order => {
                Ok(String::new())
            }
            other => other.map_err(|error| error.to_string()),
        });
        Ok(read.await.map_or_else(refused, |data| Response::Data { data }))
    }

    async fn write(
        &self,
        lease: &Lease,
        worker: &str,
        (file, offset): (ResultFile, u64),
        data: String,
    ) -> Result<Response, Error> {
        let Some(folder) = self.agents.folder_for_worker(lease, worker).await? else {
            return Ok(refused(STALE.to_owned()));
        };
        let limit = match file {
            ResultFile::Outcome => MAX_OUTCOME_BYTES,
            ResultFile::Bundle => self.config.max_bundle_bytes,
        };
        let path = result_file(&folder, lease.fence, file);
        let written = blocking(move || write_chunk(&path, offset, &data, limit));
        Ok(written.await.map_or_else(refused, |_| Response::Written))
    }

    async fn finish(
        &self,
        lease: &Lease,
        worker: (&str, &str),
        commit: Option<String>,
    ) -> Result<Response, Error> {
        let Some(folder) = self.agents.folder_for_worker(lease, worker.0).await? else {
            // The reply to an earlier request may have been lost.
            let settled = self.agents.is_settled_for_worker(lease, worker.0).await?;
            return Ok(if settled { Response::Settled } else { refused(STALE.to_owned()) });
        };
        let path = result_file(&folder, lease.fence, ResultFile::Outcome);
        let read = blocking(move || {
            let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
            serde_json::from_slice::<Outcome>(&bytes).map_err(|error| error.to_string())
        });
        let outcome = match read.await {
            Ok(outcome) => outcome,
            Err(reason) => return Ok(refused(format!("the outcome cannot be read: {reason}"))),
        };
        let result = commit.map(|commit| (commit, result_file(&folder, lease.fence, ResultFile::Bundle)));
        let ended = self.agents.finish_for_worker(lease, worker, outcome, result).await?;
        Ok(if ended { Response::Settled } else { refused(STALE.to_owned()) })
    }
}

pub(super) fn refused(reason: String) -> Response {
    Response::Refused { reason }
}

fn result_file(folder: &Path, fence: i64, file: ResultFile) -> PathBuf {
    let name = match file {
        ResultFile::Outcome => "outcome.json",
        ResultFile::Bundle => "result.bundle",
    };
    folder.join(format!("worker-{fence}-{name}"))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}
