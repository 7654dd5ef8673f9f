//! Reports of a worker about itself to the hubs, and their replies.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Worker;
use crate::protocol::{Greeting, Hello, VERSION, hello_subject};

/// Interval of a worker's reports.
const HELLO_INTERVAL: Duration = Duration::from_secs(5);
/// Time that a report waits for the reply of a hub.
const HELLO_TIMEOUT: Duration = Duration::from_secs(3);

impl Worker {
    /// Reports to the hubs until the worker ends, and does what they reply.
    pub(super) async fn say_hello(&self) {
        let mut last_reason = String::new();
        loop {
            match self.hello().await {
                Ok(reply) => self.heed(reply, &mut last_reason),
                Err(reason) => tracing::debug!(reason, "no hub replies"),
            }
            tokio::time::sleep(HELLO_INTERVAL).await;
        }
    }

    async fn hello(&self) -> Result<Greeting, String> {
        let settings = &self.settings;
        let hello = Hello {
            version: VERSION,
            name: settings.name.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            runners: settings.runners.clone(),
            labels: settings.labels.clone(),
            max_tasks: settings.max_tasks,
            expires_at: settings.credentials.as_ref().map(crate::Credentials::expires_at),
        };
        let payload = serde_json::to_vec(&hello).map_err(|error| error.to_string())?;
        let asked = self.client.request(hello_subject(&settings.id), payload.into());
        let reply = tokio::time::timeout(HELLO_TIMEOUT, asked).await.map_err(|_| "no answer".to_owned())?;
        let reply = reply.map_err(|error| error.to_string())?;
        serde_json::from_slice(&reply.payload).map_err(|error| error.to_string())
    }

    fn heed(&self, reply: Greeting, last_reason: &mut String) {
        let reason = match reply {
            Greeting::Known { program, draining, renewed } => {
                if let (Some(renewed), Some(credentials)) = (renewed, &self.settings.credentials) {
                    match credentials.renew(renewed.jwt, renewed.expires_at, renewed.labels) {
                        Ok(()) => tracing::info!("the credentials are renewed"),
                        Err(error) => tracing::warn!(error, "the renewed credentials are not stored"),
                    }
                }
                if draining && !self.full.is_cancelled() {
                    tracing::info!("draining: no further task is claimed");
                    self.full.cancel();
                }
                let own = env!("CARGO_PKG_VERSION");
                if program == own {
                    String::new()
                } else {
                    format!(
                        "the hub is adjutant {program}, this worker {own}; install the same version on both"
                    )
                }
            }
            Greeting::OtherVersion { reason } => reason,
            Greeting::Revoked => {
                tracing::error!("this worker is revoked; its tasks end");
                self.revoked.store(true, Ordering::SeqCst);
                self.stop.cancel();
                return;
            }
        };
        if !reason.is_empty() && reason != *last_reason {
            tracing::warn!("{reason}");
        }
        *last_reason = reason;
    }
}
