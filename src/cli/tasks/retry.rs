//! `adjutant tasks retry`.

use clap::Args;

use super::super::output::{self, Failure};
use super::{as_json, short_id};
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
}

/// Delegates the tasks again, and prints the ids of the new ones.
pub(super) fn run(args: &RetryArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let mut retried = Vec::new();
    for id in &args.ids {
        let task = client.retry_task(id, args.now)?;
        if !output::is_json() {
            output::data(task.id.as_str())?;
            output::note(format!("`adjutant tasks wait {}` waits for the result", short_id(&task.id)));
        }
        retried.push(as_json(&task));
    }
    if output::is_json() { output::json(&output::list(retried, "task_id")) } else { Ok(()) }
}
