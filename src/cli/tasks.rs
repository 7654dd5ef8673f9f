//! `adjutant tasks …`: the delegated tasks of all clients.

mod cancel;
mod list;
mod logs;
pub(super) mod progress;
pub(super) mod result;
mod show;
mod wait;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::{Common, hub_client};
use adjutant_base::config::Roots;
use adjutant_base::text::timefmt;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::tasks::TaskView;

/// Characters of an id that are shown where all of it is not needed: 40 random bits.
const SHORT: usize = 8;

/// Arguments of `adjutant tasks`.
#[derive(Debug, Args)]
pub(super) struct TasksArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List tasks, the newest first
    List(list::ListArgs),
    /// Show one task: its state, its result and its run report
    Show(show::ShowArgs),
    /// Wait for a task, and print its result
    Wait(wait::WaitArgs),
    /// Cancel tasks, and wait until none of their processes is left
    Cancel(cancel::CancelArgs),
    /// Print what happened in a task's run
    Logs(logs::LogsArgs),
}

/// Runs one of the commands, with the hub that runs or a new one: results outlive both.
pub(super) fn run(args: TasksArgs, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let config = common.config(Roots::User)?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match args.command {
        Command::List(args) => list::run(args, &mut client),
        Command::Show(args) => show::run(&args, &mut client),
        Command::Wait(args) => wait::run(&args, &mut client),
        Command::Cancel(args) => cancel::run(&args, &mut client),
        Command::Logs(args) => logs::run(&args, &mut client),
    }
}

/// Returns the beginning of an id that is enough to name the task.
pub(super) fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

/// Reads a length of time of the command line.
pub(super) fn span(text: &str) -> Result<Duration, &'static str> {
    timefmt::read_span(text).filter(|length| !length.is_zero()).ok_or("use one like 90s, 5m or 1h")
}

/// Returns where a task stands, in a word or a few.
fn status(task: &TaskView) -> String {
    match (task.cancelling, task.position) {
        (true, _) => "cancelling".to_owned(),
        (false, Some(position)) => format!("{}, position {position}", task.status),
        (false, None) => task.status.clone(),
    }
}

/// Returns how long ago an instant was.
fn ago(millis: i64) -> String {
    let since = SystemTime::now().duration_since(timefmt::instant(millis)).unwrap_or_default();
    format!("{} ago", timefmt::span(since))
}
