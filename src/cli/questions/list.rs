//! `adjutant questions list`.

use clap::Args;

use super::{SHORT_ID_LEN, as_json, state};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::questions::{Query, QuestionDetails};

/// Maximum questions of one list, which is the default of `pending` in `[questions]`.
const MAX_LIMIT: i64 = 20_000;

/// Arguments of `adjutant questions list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only questions with this text in their title, client or folder
    query: Option<String>,
    /// List decided questions, the newest first
    #[arg(long)]
    decided: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=MAX_LIMIT))]
    limit: u32,
    /// Continue there: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT", default_value_t = 0, hide_default_value = true)]
    after: u32,
}

/// Prints the questions.
pub(super) fn run(args: ListArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let ListArgs { query, decided, limit, after } = args;
    let searched = query.is_some();
    let end = after.saturating_add(limit);
    let query = Query { decided, text: query.unwrap_or_default(), limit: end };
    let skipped = after as usize;
    if output::is_json() {
        let mut questions = Vec::new();
        let total = client.questions(query, |details| questions.push(as_json(&details)))?;
        let next = (total > u64::from(end)).then_some(i64::from(end));
        let questions = questions.into_iter().skip(skipped).collect();
        return output::json(&output::page(questions, "ticket", Some(total), next));
    }
    let empty = match (searched, decided) {
        (true, _) => "no question matches",
        (false, true) => "no question was decided yet",
        (false, false) => "there are no pending questions; --decided shows decided questions",
    };
    let row = |details: &QuestionDetails| {
        let question = &details.question;
        let asker = escape_line(&format!("{}{}", question.asker(), question.short_place()));
        let id = question.ticket.as_str();
        let id = id.get(..SHORT_ID_LEN).unwrap_or(id);
        [id.to_owned(), escape_line(&question.title), asker, state(details)]
    };
    let mut rows = Vec::new();
    let total = client.questions(query, |details| rows.push(row(&details)))?;
    rows.drain(..skipped.min(rows.len()));
    output::table(["ID", "QUESTION", "ASKED BY", "STATE"], 1, &rows, empty)?;
    if (rows.len() as u64) < total {
        output::note(format!("note: these are {} of {total}; --limit shows more", rows.len()));
    }
    if !decided && !rows.is_empty() {
        output::note("`adjutant inbox` answers them");
    }
    Ok(())
}
