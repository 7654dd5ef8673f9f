//! `adjutant tasks logs`.

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::{AGENT, HUB};
use adjutant_agents::TaskEvent;
use adjutant_base::text::escape_invisible::{escape_json, escape_line};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::tasks::TaskUpdate;

/// Arguments of `adjutant tasks logs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lines with `agent |` are what the agent and its runner say, lines with `hub |` what the hub saw or did."
)]
pub(in crate::cli) struct LogsArgs {
    /// The task's id, or enough of its beginning
    id: String,
    /// Follow the log until the task ends
    #[arg(short, long)]
    follow: bool,
}

/// Prints the events of a task in their order.
pub(super) fn run(args: &LogsArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let mut written = Ok(());
    let task = client.follow_task(&args.id, 0, args.follow, |update| {
        if let TaskUpdate::Event(TaskEvent { seq, at, kind }) = update
            && written.is_ok()
        {
            let at = stamp(instant(at));
            written = output::data(&if output::is_json() {
                escape_json(&json!({"seq": seq, "at": at, "what": kind}).to_string()).into_owned()
            } else {
                let mark = if kind.is_of_hub() { HUB } else { AGENT };
                output::marked(&format!("{at}  {mark}"), &escape_line(&kind.line()))
            });
        }
    })?;
    written?;
    if args.follow {
        output::note(format!("{HUB}the task has ended: {}", task.state.as_str()));
    }
    Ok(())
}
