//! Senders of the channels that the assistant owns, opened once for each hub, and the HTTP client of two of them.

use std::sync::Once;
use std::time::Duration;

use super::email::Mailer;
use super::message::{PresentFn, SendOutcome};
use adjutant_base::config::notification_delivery::Delivery;

/// How long a server may take to answer.
const HTTP_TIMEOUT: Duration = Duration::from_secs(20);

/// The sender of each channel.
pub(super) struct Senders {
    pub(super) delivery: Delivery,
    pub(super) mail: Mailer,
    /// `None` where no HTTP client could be made.
    pub(super) http: Option<reqwest::Client>,
    pub(super) present: PresentFn,
}

impl Senders {
    /// Makes the senders of a configuration. Connects to nothing yet.
    pub(super) fn new(delivery: Delivery, present: PresentFn) -> Self {
        let http = http_client().inspect_err(|error| tracing::error!(%error, "no HTTP client")).ok();
        Self { mail: Mailer::new(&delivery), delivery, http, present }
    }
}

/// A client for webhooks and providers. It follows no redirect, because only the configured address may get a message.
pub(super) fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // Another part of the program may have chosen before; one is as good as the other.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .connect_timeout(HTTP_TIMEOUT)
        .timeout(HTTP_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent("adjutant")
        .build()
}

/// Returns the outcome of a notification for a server's status.
pub(super) fn outcome_of_status(status: u16) -> SendOutcome {
    match status {
        200..=299 => SendOutcome::Sent(format!("status {status}")),
        408 | 425 | 429 | 500..=599 => {
            SendOutcome::Failed(format!("the server answered with status {status}"))
        }
        _ => SendOutcome::Rejected(format!("the server refused with status {status}")),
    }
}

/// Returns the reason of a failure without the address, which may be a secret.
pub(super) fn failure_text(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "the server took too long",
        error if error.is_connect() => "the server cannot be reached",
        error if error.is_builder() => "the address cannot be used",
        _ => "the connection broke",
    }
}
