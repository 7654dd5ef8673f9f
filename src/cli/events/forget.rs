//! `adjutant events forget`: what was taken over from a place is taken back.

use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use super::super::assistant::ACTOR;
use super::super::output::{self, Failure};
use super::super::status::many;
use super::{absolute, remote};
use crate::assistant::import::Forgotten;
use crate::assistant::{Assistant, Calendar, UserId};
use crate::visible::line;

/// Takes back all events that came from `from`: a file, a folder of files, or an address. Nothing is read there.
pub(super) async fn forget(room: &Assistant, user: &UserId, from: &Path, json: bool) -> Result<(), Failure> {
    room.user(user).await?;
    let (mut meant, mut others) = (Vec::new(), Vec::new());
    for calendar in room.calendars(user).await? {
        // One that was forgotten before has nothing left.
        if room.versions(&calendar).await?.is_empty() {
            continue;
        }
        if is_at(&calendar, from) { meant.push(calendar) } else { others.push(calendar.place) }
    }
    if meant.is_empty() {
        let failure =
            Failure::new(format!("no event of `{user}` came from {}", line(&from.display().to_string())));
        return Err(if others.is_empty() {
            failure.hint("`adjutant events list` shows the events that there are")
        } else {
            failure.hint(line(&format!("they came from {}", others.join(", "))))
        });
    }
    let mut told = Vec::new();
    for calendar in meant {
        let Forgotten { gone, withdrawn } = room.forget(&calendar, ACTOR, Timestamp::now()).await?;
        if !json {
            output::data(&line(&format!(
                "{}: {} gone, {} taken back",
                calendar.place,
                many(gone, "event"),
                many(withdrawn, "notification")
            )))?;
        }
        told.push(json!({
            "from": calendar.place,
            "calendar": calendar.id.as_str(),
            "gone": gone,
            "withdrawn": withdrawn,
        }));
    }
    if json { output::json(&json!({"forgotten": told})) } else { Ok(()) }
}

/// Whether a calendar is what `from` names, or a file in the folder that it names.
fn is_at(calendar: &Calendar, from: &Path) -> bool {
    if let Some(url) = remote::address(from) {
        // A collection has a slash behind it, whether it was written or not.
        return calendar.place.trim_end_matches('/') == url.trim_end_matches('/');
    }
    let (place, from) = (Path::new(&calendar.place), absolute(from));
    place == from || place.parent() == Some(&from)
}
