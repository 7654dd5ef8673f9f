//! `adjutant users …`: the users and their preferences, one file a command.

mod add;
mod edit;
mod feed;
mod list;
mod login;
mod rule;
mod show;
mod user_changes;

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;

use super::Common;
use super::local_assistant::{ACTOR, AssistantArgs, with_app};
use super::output::{self, Failure};
use adjutant_assistant::UserId;

/// Commands of `adjutant users`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the users
    List,
    /// Show a user with preferences, rules and calendars
    Show(show::ShowArgs),
    /// Add a user
    Add(add::AddArgs),
    /// Change a user's name, addresses or preferences
    Edit(edit::EditArgs),
    /// Remove a user with calendars, plans and notifications
    Remove {
        /// The user, as `adjutant users list` shows them
        id: UserId,
    },
    /// Print the address of a calendar feed, for calendar programs
    Feed(feed::FeedArgs),
    /// Let a user log in to the console with a password, or change it
    Password(login::PasswordArgs),
    /// Change what a user with a login may do
    Role(login::RoleArgs),
    /// Remove the login of a user
    Lock {
        /// The user, as `adjutant users list` shows them
        id: UserId,
    },
    /// Add a rule that overrides the default policy, or remove a rule
    Rule(rule::RuleArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: AssistantArgs<Command>, common: Common) -> Result<(), Failure> {
    // The hub gives logins, because it knows whether the user asks.
    let is_login = matches!(args.command, Command::Password(_) | Command::Role(_) | Command::Lock { .. });
    if is_login && args.database.is_some() {
        return Err(Failure::usage(
            "`--database` does not change logins, which the hub gives in its own database",
        ));
    }
    match &args.command {
        Command::Password(args) => return login::set_password(args, &common),
        Command::Role(args) => return login::set_role(args, &common),
        Command::Lock { id } => return login::remove(id, &common),
        _ => {}
    }
    with_app(common, args, |app, command| async move {
        let assistant = &app.assistant;
        match command {
            Command::List => list::run(assistant).await,
            Command::Show(args) => show::run(&args, assistant).await,
            Command::Add(args) => add::run(args, assistant).await,
            Command::Edit(args) => edit::run(args, assistant).await,
            Command::Remove { id } => {
                assistant.remove_user(&id, ACTOR, Timestamp::now()).await?;
                let line = format!("removed `{id}` with calendars, plans and notifications");
                output::changed(line, &json!({"id": id, "user_id": id, "removed": true}))
            }
            Command::Feed(args) => feed::run(&args, assistant, &app.config).await,
            Command::Rule(args) => rule::run(args, assistant).await,
            Command::Password(_) | Command::Role(_) | Command::Lock { .. } => Ok(()),
        }
    })
}
