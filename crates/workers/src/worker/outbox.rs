//! Outbox of a worker: the outcome of a task on the disk, until the hub has committed it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Worker;
use super::claim::Claim;
use crate::files::{put_synced, read_chunk, sync};
use crate::protocol::{Body, CHUNK_BYTES, Response, ResultFile};
use adjutant_agents::run_report::Outcome;

/// The bundle of the commit in the folder of an assignment.
pub(super) const BUNDLE: &str = "result.bundle";

const OUTCOME: &str = "outcome.json";
const PARCEL: &str = "parcel.json";

/// The result of a task that the hub has not confirmed. Its file is written last, so the other files are complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Parcel {
    commit: Option<String>,
}

impl Parcel {
    /// Returns the result that is in the folder of an assignment.
    pub(super) fn load(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(PARCEL)).ok()?).ok()
    }

    /// Stores a result; when this returns, it is on the disk. The error is a sentence fragment.
    pub(super) fn store(folder: &Path, outcome: &Outcome, commit: Option<String>) -> Result<Self, String> {
        let parcel = Self { commit };
        let write = || {
            let bundle = folder.join(BUNDLE);
            if bundle.exists() {
                sync(&bundle)?;
            }
            put_synced(&folder.join(OUTCOME), &serde_json::to_vec(outcome)?)?;
            put_synced(&folder.join(PARCEL), &serde_json::to_vec(&parcel)?)
        };
        write().map_err(|error: std::io::Error| format!("the result cannot be stored: {error}"))?;
        Ok(parcel)
    }
}

impl Worker {
    /// Sends a result until the hub has committed it. The error is the hub's refusal.
    pub(super) async fn deliver(&self, claim: &Claim, folder: &Path, parcel: &Parcel) -> Result<(), String> {
        self.send(claim, ResultFile::Outcome, &folder.join(OUTCOME)).await?;
        let bundle = folder.join(BUNDLE);
        // There is none if the hub has the commit, or if nothing changed.
        if parcel.commit.is_some() && bundle.exists() {
            self.send(claim, ResultFile::Bundle, &bundle).await?;
        }
        let finish = Body::Finish { commit: parcel.commit.clone() };
        match self.ask_until_answered(claim, finish).await {
            Response::Settled => {
                tracing::info!(task = claim.task, "the hub has the result");
                Ok(())
            }
            Response::Refused { reason } => Err(reason),
            _ => Err("the hub sent an unexpected answer".to_owned()),
        }
    }

    async fn send(&self, claim: &Claim, file: ResultFile, path: &Path) -> Result<(), String> {
        let bytes = fs::metadata(path).map_err(|error| error.to_string())?.len();
        let mut offset = 0;
        while offset < bytes {
            let data = read_chunk(path, offset).map_err(|error| error.to_string())?;
            match self.ask_until_answered(claim, Body::Write { file, offset, data }).await {
                Response::Written => offset += CHUNK_BYTES as u64,
                Response::Refused { reason } => return Err(reason),
                _ => return Err("the hub sent an unexpected answer".to_owned()),
            }
        }
        Ok(())
    }
}
