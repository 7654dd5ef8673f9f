//! `adjutant events forget`.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::calendar_address::{absolute, address};
use adjutant_assistant::import::RemovedCalendar;
use adjutant_assistant::{Assistant, Calendar, UserId};
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant events forget`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ForgetArgs {
    /// User who owns the calendar
    user: UserId,
    /// File, folder or URL that was imported
    #[arg(value_name = "FILE|FOLDER|URL")]
    from: PathBuf,
}

/// Removes all events that were imported from a file, a folder or a URL, without reading it.
pub(super) async fn run(args: &ForgetArgs, assistant: &Assistant) -> Result<(), Failure> {
    let ForgetArgs { user, from } = args;
    assistant.user(user).await?;
    let (mut matching, mut others) = (Vec::new(), Vec::new());
    for calendar in assistant.calendars(user).await? {
        // A forgotten calendar has no events.
        if calendar.refresh.is_none() && assistant.versions(&calendar).await?.is_empty() {
            continue;
        }
        if is_at(&calendar, from) {
            matching.push(calendar);
        } else if !calendar.place.is_empty() {
            others.push(calendar.place);
        }
    }
    if matching.is_empty() {
        let failure = Failure::new(format!(
            "no event of `{user}` came from {}",
            escape_line(&from.display().to_string())
        ));
        return Err(if others.is_empty() {
            failure.hint("`adjutant events list` lists the events")
        } else {
            failure.hint(escape_line(&format!("they came from {}", others.join(", "))))
        });
    }
    let mut entries = Vec::new();
    for calendar in matching {
        let RemovedCalendar { removed, withdrawn } =
            assistant.remove_calendar(&calendar, ACTOR, Timestamp::now()).await?;
        if !output::is_json() {
            output::data(&escape_line(&format!(
                "{}: {} removed, {} cancelled",
                calendar.place,
                counted(removed, "event"),
                counted(withdrawn, "notification")
            )))?;
        }
        entries.push(json!({
            "from": calendar.place,
            "calendar_id": calendar.id.as_str(),
            "removed": removed,
            "cancelled": withdrawn,
        }));
    }
    if output::is_json() { output::json(&output::list(entries, "calendar_id")) } else { Ok(()) }
}

/// Returns whether `from` names the calendar, or the folder of its file.
fn is_at(calendar: &Calendar, from: &Path) -> bool {
    if let Some(url) = address(from) {
        // The URL of a collection ends with a slash, which users may omit.
        return calendar.place.trim_end_matches('/') == url.trim_end_matches('/');
    }
    let (place, from) = (Path::new(&calendar.place), absolute(from));
    place == from || place.parent() == Some(&from)
}
