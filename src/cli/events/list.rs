//! `adjutant events list`.

use clap::Args;
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::json;

use super::super::list_span::{ListSpan, zone_of};
use super::super::output::{self, Failure};
use adjutant_assistant::events::Span;
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::text::clip;
use adjutant_base::text::escape_invisible::escape_line;

/// Maximum time that an event of the list may have begun before the list.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(31 * 24);
/// Maximum events of one list.
const MAX_EVENTS: u32 = 10_000;

/// Maximum characters of a title in the table.
const MAX_TITLE_CHARS: usize = 200;

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
    let followed = assistant.follow_series(user.as_ref(), until, Timestamp::now()).await?;
    // Also those that began before and are not over yet.
    let before =
        Span { user: user.clone(), from: from.saturating_sub(LOOK_BACK).unwrap_or(from), until: from };
    let (mut found, _) = assistant.event_occurrences(&before, MAX_EVENTS).await?;
    found.retain(|one| one.occurrence.ends_at > from);
    let running = u32::try_from(found.len()).unwrap_or(MAX_EVENTS);
    let end = after.saturating_add(MAX_EVENTS);
    let (coming, more) =
        assistant.event_occurrences(&Span { user, from, until }, end.saturating_sub(running)).await?;
    found.extend(coming);
    let total = (!more).then_some(found.len() as u64);
    found.drain(..found.len().min(after as usize));
    if output::is_json() {
        let events = found.iter().map(|one| json!(json::event(&one.event, Some(&one.occurrence), &zone)));
        let next = more.then_some(i64::from(end));
        return output::json(&output::page(events.collect(), "event_id", total, next));
    }
    let rows = found.iter().map(|one| {
        let [start, end] = [one.occurrence.starts_at, one.occurrence.ends_at].map(|at| zone.civil(at));
        let (start, end) = shown(start, end, one.event.details.when.all_day);
        let title = escape_line(&clip::chars(&one.event.title, MAX_TITLE_CHARS));
        [start, end, title, one.event.id.to_string()]
    });
    let start = format!("START ({zone})");
    let empty = "there are no events in these days; `adjutant events import USER FILE` imports a calendar";
    output::table([&start, "END", "EVENT", "ID"], 2, &rows.collect::<Vec<_>>(), empty)?;
    if let Some(known) = followed.filter(|known| from < known.from || until > known.to) {
        let [first, last] = [known.from, known.to].map(|at| zone.civil(at).date());
        output::note(format!("events that repeat are listed from {first} to {last} only"));
    }
    if more {
        output::note(format!("only the first {MAX_EVENTS}; ask for fewer days"));
    }
    Ok(())
}

/// Returns the start and the end of an event as a list shows them: of whole days the first and the last one.
fn shown(start: DateTime, end: DateTime, all_day: bool) -> (String, String) {
    let last = if all_day { end.saturating_sub(1.second()) } else { end };
    let form = match (all_day, start.date() == last.date()) {
        (true, true) => "",
        (true, false) => "%a %Y-%m-%d",
        (false, true) => "%H:%M",
        (false, false) => "%a %Y-%m-%d %H:%M",
    };
    let start = start.strftime(if all_day { "%a %Y-%m-%d" } else { "%a %Y-%m-%d %H:%M" });
    (start.to_string(), last.strftime(form).to_string())
}
