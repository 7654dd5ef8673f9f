//! Requests of workers, and the hub's responses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Hub, REFUSAL_INTERVAL};
use crate::files::{read_chunk, write_chunk};
use crate::protocol::{Body, HubFile, Request, Response, ResultFile, VERSION};
use adjutant_agents::run_report::Outcome;
use adjutant_agents::worker_order::Lease;
use adjutant_agents::{BUNDLE_FILE, Error, ORDER_FILE};

/// The longest time between two reports of a worker.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum bytes of an outcome: the limits of its patch and its lists, with room.
const MAX_OUTCOME_BYTES: u64 = 64 * 1024 * 1024;

/// The reason for a worker whose fence is not that of the database.
const STALE: &str = "stale: the task has another fence now, or has ended; this result does not count";

impl Hub {
    /// Carries out a request and returns its response.
    pub(super) async fn respond(&self, payload: &[u8]) -> Response {
        let request: Request = match serde_json::from_slice(payload) {
            Ok(request) => request,
            Err(error) => return refused(format!("the request cannot be read: {error}")),
        };
        if request.version != VERSION {
            let text =
                format!("this hub has version {VERSION} of the protocol, the worker {}", request.version);
            return refused(format!("{text}; install the same version of adjutant on both"));
        }
        let lease = Lease { task: request.task.clone(), fence: request.fence };
        let answered = match request.body {
            Body::Claim => Ok(self.claim(&lease, &request.worker, &request.worker_name).await),
            Body::Progress { started, events } => {
                let lost_after = self.config.lost_after;
                let taken =
                    self.agents.progress_of_worker(&lease, &request.worker, started, events, lost_after);
                taken.await.map(|reply| Response::Progress { reply })
            }
            Body::Read { file, offset } => self.read(&lease, &request.worker, file, offset).await,
            Body::Write { file, offset, data } => {
                self.write(&lease, &request.worker, (file, offset), data).await
            }
            Body::Finish { commit } => {
                self.finish(&lease, (&request.worker, &request.worker_name), commit).await
            }
        };
        answered.unwrap_or_else(|error| Response::Later { reason: error.to_string() })
    }

    async fn claim(&self, ticket: &Lease, worker: &str, name: &str) -> Response {
        let (lost_after, max_bytes) = (self.config.lost_after, self.config.max_bundle_bytes);
        match self.agents.claim_for_worker(ticket, worker, lost_after, max_bytes).await {
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
                    tracing::warn!(task = ticket.task, reason, "a task stays on this machine");
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
        };
        let read =
            blocking(move || read_chunk(&folder.join(name), offset).map_err(|error| error.to_string()));
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
            return Ok(refused(STALE.to_owned()));
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

fn refused(reason: String) -> Response {
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
