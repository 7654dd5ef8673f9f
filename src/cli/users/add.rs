//! `adjutant users add`.

use clap::Args;
use jiff::Timestamp;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::user_changes::UserChanges;
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, Preferences, User, UserId};
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant users add`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    /// The full name
    name: String,
    /// Id of the user [default: random]
    #[arg(long)]
    id: Option<UserId>,
    #[command(flatten)]
    changes: UserChanges,
}

/// Adds a user, and prints the id on stdout, because scripts read it.
pub(super) async fn run(args: AddArgs, assistant: &Assistant) -> Result<(), Failure> {
    let AddArgs { name, id, changes } = args;
    let now = Timestamp::now();
    let id = match id {
        Some(id) => {
            if assistant.user(&id).await.is_ok() {
                return Err(Failure::new(format!("the user `{id}` exists already"))
                    .hint(format!("`adjutant users edit {id}` changes the user")));
            }
            id
        }
        None => UserId::new()?,
    };
    let mut user = User {
        id,
        name,
        email: None,
        phone: None,
        preferences: Preferences::default(),
        revision: 1,
        created_at: now,
        updated_at: now,
    };
    changes.apply(&mut user)?;
    assistant.put_user(&user, ACTOR, now).await?;
    if output::is_json() {
        return output::json(&output::identified(json::user(&user), "user_id"));
    }
    output::data(user.id.as_str())?;
    output::note(format!(
        "this is the id of {}, which other commands take; next: adjutant events import {} CALENDAR",
        escape_line(&user.name),
        user.id
    ));
    Ok(())
}
