//! `adjutant events cancel`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::texts::{failed, when};
use adjutant_app::App;
use adjutant_assistant::EventId;
use adjutant_assistant::calendar::Change;
use adjutant_assistant::notification::Status;
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;

/// Maximum notifications of an event that are read.
const MAX_NOTIFICATIONS: u32 = 10_000;

/// Arguments of `adjutant events cancel`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArgs {
    /// The event, as `adjutant events list` shows it
    id: EventId,
    /// Only this time of an event that repeats, such as '24.12.' or 'Friday 16:00'
    #[arg(long, value_name = "DATE")]
    on: Option<String>,
}

/// Cancels an event with its planned notifications.
pub(super) async fn run(args: &CancelArgs, app: &App) -> Result<(), Failure> {
    let source = app.assistant.writable_event(&args.id).await?;
    let now = Timestamp::now();
    let (withdrawn, which) = match &args.on {
        Some(on) => {
            let (time, event) = source.time_on(on, now)?;
            // The notifications of its other times are planned again.
            let occurrence = time.civil.to_string();
            let mut planned = app.assistant.notifications_of(&args.id, MAX_NOTIFICATIONS).await?;
            planned.retain(|one| one.occurrence == occurrence && one.status == Status::Planned);
            let changed = app.change_event(&source, &Change::CancelTime(time), now).await;
            let withdrawn = changed.map(|_| planned.len() as u64);
            (withdrawn, when(&event, &source.user.preferences.zone))
        }
        None if source.event.repeats() => {
            (app.cancel_event(&source, ACTOR, now).await, "all its times".to_owned())
        }
        None => {
            (app.cancel_event(&source, ACTOR, now).await, when(&source.event, &source.user.preferences.zone))
        }
    };
    let withdrawn = withdrawn.map_err(failed)?;
    let title = &source.event.title;
    let line = format!("cancelled: {title}, {which}, and {}", counted(withdrawn, "notification"));
    let cancelled = json!({"id": args.id, "event_id": args.id, "title": title, "cancelled": withdrawn});
    output::changed(escape_line(&line), &cancelled)
}
