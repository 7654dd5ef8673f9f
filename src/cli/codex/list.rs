//! `adjutant codex list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt;
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant codex list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only threads that contain this text
    query: Option<String>,
    /// Threads that Codex started without Adjutant, such as by `codex exec` or in an editor; `--thread` adopts one
    #[arg(long, conflicts_with = "query")]
    external: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the threads, the last used first.
pub(super) fn run(args: &ListArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    if args.external {
        return external(args, client);
    }
    let query = args.query.as_deref().unwrap_or_default();
    let threads = client.codex_threads(query, args.limit)?;
    if args.json {
        output::json(&json!({ "threads": threads }))?;
    } else if threads.is_empty() {
        output::note(if query.is_empty() {
            "there are no threads yet; `adjutant codex PROMPT` starts one"
        } else {
            "no thread is like that"
        });
    } else {
        let rows: Vec<[String; 3]> = threads
            .into_iter()
            .map(|thread| {
                let at = timefmt::stamp(timefmt::instant(thread.updated_at));
                let end = thread.last_end.map(|end| format!(", {end}")).unwrap_or_default();
                [thread.thread, escape_line(&thread.title), format!("{}{end}  {at}", thread.state)]
            })
            .collect();
        output::table(["THREAD", "PROMPT", "STATE"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn external(args: &ListArgs, client: &mut ControlClient) -> Result<ExitCode, Failure> {
    let threads = client.codex_elsewhere(args.limit)?;
    if args.json {
        output::json(&json!({ "threads": threads }))?;
    } else if threads.is_empty() {
        output::note("Codex has no threads that were started without Adjutant");
    } else {
        let rows: Vec<[String; 3]> = threads
            .into_iter()
            .map(|thread| {
                let at = timefmt::stamp(timefmt::instant(thread.updated_at));
                [thread.thread, escape_line(&thread.title), format!("{}  {at}", escape_line(&thread.source))]
            })
            .collect();
        output::table(["THREAD", "PROMPT", "BEGUN BY"], 1, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
