//! `adjutant events show`.

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, EventId};
use adjutant_base::text::escape_invisible::escape_line;

/// Maximum notifications of one event.
const MAX_NOTIFICATIONS: u32 = 10_000;

/// Arguments of `adjutant events show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The event, as `adjutant events list` shows it
    id: EventId,
}

/// Prints an event with its notifications.
pub(super) async fn run(args: &ShowArgs, assistant: &Assistant) -> Result<(), Failure> {
    let id = &args.id;
    let event = assistant.event(id).await?;
    let zone = assistant.user(&event.user).await?.preferences.zone;
    let mut value = json!(json::event(&event, None, &zone));
    let notifications = assistant.notifications_of(id, MAX_NOTIFICATIONS).await?;
    value["notes"] = json!(event.details.notes);
    let notification = |one| output::identified(json::notification(one, &zone), "notification_id");
    value["notifications"] = notifications.iter().map(notification).collect();
    if output::is_json() {
        return output::json(&output::identified(value, "event_id"));
    }
    let mut lines = vec![escape_line(&event.title)];
    for name in
        ["id", "status", "start_ts", "end_ts", "weekday", "time_zone", "location", "organizer", "description"]
    {
        if let Some(text) = value[name].as_str().filter(|text| !text.is_empty()) {
            lines.push(format!("  {name:<12}{}", escape_line(text)));
        }
    }
    for note in &event.details.notes {
        lines.push(format!("  note        {}", escape_line(note)));
    }
    for one in &notifications {
        let at = zone.civil(one.due_at).strftime("%a %Y-%m-%d %H:%M");
        lines.push(format!("  {at}  {} by {}  {}", one.status.name(), one.channel.word(), one.id));
        lines.extend(
            one.reasons.iter().map(|reason| format!("    {}: {}", reason.by, escape_line(&reason.why))),
        );
    }
    output::data(&lines.join("\n"))
}
