//! The user's webhook.

use serde_json::json;

use super::message::{OutgoingMessage, SendOutcome};
use super::senders::{failure_text, outcome_of_status};
use adjutant_base::trace_context::{Trace, current};

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
