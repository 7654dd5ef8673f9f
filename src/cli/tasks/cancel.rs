//! `adjutant tasks cancel`.

use clap::Args;

use super::super::output::{self, Failure};
use super::progress::Progress;
use super::{as_json, short_id};
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
            let left = task.outcome.as_ref().map_or(0, |outcome| outcome.report.processes_left);
            output::data(&match (task.state.as_str(), left) {
                ("cancelled", 0) => {
                    format!("{} is cancelled; none of its processes is left", short_id(&task.id))
                }
                ("cancelled", left) => {
                    format!("{} is cancelled; {left} of its processes could not be ended", short_id(&task.id))
                }
                (status, _) => format!("{} had ended already: {status}", short_id(&task.id)),
            })?;
        }
        cancelled.push(as_json(&task));
    }
    if output::is_json() { output::json(&output::list(cancelled, "task_id")) } else { Ok(()) }
}
