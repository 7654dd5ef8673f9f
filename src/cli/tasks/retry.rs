//! `adjutant tasks retry`.

use clap::Args;

use super::super::output::{self, Failure};
use super::short_id;
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant tasks retry`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RetryArgs {
    /// The tasks' ids, or enough of their beginnings
    #[arg(required = true)]
    ids: Vec<String>,
    /// Try runners again that rest after a usage limit
    #[arg(long)]
    now: bool,
    /// Print the new tasks as JSON
    #[arg(long)]
    json: bool,
}

/// Delegates the tasks again, and prints the ids of the new ones.
pub(super) fn run(args: &RetryArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let mut retried = Vec::new();
    for id in &args.ids {
        let task = client.retry_task(id, args.now)?;
        if !args.json {
            output::data(task.id.as_str())?;
            output::note(format!("`adjutant tasks wait {}` waits for the result", short_id(&task.id)));
        }
        retried.push(task);
    }
    if args.json { output::json(&retried) } else { Ok(()) }
}
