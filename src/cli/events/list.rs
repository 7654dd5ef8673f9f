//! `adjutant events list`.

use clap::Args;
use serde_json::json;

use super::super::list_span::{ListSpan, zone_of};
use super::super::output::{self, Failure};
use adjutant_assistant::events::Span;
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::text::escape_invisible::escape_line;

/// Maximum events of one list.
const MAX_EVENTS: u32 = 10_000;

/// Arguments of `adjutant events list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only this user, in the user's time zone
    #[arg(long)]
    user: Option<UserId>,
    #[command(flatten)]
    span: ListSpan,
    /// Days to look back
    #[arg(long, value_name = "DAYS", default_value_t = 2)]
    days_back: u32,
    /// Days to look ahead
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    days_forward: u32,
    /// Continue there: `next` of the previous page, as --json prints it
    #[arg(long, value_name = "NEXT", default_value_t = 0, hide_default_value = true)]
    after: u32,
}

/// Prints the events around today by their start.
pub(super) async fn run(args: ListArgs, assistant: &Assistant) -> Result<(), Failure> {
    let ListArgs { user, span, days_back, days_forward, after } = args;
    let zone = zone_of(assistant, user.as_ref()).await?;
    let (from, until) = span.resolve(&zone, (days_back, days_forward))?;
    let span = Span { user, from, until };
    let end = after.saturating_add(MAX_EVENTS);
    let (mut found, more) = assistant.event_occurrences(&span, end).await?;
    let total = (!more).then_some(found.len() as u64);
    found.drain(..found.len().min(after as usize));
    if output::is_json() {
        let events = found.iter().map(|one| json!(json::event(&one.event, Some(&one.occurrence), &zone)));
        let next = more.then_some(i64::from(end));
        return output::json(&output::page(events.collect(), "event_id", total, next));
    }
    let rows = found.iter().map(|one| {
        let at = zone.civil(one.occurrence.starts_at).strftime("%a %Y-%m-%d %H:%M").to_string();
        [at, escape_line(&one.event.title), one.event.id.to_string()]
    });
    let start = format!("START ({zone})");
    let empty = "there are no events in these days; `adjutant events import USER FILE` imports a calendar";
    output::table([&start, "EVENT", "ID"], 1, &rows.collect::<Vec<_>>(), empty)?;
    if more {
        output::note(format!("only the first {MAX_EVENTS}; ask for fewer days"));
    }
    Ok(())
}
