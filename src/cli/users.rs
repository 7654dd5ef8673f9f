//! `adjutant users …`: the users and their preferences, one file a command.

mod add;
mod changes;
mod edit;
mod feed;
mod list;
mod remove;
mod rule;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Common;
use super::local_assistant::{DatabaseArg, with_app};
use super::output::Failure;

/// Arguments of `adjutant users`.
#[derive(Debug, Args)]
pub(super) struct UsersArgs {
    #[command(flatten)]
    database: DatabaseArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the users
    List(list::ListArgs),
    /// Show a user with preferences, rules and calendars
    Show(show::ShowArgs),
    /// Add a user
    Add(add::AddArgs),
    /// Change a user's name, addresses or preferences
    Edit(edit::EditArgs),
    /// Remove a user with calendars, plans and notifications
    Remove(remove::RemoveArgs),
    /// Print the address of a calendar feed with a user's events and planned notifications, for programs on this machine
    Feed(feed::FeedArgs),
    /// Add a rule that overrides the default policy, or remove a rule
    Rule(rule::RuleArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: UsersArgs, common: Common) -> Result<ExitCode, Failure> {
    let UsersArgs { database, command } = args;
    with_app(common, &database, |app| async move {
        let assistant = &app.assistant;
        match command {
            Command::List(args) => list::run(&args, assistant).await?,
            Command::Show(args) => show::run(&args, assistant).await?,
            Command::Add(args) => add::run(args, assistant).await?,
            Command::Edit(args) => edit::run(args, assistant).await?,
            Command::Remove(args) => remove::run(&args, assistant).await?,
            Command::Feed(args) => feed::run(&args, assistant, &app.config).await?,
            Command::Rule(args) => rule::run(args, assistant).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
