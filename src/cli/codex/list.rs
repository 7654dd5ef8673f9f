//! `adjutant codex list`.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt;
use adjutant_codex::{ExternalThread, ListedThread};
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
pub(super) fn run(args: &ListArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let stamp = |millis: i64| timefmt::stamp(timefmt::instant(millis));
    if args.external {
        let threads = client.codex_external_threads(args.limit)?;
        let row = |thread: &ExternalThread| {
            let state = format!("{}  {}", escape_line(&thread.source), stamp(thread.updated_at));
            [thread.thread.clone(), escape_line(&thread.title), state]
        };
        return print(
            args,
            &threads,
            row,
            "STARTED BY",
            "Codex has no threads that were started without Adjutant",
        );
    }
    let query = args.query.as_deref().unwrap_or_default();
    let threads = client.codex_threads(query, args.limit)?;
    let row = |ListedThread { row, state }: &ListedThread| {
        let end = row.last_end.as_ref().map(|end| format!(", {end}")).unwrap_or_default();
        let state = format!("{}{end}  {}", state.name(), stamp(row.updated_at));
        [row.id.clone(), escape_line(&row.title), state]
    };
    let empty = match query {
        "" => "there are no threads yet; `adjutant codex PROMPT` starts one",
        _ => "no thread matches",
    };
    print(args, &threads, row, "STATE", empty)
}

/// Prints threads as JSON or as a table with the last column `state`.
fn print<T: Serialize>(
    args: &ListArgs,
    threads: &[T],
    row: impl Fn(&T) -> [String; 3],
    state: &str,
    empty: &str,
) -> Result<(), Failure> {
    if args.json {
        return output::json(&json!({ "threads": threads }));
    }
    let rows: Vec<_> = threads.iter().map(row).collect();
    output::table(["THREAD", "PROMPT", state], 1, &rows, empty)
}
