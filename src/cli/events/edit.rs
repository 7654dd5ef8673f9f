//! `adjutant events edit`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use super::texts::{EventTexts, announce, failed};
use adjutant_app::App;
use adjutant_assistant::calendar::{Change, EventEdit};
use adjutant_assistant::json;
use adjutant_assistant::own_events::{moved_to, time_of};
use adjutant_assistant::{Error, EventId};

/// Arguments of `adjutant events edit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct EditArgs {
    /// The event, as `adjutant events list` shows it
    id: EventId,
    /// Only this time of an event that repeats, such as '24.12.' or 'Friday 16:00'
    #[arg(long, value_name = "DATE")]
    on: Option<String>,
    /// The new title
    #[arg(long)]
    title: Option<String>,
    /// The new time, such as 'Friday 16:00' or '24.12. 18:00 for 2h'; a day alone keeps the time of day, a time the
    /// day, a length the start
    #[arg(long, value_name = "TIME")]
    when: Option<String>,
    #[command(flatten)]
    texts: EventTexts,
}

/// Changes an event. Missing values stay unchanged.
pub(super) async fn run(args: EditArgs, app: &App) -> Result<(), Failure> {
    let assistant = &app.assistant;
    let EditArgs { id, on, title, when, texts } = args;
    let source = assistant.writable_event(&id).await?;
    let (now, zone) = (Timestamp::now(), &source.user.preferences.zone);
    let mut edit = EventEdit { title, ..texts.into_edit() };
    let one = on.map(|on| source.time_on(&on, now)).transpose()?;
    let before = one.as_ref().map_or(&source.event, |(_, event)| event);
    if let Some(when) = when {
        edit.time = Some(moved_to(&when, zone, before, now).map_err(Error::Date)?);
    }
    if edit == EventEdit::default() {
        return Err(Failure::usage("no change of the event is given")
            .hint("adjutant events edit ID --when 'Friday 16:00'"));
    }
    let change = match &one {
        Some((time, event)) => {
            edit.time = Some(edit.time.map_or_else(|| time_of(event, zone), Ok).map_err(Error::Date)?);
            Change::EditTime(*time, edit)
        }
        None => Change::Edit(edit),
    };
    app.change_event(&source, &change, now).await.map_err(failed)?;
    let event = assistant.changed_event(&source, &change).await?;
    announce("changed", &event, zone);
    if output::is_json() {
        let changed = json!(json::event(&event, None, zone));
        return output::json(&output::identified(changed, "event_id"));
    }
    Ok(())
}
