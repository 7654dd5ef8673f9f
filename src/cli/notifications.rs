//! `adjutant notifications …`: planned and sent notifications.

mod decisions;
mod list;
mod plan;
mod plan_all;
mod show;
mod simulate;
mod single_user_plan;

use clap::Subcommand;

use super::local_assistant::{AssistantArgs, with_app};
use super::output::Failure;
use super::{Common, one_of};
use adjutant_assistant::notification::Channel;
use adjutant_assistant::notifications::ResolvedAs;
use adjutant_assistant::{NotificationId, UserId};

/// Commands of `adjutant notifications`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List notifications by due time
    List(list::ListArgs),
    /// Show a notification: its reasons and every attempt to send it
    Show(show::ShowArgs),
    /// Plan a user's notifications for the next 30 days
    Plan(plan::PlanArgs),
    /// Show what the coming days would send; nothing is sent or stored
    Simulate(simulate::SimulateArgs),
    /// Cancel a planned notification
    Cancel {
        /// The notification, as `adjutant notifications list` shows it
        id: NotificationId,
    },
    /// Send a notification later, or once more if it was sent
    Snooze {
        /// The notification, as `adjutant notifications list` shows it
        id: NotificationId,
        /// When to send it, such as 'in 20 min' or 'tomorrow 8:00'
        #[arg(value_name = "TIME", default_value = "in 10 minutes")]
        until: String,
    },
    /// Send a test message through a channel
    Test {
        /// User to notify
        user: UserId,
        /// The channel: email, call, desktop, ntfy or webhook
        #[arg(hide_possible_values = true, value_parser = one_of(Channel::ALL.iter().map(|one| (one.name(), *one))))]
        channel: Channel,
    },
    /// Send a failed or unknown notification again
    Retry {
        /// The notification, as `adjutant notifications list` shows it
        id: NotificationId,
    },
    /// Resolve a notification with an unknown state
    Resolve {
        /// The notification, as `adjutant notifications list` shows it
        id: NotificationId,
        /// `sent` if it arrived, `cancelled` if it is no longer wanted
        #[arg(value_parser = one_of([("sent", ResolvedAs::Sent), ("cancelled", ResolvedAs::Cancelled)]))]
        state: ResolvedAs,
    },
    /// Acknowledge a notification, so that it does not escalate
    Acknowledge {
        /// The notification, as `adjutant notifications list` shows it
        id: NotificationId,
    },
}

/// Runs one of the commands.
pub(super) fn run(args: AssistantArgs<Command>, common: Common) -> Result<(), Failure> {
    with_app(common, args, |app, command| async move {
        let assistant = &app.assistant;
        match command {
            Command::List(args) => list::run(args, assistant, &app.config).await,
            Command::Show(args) => show::run(&args, assistant).await,
            Command::Plan(args) => plan::run(args, &app).await,
            Command::Simulate(args) => simulate::run(&args, assistant).await,
            Command::Cancel { id } => decisions::cancel(&id, assistant).await,
            Command::Snooze { id, until } => decisions::snooze(&id, &until, assistant).await,
            Command::Test { user, channel } => decisions::test(&user, channel, &app).await,
            Command::Retry { id } => decisions::retry(&id, assistant).await,
            Command::Resolve { id, state } => decisions::resolve(&id, state, assistant).await,
            Command::Acknowledge { id } => decisions::acknowledge(&id, assistant).await,
        }
    })
}
