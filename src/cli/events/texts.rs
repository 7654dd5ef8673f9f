//! Texts of an event that a user writes, and the event in words.

use clap::Args;
use jiff::ToSpan as _;

use crate::cli::output::{self, Failure};
use adjutant_app::calendar_writes::Error;
use adjutant_assistant::calendar::EventEdit;
use adjutant_assistant::{Assistant, Event, User, UserId, Zone};
use adjutant_base::text::escape_invisible::escape_line;

/// Texts of an event.
#[derive(Debug, Args)]
pub(super) struct EventTexts {
    /// The place; empty for none
    #[arg(long)]
    location: Option<String>,
    /// The description; empty for none
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl EventTexts {
    pub(super) fn into_edit(self) -> EventEdit {
        EventEdit { location: self.location, description: self.description, ..EventEdit::default() }
    }
}

/// Returns the user, or the only one if none is named.
pub(super) async fn user_or_only(assistant: &Assistant, user: Option<UserId>) -> Result<User, Failure> {
    if let Some(id) = user {
        return Ok(assistant.user(&id).await?);
    }
    let mut users = assistant.users(None, 2).await?;
    match (users.pop(), users.is_empty()) {
        (Some(user), true) => Ok(user),
        (None, _) => Err(Failure::new("there is no user").hint("adjutant users add 'Ann Example' --id ann")),
        (Some(_), false) => Err(Failure::usage("there are several users")
            .hint("name one with `--user`; `adjutant users list` lists them")),
    }
}

/// Prints an event with its weekday, because the time may have been written in words.
pub(super) fn announce(done: &str, event: &Event, zone: &Zone) {
    output::note(escape_line(&format!("{done}: {} on {}", event.title, when(event, zone))));
}

/// Returns the time of an event, with its weekday: of whole days the first and the last one.
pub(super) fn when(event: &Event, zone: &Zone) -> String {
    let all_day = event.details.when.all_day;
    let form = if all_day { "%A, %Y-%m-%d" } else { "%A, %Y-%m-%d %H:%M" };
    let [start, end] = [event.starts_at, event.ends_at].map(|at| zone.civil(at));
    let end = if all_day { end.saturating_sub(1.second()) } else { end };
    let same_day = start.date() == end.date();
    let start = start.strftime(form);
    if all_day && same_day {
        return start.to_string();
    }
    let end = end.strftime(if same_day { "%H:%M" } else { form });
    if all_day { format!("{start} to {end}") } else { format!("{start} to {end} ({zone})") }
}

/// Returns the failure of a change, with a hint.
pub(super) fn failed(error: Error) -> Failure {
    let hint = match error {
        Error::Assistant(error) => return Failure::from(error),
        Error::Conflict { .. } => "`adjutant events show ID` shows it as it is now",
        Error::Deleted => "`adjutant events add` adds it again",
        Error::Uncertain(_) => "check the calendar before you add it again",
        Error::Refused(401 | 403) => "import the calendar again with a login that may write",
        Error::Refused(_) | Error::Sync(_) | Error::Outbound(_) => "try again later",
        Error::Password(_) => "import the calendar again with `--password-file FILE`",
    };
    Failure::new(escape_line(&error.to_string())).hint(hint)
}
