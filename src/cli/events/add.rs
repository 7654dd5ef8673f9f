//! `adjutant events add`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use super::texts::{EventTexts, announce, failed, user_or_only};
use adjutant_app::App;
use adjutant_assistant::calendar::EventEdit;
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, Calendar, Error, User, UserId, plain_dates};

/// Arguments of `adjutant events add`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    /// The title and the time, such as 'Dentist tomorrow 15:00 for 45 min'
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// User who owns the event [default: the only user]
    #[arg(long)]
    user: Option<UserId>,
    /// Calendar on a CalDAV server that was imported with `--write` [default: the user's own]
    #[arg(long, value_name = "NAME")]
    calendar: Option<String>,
    #[command(flatten)]
    texts: EventTexts,
}

/// Adds an event to the user's own calendar, and prints its id.
pub(super) async fn run(args: AddArgs, app: &App) -> Result<(), Failure> {
    let AddArgs { text, user, calendar, texts } = args;
    let assistant = &app.assistant;
    let user = user_or_only(assistant, user).await?;
    let (now, zone) = (Timestamp::now(), &user.preferences.zone);
    let dated =
        plain_dates::parse(&text.join(" "), &now.to_zoned(zone.rules().clone())).map_err(Error::Date)?;
    if dated.rest.is_empty() {
        return Err(
            Failure::usage("the event has no title").hint("adjutant events add 'Dentist tomorrow 15:00'")
        );
    }
    let time = dated.event_time(zone, None).map_err(Error::Date)?;
    let edit = EventEdit { title: Some(dated.rest.clone()), time: Some(time), ..texts.into_edit() };
    let calendar = match calendar {
        Some(name) => Some(writable_calendar(assistant, &user, &name).await?),
        None => None,
    };
    let event = app.add_event(&user, calendar.as_ref(), &edit, now).await.map_err(failed)?;
    announce("added", &event, zone);
    if output::is_json() {
        let added = json!(json::event(&event, None, zone));
        return output::json(&output::identified(added, "event_id"));
    }
    output::data(event.id.as_str())
}

/// Returns the calendar of this name that may be changed on its server.
async fn writable_calendar(assistant: &Assistant, user: &User, name: &str) -> Result<Calendar, Failure> {
    let mut calendars = assistant.calendars(&user.id).await?;
    calendars.retain(|calendar| calendar.refresh.as_ref().is_some_and(|refresh| refresh.writable));
    let names: Vec<_> = calendars.iter().map(|calendar| calendar.name.clone()).collect();
    let found = calendars.into_iter().find(|calendar| calendar.name == name);
    found.ok_or_else(|| {
        let failure = Failure::new(format!("no calendar `{name}` may be changed"));
        failure.suggest(&names).hint("`adjutant events import USER URL --caldav --write` imports one")
    })
}
