//! The user's webhook, and the HTTP client of all senders.

use std::sync::Once;
use std::time::Duration;

use serde_json::json;

use super::message::{OutgoingMessage, SendOutcome};
use adjutant_base::trace_context::{Trace, current};

/// How long a server may take to answer.
const HTTP_TIMEOUT: Duration = Duration::from_secs(20);

/// A client for webhooks and providers. It follows no redirect: an address is what a person wrote down.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
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

/// Posts the notification as JSON; the key lets the other side see a second try as the same.
pub(super) async fn send(client: Option<&reqwest::Client>, message: &OutgoingMessage<'_>) -> SendOutcome {
    let Some(address) = &message.user.preferences.webhook_url else {
        return SendOutcome::Rejected("the user has no webhook".to_owned());
    };
    let Some(client) = client else { return SendOutcome::Rejected("there is no HTTP client".to_owned()) };
    let notification = message.notification;
    let body = json!({
        "id": notification.id.as_str(),
        "user_id": notification.user.as_str(),
        "event_id": notification.event.as_str(),
        "urgency": notification.urgency.name(),
        "subject": notification.wording.subject,
        "text": message.text,
    });
    let mut request = client.post(address).header("Idempotency-Key", notification.id.as_str()).json(&body);
    for (name, value) in current().iter().flat_map(Trace::headers) {
        request = request.header(name, value);
    }
    match request.send().await {
        Ok(answer) => outcome_of_status(answer.status().as_u16()),
        Err(error) => SendOutcome::Failed(failure_text(&error).to_owned()),
    }
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
