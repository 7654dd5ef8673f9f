//! `adjutant notifications acknowledge`.

use clap::Args;
use jiff::Timestamp;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::id::id;
use adjutant_assistant::{Assistant, NotificationId};

/// Arguments of `adjutant notifications acknowledge`.
#[derive(Debug, Args)]
pub(super) struct AcknowledgeArgs {
    /// The notification, as `adjutant notifications list` shows it
    #[arg(value_parser = id)]
    id: NotificationId,
}

/// Acknowledges a notification, so that it does not escalate.
pub(super) async fn run(args: &AcknowledgeArgs, assistant: &Assistant) -> Result<(), Failure> {
    let first = assistant.acknowledge(&args.id, ACTOR, Timestamp::now()).await?;
    output::note(if first { "acknowledged" } else { "it was acknowledged before" });
    Ok(())
}
