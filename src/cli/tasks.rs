//! `adjutant tasks …`: the delegated tasks of all clients.

mod cancel;
mod list;
mod logs;
pub(super) mod progress;
pub(super) mod result;
mod retry;
mod show;
mod wait;
mod worktrees;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Subcommand;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_agents::run_report::Verification;
use adjutant_agents::{Task, TaskId};
use adjutant_base::config::Roots;
use adjutant_base::text::timefmt;
use adjutant_terminal::socket::Start;

/// The mark before each line of an agent and of its runner. It is added to lines that are escaped already, so no output
/// of an agent has the mark of the hub.
const AGENT: &str = "agent | ";
/// The mark before each line of the hub.
const HUB: &str = "hub | ";

/// Characters of a shortened id: 40 random bits.
const SHORT_ID_LEN: usize = 8;

/// Commands of `adjutant tasks`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List tasks, the newest first
    List(list::ListArgs),
    /// Show one task: its state, its result and its run report
    Show(show::ShowArgs),
    /// Wait for a task, and print its result
    Wait(wait::WaitArgs),
    /// Cancel tasks, and wait until none of their processes is left
    Cancel(cancel::CancelArgs),
    /// Delegate ended tasks again, to their agents as they are now
    Retry(retry::RetryArgs),
    /// Print what happened in a task's run
    Logs(logs::LogsArgs),
    /// List the worktrees of tasks, and remove old ones
    Worktrees(worktrees::WorktreesArgs),
}

/// Runs one of the commands. Starts a hub if none runs, because results outlive hubs.
pub(super) fn run(command: Command, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    match command {
        Command::List(args) => list::run(args, &mut client)?,
        Command::Show(args) => show::run(&args, &mut client)?,
        Command::Wait(args) => return wait::run(&args, &mut client),
        Command::Cancel(args) => cancel::run(&args, &mut client)?,
        Command::Retry(args) => retry::run(&args, &mut client)?,
        Command::Logs(args) => logs::run(&args, &mut client)?,
        Command::Worktrees(args) => worktrees::run(&args, &config)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Shortens an id to a prefix that identifies the task.
pub(super) fn short_id(id: &TaskId) -> &str {
    id.as_str().get(..SHORT_ID_LEN).unwrap_or(id.as_str())
}

/// Parses a duration on the command line.
pub(super) fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    timefmt::read_span(text).filter(|span| !span.is_zero()).ok_or("use a time such as 30s, 5m, 2h or 1d")
}

/// Returns a task as JSON, with its id and its instants as text.
pub(super) fn as_json(task: &Task) -> Value {
    let mut value = output::with_instants(json!(task), &["/created_at", "/started_at", "/ended_at"]);
    for attempt in
        value.pointer_mut("/outcome/run_report/attempts").and_then(Value::as_array_mut).into_iter().flatten()
    {
        *attempt = output::with_instants(attempt.take(), &["/started_at"]);
    }
    output::identified(value, "task_id")
}

/// Describes the state of a task in a few words.
fn status(task: &Task) -> String {
    match (task.cancelling, task.position) {
        (true, _) => "cancelling".to_owned(),
        (false, Some(position)) => format!("{}, position {position}", task.state.as_str()),
        (false, None) if task.verdict == Some(Verification::Refuted) => {
            format!("{}, checks failed", task.state.as_str())
        }
        (false, None) => task.state.as_str().to_owned(),
    }
}

/// Returns how long ago an instant was.
fn ago(millis: i64) -> String {
    let since = SystemTime::now().duration_since(timefmt::instant(millis)).unwrap_or_default();
    format!("{} ago", timefmt::span(since))
}
