//! `adjutant notifications resolve`.

use clap::Args;
use jiff::Timestamp;

use super::id::id;
use crate::cli::local_assistant::ACTOR;
use crate::cli::one_of;
use crate::cli::output::{self, Failure};
use adjutant_assistant::notifications::ResolvedAs;
use adjutant_assistant::{Assistant, NotificationId};

/// Arguments of `adjutant notifications resolve`.
#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The notification, as `adjutant notifications list` shows it
    #[arg(value_parser = id)]
    id: NotificationId,
    /// `sent` if it arrived, `cancelled` if it is no longer wanted
    #[arg(value_parser = one_of([("sent", ResolvedAs::Sent), ("cancelled", ResolvedAs::Cancelled)]))]
    state: ResolvedAs,
}

/// Sets the outcome of a notification whose state is unknown.
pub(super) async fn run(args: &ResolveArgs, assistant: &Assistant) -> Result<(), Failure> {
    let resolved = assistant.resolve(&args.id, args.state, ACTOR, Timestamp::now()).await?;
    output::note(format!("resolved: {}", resolved.status.name()));
    Ok(())
}
