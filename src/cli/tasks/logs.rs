//! `adjutant tasks logs`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use crate::clock::{instant, stamp};
use crate::socket::person::Person;
use crate::socket::person::tasks::Told;
use crate::visible::line;

/// Arguments of `adjutant tasks logs`.
#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// The task's id, or enough of its beginning
    id: String,
    /// Go on to the task's end
    #[arg(short, long)]
    follow: bool,
    /// Print one JSON value a line
    #[arg(long)]
    json: bool,
}

/// Prints what happened, in order.
pub(super) fn run(args: &LogsArgs, person: &mut Person) -> Result<ExitCode, Failure> {
    let mut written = Ok(());
    let task = person.follow_task(&args.id, 0, args.follow, |told| {
        if let Told::Happened { seq, at, what } = told
            && written.is_ok()
        {
            let at = stamp(instant(at));
            written = output::data(&if args.json {
                json!({"seq": seq, "at": at, "what": what}).to_string()
            } else {
                format!("{at}  {}", line(&what.line()))
            });
        }
    })?;
    written?;
    if args.follow && !args.json {
        output::note(format!("the task has ended: {}", task.status));
    }
    Ok(ExitCode::SUCCESS)
}
