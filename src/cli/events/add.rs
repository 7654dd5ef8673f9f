//! `adjutant events add`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use super::texts::{EventTexts, announce, user_or_only};
use adjutant_assistant::calendar::EventEdit;
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, Error, UserId, plain_dates};

/// Arguments of `adjutant events add`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    /// The title and the time, such as 'Dentist tomorrow 15:00 for 45 min'
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// User who owns the event [default: the only user]
    #[arg(long)]
    user: Option<UserId>,
    #[command(flatten)]
    texts: EventTexts,
}

/// Adds an event to the user's own calendar, and prints its id.
pub(super) async fn run(args: AddArgs, assistant: &Assistant) -> Result<(), Failure> {
    let AddArgs { text, user, texts } = args;
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
    let event = assistant.add_event(&user, &edit, now).await?;
    announce("added", &event, zone);
    if output::is_json() {
        let added = json!(json::event(&event, None, zone));
        return output::json(&output::identified(added, "event_id"));
    }
    output::data(event.id.as_str())
}
