//! Requests of a worker to the hub of a task.

use std::time::Duration;

use super::Worker;
use super::claim::Claim;
use crate::protocol::{Body, Request, Response, VERSION, hub_subject};

/// Time that a request waits for its response. The hub takes over a result before it answers.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(40);

/// Pause before a worker sends the same request again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Worker {
    /// Sends a request once. The error is a sentence fragment: no hub answered, or not now.
    pub(super) async fn ask(&self, claim: &Claim, body: Body) -> Result<Response, String> {
        match ask(&self.client, &self.settings.id, claim, body, REQUEST_TIMEOUT).await? {
            Response::Later { reason } => Err(reason),
            response => Ok(response),
        }
    }

    /// Sends a request until the hub answers.
    pub(super) async fn ask_until_answered(&self, claim: &Claim, body: Body) -> Response {
        loop {
            match self.ask(claim, body.clone()).await {
                Ok(response) => return response,
                Err(reason) => tracing::debug!(reason, task = claim.task, "the hub does not answer yet"),
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

/// Sends a request of the worker with this id once. The error is a sentence fragment: no hub answered.
pub(super) async fn ask(
    client: &async_nats::Client,
    worker: &str,
    claim: &Claim,
    body: Body,
    limit: Duration,
) -> Result<Response, String> {
    let (task, attempt, fence) = (claim.task.clone(), claim.attempt, claim.fence);
    let request = Request { version: VERSION, task, attempt, fence, body };
    let payload = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
    let asked = client.request(hub_subject(&claim.hub, worker), payload.into());
    let message = tokio::time::timeout(limit, asked).await.map_err(|_| "no answer".to_owned())?;
    let message = message.map_err(|error| error.to_string())?;
    serde_json::from_slice(&message.payload).map_err(|error| error.to_string())
}
