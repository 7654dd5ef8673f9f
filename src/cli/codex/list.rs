//! `adjutant codex list`.

use clap::Args;
use serde::Serialize;

use super::{all_ids, as_json, unique_prefix};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt;
use adjutant_codex::{ExternalThread, ListedThread, Query};
use adjutant_terminal::socket::control::ControlClient;

/// Arguments of `adjutant codex list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only threads that contain this text
    query: Option<String>,
    /// Threads that Codex started without Adjutant, such as by `codex exec` or in an editor; `--thread` adopts one
    #[arg(long, conflicts_with = "query")]
    external: bool,
    /// Only the archived threads, instead of the others
    #[arg(long, conflicts_with = "external")]
    archived: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue there: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT", default_value_t = 0, hide_default_value = true)]
    after: u32,
}

impl ListArgs {
    /// Returns the number of threads up to the end of the page.
    fn end(&self) -> u32 {
        self.after.saturating_add(self.limit)
    }
}

/// Prints the threads, the last used first.
pub(super) fn run(args: &ListArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let stamp = |millis: i64| timefmt::stamp(timefmt::instant(millis));
    if args.external {
        let threads = client.codex_external_threads(args.end().saturating_add(1))?;
        let row = |thread: &ExternalThread| {
            let source = escape_line(&thread.source);
            [thread.thread.clone(), escape_line(&thread.title), source, stamp(thread.updated_at)]
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
    let threads = client.codex_threads(Query {
        text: query.to_owned(),
        limit: args.end().saturating_add(1),
        archived: args.archived,
        ..Query::default()
    })?;
    let ids = if output::is_json() { Vec::new() } else { all_ids(client)? };
    let row = |ListedThread { row, state }: &ListedThread| {
        let end = row.last_end.as_ref().map(|end| format!(", {end}")).unwrap_or_default();
        let state = format!("{}{end}", state.name());
        [unique_prefix(&row.id, &ids).to_owned(), escape_line(&row.title), state, stamp(row.updated_at)]
    };
    let empty = match query {
        "" => "there are no threads yet; `adjutant codex PROMPT` starts one",
        _ => "no thread matches",
    };
    print(args, &threads, row, "STATE", empty)
}

/// Prints threads as JSON or as a table with `state` as the heading of the third column.
fn print<T: Serialize>(
    args: &ListArgs,
    threads: &[T],
    row: impl Fn(&T) -> [String; 4],
    state: &str,
    empty: &str,
) -> Result<(), Failure> {
    let end = args.end() as usize;
    let page: Vec<&T> = threads.iter().take(end).skip(args.after as usize).collect();
    if output::is_json() {
        let (total, next) = if threads.len() > end {
            (None, Some(i64::from(args.end())))
        } else {
            (Some(threads.len() as u64), None)
        };
        let threads = page.into_iter().map(as_json).collect();
        return output::json(&output::page(threads, "thread_id", total, next));
    }
    let rows: Vec<_> = page.into_iter().map(row).collect();
    output::table(["THREAD", "TITLE", state, "LAST USED"], 1, &rows, empty)
}
