//! Joining: a new worker gets credentials for a code.

use std::path::Path;
use std::time::Duration;

use crate::connection::{Login, connect};
use crate::credentials::Credentials;
use crate::invitation_code::Code;
use crate::protocol::{Join, Joined, VERSION, join_subject};

/// Time for a hub to answer. It may be starting.
const JOIN_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of one request, and the pause before the next.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Uses a code for the worker of `folder`, which exists, and stores its credentials there. Without the answer of a hub
/// those of an earlier join stay. The error is a sentence.
pub async fn join(code: Code, folder: &Path, name: &str) -> Result<Credentials, String> {
    let (url, id) = (code.nats.clone(), code.id.clone());
    // On the disk before the code is used: after an interruption the same worker may use the code again.
    let credentials = Credentials::begin(folder, &url)?;
    let worker = credentials.id()?;
    let earlier = Credentials::load(folder)?.map(|earlier| earlier.replaced_by(&worker)).transpose()?;
    let asked = tokio::time::timeout(JOIN_TIMEOUT, async {
        let client = connect(&url, Login::Invitation(code), "adjutant worker, joining").await?;
        let request = Join { version: VERSION, worker, name: name.to_owned(), earlier };
        let payload = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
        loop {
            let asked = client.request(join_subject(&id), payload.clone().into());
            match tokio::time::timeout(REQUEST_TIMEOUT, asked).await {
                Ok(Ok(reply)) => {
                    return serde_json::from_slice::<Joined>(&reply.payload)
                        .map_err(|error| error.to_string());
                }
                Ok(Err(error)) => tracing::debug!(%error, "no hub answers yet"),
                Err(_) => tracing::debug!("no hub answers yet"),
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    });
    match asked.await {
        Err(_) => Err(format!(
            "no hub answered over {url} within {} s; check that the hub runs, that this machine reaches the NATS server, and \
             that the code has not expired",
            JOIN_TIMEOUT.as_secs()
        )),
        Ok(Err(reason) | Ok(Joined::Refused { reason })) => Err(reason),
        Ok(Ok(Joined::Welcome(renewed))) => {
            credentials.complete(renewed.jwt, renewed.expires_at, renewed.labels)
        }
    }
}
