//! `adjutant notifications …`: planned and sent notifications, one file a command.

mod acknowledge;
mod id;
mod list;
mod plan;
mod plan_all;
mod planning;
mod resolve;
mod retry;
mod show;
mod simulate;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Common;
use super::local_assistant::{DatabaseArg, with_app};
use super::output::Failure;

/// Arguments of `adjutant notifications`.
#[derive(Debug, Args)]
pub(super) struct NotificationsArgs {
    #[command(flatten)]
    database: DatabaseArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List notifications by due time
    List(list::ListArgs),
    /// Show a notification: its reasons and every attempt to send it
    Show(show::ShowArgs),
    /// Plan a user's notifications for the next 30 days
    Plan(plan::PlanArgs),
    /// Simulate the coming days on a virtual clock, and show which notifications would be sent. Nothing is sent or stored
    Simulate(simulate::SimulateArgs),
    /// Send a failed or unknown notification again
    Retry(retry::RetryArgs),
    /// Resolve a notification whose state is unknown
    Resolve(resolve::ResolveArgs),
    /// Acknowledge a notification, so that it does not escalate
    Acknowledge(acknowledge::AcknowledgeArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: NotificationsArgs, common: Common) -> Result<ExitCode, Failure> {
    let NotificationsArgs { database, command } = args;
    with_app(common, &database, |app| async move {
        let assistant = &app.assistant;
        match command {
            Command::List(args) => list::run(args, assistant).await?,
            Command::Show(args) => show::run(&args, assistant).await?,
            Command::Plan(args) => plan::run(args, &app).await?,
            Command::Simulate(args) => simulate::run(&args, assistant).await?,
            Command::Retry(args) => retry::run(&args, assistant).await?,
            Command::Resolve(args) => resolve::run(&args, assistant).await?,
            Command::Acknowledge(args) => acknowledge::run(&args, assistant).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
