//! `adjutant notifications retry`.

use clap::Args;
use jiff::Timestamp;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::id::id;
use adjutant_assistant::{Assistant, NotificationId};

/// Arguments of `adjutant notifications retry`.
#[derive(Debug, Args)]
pub(super) struct RetryArgs {
    /// The notification, as `adjutant notifications list` shows it
    #[arg(value_parser = id)]
    id: NotificationId,
}

/// Plans a failed or unknown notification again.
pub(super) async fn run(args: &RetryArgs, assistant: &Assistant) -> Result<(), Failure> {
    assistant.retry(&args.id, ACTOR, Timestamp::now()).await?;
    output::note("planned again; a running hub sends it within half a minute");
    Ok(())
}
