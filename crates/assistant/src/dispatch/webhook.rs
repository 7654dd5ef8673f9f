//! The user's webhook.

use serde_json::Value;

use super::message::SendOutcome;
use super::senders::{failure_text, outcome_of_status};
use crate::User;
use adjutant_base::trace_context::{Trace, current};

/// Posts a notification as JSON under its id; the key lets the other side see a second try as the same.
pub(super) async fn send(
    client: Option<&reqwest::Client>,
    user: &User,
    id: &str,
    body: &Value,
) -> SendOutcome {
    let Some(address) = &user.preferences.webhook_url else {
        return SendOutcome::Rejected("the user has no webhook".to_owned());
    };
    let Some(client) = client else { return SendOutcome::Rejected("there is no HTTP client".to_owned()) };
    let mut request = client.post(address).header("Idempotency-Key", id).json(body);
    for (name, value) in current().iter().flat_map(Trace::headers) {
        request = request.header(name, value);
    }
    match request.send().await {
        Ok(answer) => outcome_of_status(answer.status().as_u16()),
        Err(error) => SendOutcome::Failed(failure_text(&error).to_owned()),
    }
}
