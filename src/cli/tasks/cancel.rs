//! `adjutant tasks cancel`.

use clap::Args;

use super::super::output::{self, Failure};
use super::progress::Progress;
use super::{as_json, short_id};
use adjutant_agents::task::Ending;
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant tasks cancel`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArgs {
    /// The tasks' ids, or enough of their beginnings
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Cancels the tasks one after the other, and prints the outcome of each.
pub(super) fn run(args: &CancelArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let mut cancelled = Vec::new();
    for id in &args.ids {
        let mut progress = Progress::new();
        progress.wait(&format!("ending {id}"));
        let task = client.cancel_task(id);
        progress.clear();
        let task = task?;
        if !output::is_json() {
            let ended = match &task.outcome {
                Some(outcome) if outcome.status == Ending::Cancelled => outcome.sentence(),
                _ => format!("It had ended already: {}.", task.state.as_str()),
            };
            output::data(&format!("{}: {ended}", short_id(&task.id)))?;
        }
        cancelled.push(as_json(&task));
    }
    if output::is_json() { output::json(&output::list(cancelled, "task_id")) } else { Ok(()) }
}
