//! `adjutant codex list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::output::{self, Failure};
use crate::clock;
use crate::socket::person::Person;
use crate::visible::line;

/// Arguments of `adjutant codex list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only threads in which something like this was said
    query: Option<String>,
    /// Threads that were not begun here: on Codex's own screen, by `codex exec`, in an editor; `--thread` takes one up
    #[arg(long, conflicts_with = "query")]
    elsewhere: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the threads, the last used first.
pub(super) fn run(args: &ListArgs, person: &mut Person) -> Result<ExitCode, Failure> {
    if args.elsewhere {
        return elsewhere(args, person);
    }
    let query = args.query.as_deref().unwrap_or_default();
    let threads = person.codex_threads(query, args.limit)?;
    if args.json {
        output::json(&json!({ "threads": threads }))?;
    } else if threads.is_empty() {
        output::note(if query.is_empty() {
            "there are no threads yet; `adjutant codex PROMPT` begins one"
        } else {
            "no thread is like that"
        });
    } else {
        let rows: Vec<[String; 3]> = threads
            .into_iter()
            .map(|thread| {
                let at = clock::stamp(clock::instant(thread.updated_at));
                let end = thread.last_end.map(|end| format!(", {end}")).unwrap_or_default();
                [thread.thread, line(&thread.title), format!("{}{end}  {at}", thread.state)]
            })
            .collect();
        output::table(["THREAD", "PROMPT", "STATE"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn elsewhere(args: &ListArgs, person: &mut Person) -> Result<ExitCode, Failure> {
    let threads = person.codex_elsewhere(args.limit)?;
    if args.json {
        output::json(&json!({ "threads": threads }))?;
    } else if threads.is_empty() {
        output::note("Codex has no threads that were not begun here");
    } else {
        let rows: Vec<[String; 3]> = threads
            .into_iter()
            .map(|thread| {
                let at = clock::stamp(clock::instant(thread.updated_at));
                [thread.thread, line(&thread.title), format!("{}  {at}", line(&thread.source))]
            })
            .collect();
        output::table(["THREAD", "PROMPT", "BEGUN BY"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
