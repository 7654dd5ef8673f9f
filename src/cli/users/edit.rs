//! `adjutant users edit`.

use clap::Args;
use jiff::Timestamp;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::user_changes::{UserChanges, set};
use adjutant_assistant::json;
use adjutant_assistant::plans::PlanScope;
use adjutant_assistant::{Assistant, UserId};

/// Arguments of `adjutant users edit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct EditArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
    /// The full name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    changes: UserChanges,
}

/// Changes a user. Missing values stay unchanged.
pub(super) async fn run(args: EditArgs, assistant: &Assistant) -> Result<(), Failure> {
    let EditArgs { id, name, changes } = args;
    let mut user = assistant.user(&id).await?;
    set(&mut user.name, name);
    changes.apply(&mut user)?;
    let now = Timestamp::now();
    assistant.put_user(&user, ACTOR, now).await?;
    assistant.plan(&id, None, PlanScope::Unplanned, now).await?;
    output::changed("changed, and planned again", &output::identified(json::user(&user), "user_id"))
}
