//! `adjutant users remove`.

use clap::Args;
use jiff::Timestamp;

use super::super::local_assistant::{ACTOR, user};
use super::super::output::{self, Failure};
use adjutant_assistant::{Assistant, UserId};

/// Arguments of `adjutant users remove`.
#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// The user, as `adjutant users list` shows them
    #[arg(value_parser = user)]
    id: UserId,
}

/// Removes a user with calendars, plans and notifications.
pub(super) async fn run(args: &RemoveArgs, assistant: &Assistant) -> Result<(), Failure> {
    let id = &args.id;
    assistant.remove_user(id, ACTOR, Timestamp::now()).await?;
    output::note(format!("removed `{id}` with calendars, plans and notifications"));
    Ok(())
}
