//! HTTP out: the user's webhook.

use std::sync::Once;
use std::time::Duration;

use serde_json::json;

use super::Outcome;
use super::send::Letter;
use crate::trace::{Trace, current};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client for webhooks and providers. It follows no redirect: an address is what a person wrote down.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // Another part of the program may have chosen before; one is as good as the other.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .connect_timeout(PATIENCE)
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent("adjutant")
        .build()
}

/// Posts the notification as JSON; the key lets the other side see a second try as the same.
pub(super) async fn send(client: Option<&reqwest::Client>, letter: &Letter<'_>) -> Outcome {
    let Some(address) = &letter.user.preferences.webhook_url else {
        return Outcome::Refused("the user has no webhook".to_owned());
    };
    let Some(client) = client else { return Outcome::Refused("there is no HTTP client".to_owned()) };
    let notification = letter.notification;
    let body = json!({
        "id": notification.id.as_str(),
        "user_id": notification.user.as_str(),
        "event_id": notification.event.as_str(),
        "urgency": notification.urgency.name(),
        "subject": notification.wording.subject,
        "text": letter.text,
    });
    let mut request = client.post(address).header("Idempotency-Key", notification.id.as_str()).json(&body);
    for (name, value) in current().iter().flat_map(Trace::headers) {
        request = request.header(name, value);
    }
    match request.send().await {
        Ok(answer) => of_status(answer.status().as_u16()),
        Err(error) => Outcome::Failed(failure(&error).to_owned()),
    }
}

/// What a server's status means for the notification.
pub(super) fn of_status(status: u16) -> Outcome {
    match status {
        200..=299 => Outcome::Sent(format!("status {status}")),
        408 | 425 | 429 | 500..=599 => Outcome::Failed(format!("the server answered with status {status}")),
        _ => Outcome::Refused(format!("the server refused with status {status}")),
    }
}

/// Says what went wrong, without the address, which may be a secret.
pub(super) fn failure(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "the server took too long",
        error if error.is_connect() => "the server cannot be reached",
        error if error.is_builder() => "the address cannot be used",
        _ => "the connection broke",
    }
}
