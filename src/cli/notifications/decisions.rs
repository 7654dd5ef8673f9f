//! `adjutant notifications retry`, `resolve` and `acknowledge`: a user's decision about one notification.

use jiff::Timestamp;

use crate::cli::local_assistant::ACTOR;
use crate::cli::output::{self, Failure};
use adjutant_assistant::notifications::ResolvedAs;
use adjutant_assistant::{Assistant, NotificationId};

/// Plans a failed or unknown notification again.
pub(super) async fn retry(id: &NotificationId, assistant: &Assistant) -> Result<(), Failure> {
    assistant.retry(id, ACTOR, Timestamp::now()).await?;
    output::note("planned again; a running hub sends it within half a minute");
    Ok(())
}

/// Sets the outcome of a notification whose state is unknown.
pub(super) async fn resolve(
    id: &NotificationId,
    state: ResolvedAs,
    assistant: &Assistant,
) -> Result<(), Failure> {
    let resolved = assistant.resolve(id, state, ACTOR, Timestamp::now()).await?;
    output::note(format!("resolved: {}", resolved.status.name()));
    Ok(())
}

/// Acknowledges a notification, so that it does not escalate.
pub(super) async fn acknowledge(id: &NotificationId, assistant: &Assistant) -> Result<(), Failure> {
    let first = assistant.acknowledge(id, ACTOR, Timestamp::now()).await?;
    output::note(if first { "acknowledged" } else { "it was acknowledged before" });
    Ok(())
}
