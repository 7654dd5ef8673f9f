//! `adjutant events calendars`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use adjutant_assistant::{Assistant, UserId};
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant events calendars`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CalendarsArgs {
    /// User who owns the calendars
    user: UserId,
}

/// Prints the imported calendars with the last time that each was read, and why it cannot be read again.
pub(super) async fn run(args: &CalendarsArgs, assistant: &Assistant) -> Result<(), Failure> {
    let zone = assistant.user(&args.user).await?.preferences.zone;
    let calendars = assistant.calendars(&args.user).await?;
    if output::is_json() {
        let entries = calendars.iter().map(|calendar| {
            let refresh = calendar.refresh.as_ref();
            json!({
                "calendar_id": calendar.id.as_str(),
                "name": calendar.name,
                "source": calendar.source.name(),
                "from": calendar.place,
                "read_at": calendar.read_at.map(|at| at.to_string()),
                "every_seconds": refresh.map(|refresh| refresh.every_seconds),
                "next_at": refresh.map(|refresh| refresh.next_at.to_string()),
                "failures": refresh.map(|refresh| refresh.failures),
                "failure": refresh.and_then(|refresh| refresh.failure.as_deref()),
            })
        });
        return output::json(&output::list(entries.collect(), "calendar_id"));
    }
    let shown = |at: Timestamp| zone.civil(at).strftime("%Y-%m-%d %H:%M").to_string();
    let rows = calendars.iter().map(|calendar| {
        let next = match &calendar.refresh {
            Some(refresh) => match &refresh.failure {
                Some(failure) => format!("{}, because {failure}", shown(refresh.next_at)),
                None => shown(refresh.next_at),
            },
            None => String::new(),
        };
        // The user's own calendar has no place.
        let place = if calendar.place.is_empty() { &calendar.name } else { &calendar.place };
        [escape_line(place), calendar.read_at.map(shown).unwrap_or_default(), escape_line(&next)]
    });
    let (read, next) = (format!("LAST READ ({zone})"), "NEXT".to_owned());
    let empty = "no calendar was imported; `adjutant events import USER FILE` imports one";
    output::table(["CALENDAR", &read, &next], 0, &rows.collect::<Vec<_>>(), empty)
}
