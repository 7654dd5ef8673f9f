//! `adjutant events cancel`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::local_assistant::ACTOR;
use super::super::output::{self, Failure};
use super::super::status::counted;
use super::texts::failed;
use adjutant_app::App;
use adjutant_assistant::EventId;
use adjutant_base::text::escape_invisible::escape_line;

/// Arguments of `adjutant events cancel`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArgs {
    /// The event, as `adjutant events list` shows it
    id: EventId,
}

/// Cancels an event with its planned notifications.
pub(super) async fn run(args: &CancelArgs, app: &App) -> Result<(), Failure> {
    let source = app.assistant.writable_event(&args.id).await?;
    let withdrawn = app.cancel_event(&source, ACTOR, Timestamp::now()).await.map_err(failed)?;
    let title = &source.event.title;
    let line = format!("cancelled: {title}, and {}", counted(withdrawn, "notification"));
    let cancelled = json!({"id": args.id, "event_id": args.id, "title": title, "cancelled": withdrawn});
    output::changed(escape_line(&line), &cancelled)
}
