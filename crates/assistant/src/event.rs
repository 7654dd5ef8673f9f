//! Events of a calendar, and when they happen.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

use super::id::{CalendarId, EventId, UserId};
use super::words::words;
use super::zone::Zone;

/// Where events come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calendar {
    pub(crate) id: CalendarId,
    pub(crate) user: UserId,
    pub(crate) name: String,
    pub(crate) source: CalendarSource,
    /// The file, folder or address that is read; the user's own calendar has none.
    pub(crate) place: String,
    /// What the server said last, so that only changes are read.
    pub(crate) etag: Option<String>,
    pub(crate) sync_token: Option<String>,
    pub(crate) read_at: Option<Timestamp>,
}

words! {
    /// What a calendar is read from.
    CalendarSource { Local = "local", File = "file", Url = "url", CalDav = "caldav" }
}

/// An event: a single one, a series, or one occurrence of a series that differs from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: EventId,
    pub(crate) user: UserId,
    /// The name that the event has in calendars; a series and its changed occurrences share it.
    pub(crate) uid: String,
    pub(crate) title: String,
    pub(crate) status: EventStatus,
    pub(crate) details: EventDetails,
    /// The (first) start and end as instants; a floating one is read in the user's zone.
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    /// Of all that a plan depends on.
    pub(crate) digest: String,
}

/// What stands as JSON in the event's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventDetails {
    pub(crate) when: When,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recurrence: Option<Recurrence>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) location: String,
    /// The address of a video conference.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) conference: String,
    /// A mail address, or a name where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) organizer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attendees: Vec<Attendee>,
    /// What the import had to settle, a sentence each; shown to people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// Civil times, which say when an event is even if the clocks change before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct When {
    pub(crate) start: DateTime,
    /// Not before the start. For a whole day the midnight after the last one.
    pub(crate) end: DateTime,
    /// `None` floats: it is the user's own time, wherever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<Zone>,
    #[serde(default)]
    pub(crate) all_day: bool,
}

/// How an event repeats, in civil times of the event's zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recurrence {
    /// The values of RRULE, as they stand in the file.
    #[serde(default)]
    pub(crate) rules: Vec<String>,
    /// Starts that come on top (RDATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) more: Vec<DateTime>,
    /// Starts that are left out (EXDATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) without: Vec<DateTime>,
    /// Whole days that are left out (EXDATE with VALUE=DATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_days: Vec<Date>,
    /// Rules whose dates are left out (EXRULE of RFC 2445, which older calendars hold).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_rules: Vec<String>,
    /// Added starts that say themselves how long they last (RDATE with VALUE=PERIOD).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) periods: Vec<Period>,
    /// Starts that changed occurrences take the place of, in order (the `RECURRENCE-ID`s of the others of its uid).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) replaced: Vec<DateTime>,
    /// The first start that belongs to a change of the rest (`RANGE=THISANDFUTURE`), with all that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ends_before: Option<DateTime>,
    /// For such a change, the series that it is the rest of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rest_of: Option<RestOf>,
}

/// A start and how many seconds it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Period {
    pub(crate) start: DateTime,
    pub(crate) seconds: i64,
}

/// A series whose starts, from one of them on, are moved by as much as that one is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RestOf {
    /// The first start of the series, where its rules begin.
    pub(crate) start: DateTime,
    /// The clock that its starts are read from, as [`When::zone`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<Zone>,
    /// The first start that is moved.
    pub(crate) from: DateTime,
}

/// Somebody who is invited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attendee {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) email: String,
    /// PARTSTAT in small letters: `accepted`, `declined`, `needs-action`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) answer: String,
}

words! {
    /// Whether an event takes place.
    EventStatus { Confirmed = "confirmed", Tentative = "tentative", Cancelled = "cancelled" }
}

/// One time that an event happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrence {
    /// The civil start by the series' rule, as `2026-11-21T10:00:00`: it stays when the occurrence is moved.
    pub(crate) key: String,
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    /// A change of the clocks moved it: the civil start does not exist, or exists twice.
    pub(crate) adjusted: bool,
}

/// An event as a reader of calendars gives it, before it is in the store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) uid: String,
    /// For a changed occurrence, the civil start that the series would have had.
    pub(crate) replaces: Option<DateTime>,
    pub(crate) title: String,
    pub(crate) status: EventStatus,
    pub(crate) details: EventDetails,
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    /// When it happens within the horizon. A series has none for a start that a changed occurrence replaces, and a
    /// cancelled event has none.
    pub(crate) occurrences: Vec<Occurrence>,
    pub(crate) etag: Option<String>,
    /// The component as it came.
    pub(crate) source: String,
}

impl Draft {
    /// What the event is known by in its calendar: the uid, and the start that it replaces, empty for none.
    pub(crate) fn name(&self) -> (String, String) {
        (self.uid.clone(), self.replaces.map(|start| start.to_string()).unwrap_or_default())
    }
}
