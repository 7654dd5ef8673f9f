//! `adjutant tasks list`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::super::output::{self, Failure};
use super::{ago, as_json, short_id, status};
use adjutant_agents::task::{Page, State};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::tasks::Query;

/// Arguments of `adjutant tasks list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only tasks with this in their text, their agent's name or their result
    query: Option<String>,
    /// Only tasks in this state; may be repeated
    #[arg(long = "state", value_parser = PossibleValuesParser::new(State::ALL.map(State::as_str)))]
    states: Vec<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue there: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT")]
    after: Option<i64>,
}

/// Prints the tasks, the newest first.
pub(super) fn run(args: ListArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let filtered = args.query.is_some() || !args.states.is_empty();
    let states = args.states.iter().filter_map(|name| State::from_name(name)).collect();
    let query = Query { states, text: args.query, before: args.after, limit: args.limit };
    let Page { tasks, total, next } = client.tasks(query)?;
    if output::is_json() {
        let tasks = tasks.iter().map(as_json).collect();
        return output::json(&output::page(tasks, "task_id", Some(total), next));
    }
    let empty =
        if filtered { "no task matches" } else { "no tasks yet; `adjutant delegate AGENT TASK` creates one" };
    let rows = tasks.iter().map(|task| {
        [
            short_id(&task.id).to_owned(),
            status(task),
            escape_line(&task.agent),
            escape_line(&task.text),
            escape_line(&task.label),
            ago(task.created_at),
        ]
    });
    output::table(
        ["ID", "STATUS", "AGENT", "TASK", "ASKED BY", "WHEN"],
        3,
        &rows.collect::<Vec<_>>(),
        empty,
    )?;
    let count = tasks.len() as u64;
    if count < total {
        output::note(format!("note: these are the newest {count} of {total}; --limit shows more"));
    }
    Ok(())
}
