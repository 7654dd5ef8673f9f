//! `adjutant events …`: the events of the calendars, one file a command.

mod add;
mod calendar_address;
mod calendars;
mod cancel;
mod edit;
mod export;
mod forget;
mod import;
mod import_url;
mod list;
mod parse_issues;
mod show;
mod texts;

use std::process::ExitCode;

use clap::Subcommand;

use super::Common;
use super::local_assistant::{AssistantArgs, with_app};
use super::output::Failure;

/// Commands of `adjutant events`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the events around today
    List(list::ListArgs),
    /// List the imported calendars, and when each one is read
    Calendars(calendars::CalendarsArgs),
    /// Show an event and its planned notifications
    Show(show::ShowArgs),
    /// Add an event: its title and its time, as you would write them
    Add(add::AddArgs),
    /// Change an event
    Edit(edit::EditArgs),
    /// Cancel an event with its planned notifications
    Cancel(cancel::CancelArgs),
    /// Import an `.ics` file, a folder or a URL; again for its changes
    Import(import::ImportArgs),
    /// Remove the events imported from a file, a folder or a URL
    Forget(forget::ForgetArgs),
    /// Print events as iCalendar, with planned notifications as alarms
    Export(export::ExportArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: AssistantArgs<Command>, common: Common) -> Result<ExitCode, Failure> {
    with_app(common, args, |app, command| async move {
        let assistant = &app.assistant;
        match command {
            Command::List(args) => list::run(args, assistant).await?,
            Command::Calendars(args) => calendars::run(&args, assistant).await?,
            Command::Show(args) => show::run(&args, assistant).await?,
            Command::Add(args) => add::run(args, &app).await?,
            Command::Edit(args) => edit::run(args, &app).await?,
            Command::Cancel(args) => cancel::run(&args, &app).await?,
            Command::Import(args) => return import::run(args, assistant).await,
            Command::Forget(args) => forget::run(&args, assistant).await?,
            Command::Export(args) => export::run(args, assistant).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
