//! `adjutant tasks wait`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::super::output::Failure;
use super::progress::Progress;
use super::{parse_duration, result, short_id, status};
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant tasks wait`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: the agent has finished, and no check failed.")]
pub(in crate::cli) struct WaitArgs {
    /// The task's id, or enough of its beginning
    id: String,
    /// Wait at most this long, like 90s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

/// Waits, and prints the result.
pub(super) fn run(args: &WaitArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let mut progress = Progress::new();
    let waited = match args.timeout {
        Some(timeout) => {
            progress.wait(&format!("waiting for {}", args.id));
            client.wait_for_task(&args.id, Some(timeout.as_secs()))
        }
        None => client.follow_task(&args.id, 0, true, |update| progress.show(&update)),
    };
    progress.clear();
    let task = waited?;
    if task.state.is_ended() {
        return result::print(&task);
    }
    Err(Failure::new(format!("task {} has not ended in time: it is {}", short_id(&task.id), status(&task)))
        .hint("the task still runs; wait again with a longer --timeout"))
}
