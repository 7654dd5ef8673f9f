//! Calendars, events and their occurrences.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

use super::ids::{CalendarId, EventId, UserId};
use super::time_zone::Zone;

/// A calendar that events come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    pub id: CalendarId,
    pub user: UserId,
    pub name: String,
    pub source: CalendarSource,
    /// The file, folder or address that is read; the user's own calendar has none.
    pub place: String,
    /// The version that the server gave last, so that only changes are read.
    pub etag: Option<String>,
    pub sync_token: Option<String>,
    /// The last time that the server answered, or the file was read.
    pub read_at: Option<Timestamp>,
    /// `None` if no hub reads it again.
    pub refresh: Option<Refresh>,
}

/// How a hub reads a calendar again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refresh {
    /// Seconds from one try to the next while all succeed.
    pub every_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<StoredLogin>,
    /// Events of the calendar may be changed on its server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writable: bool,
    pub next_at: Timestamp,
    /// Failed tries since the last success.
    #[serde(default)]
    pub failures: u32,
    /// Why the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A name, and the file whose first line is the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLogin {
    pub name: String,
    pub password_file: PathBuf,
}

adjutant_base::named_enum! {
    /// The source of a calendar.
    CalendarSource { Local = "local", File = "file", Url = "url", CalDav = "caldav" }
}

/// An event: a single one, a series, or one occurrence of a series that differs from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub user: UserId,
    /// The name that the event has in calendars; a series and its changed occurrences share it.
    pub uid: String,
    pub title: String,
    pub status: EventStatus,
    pub details: EventDetails,
    /// The (first) start and end as instants; a floating one is read in the user's zone.
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// The digest of all that a plan depends on.
    pub digest: String,
}

impl Event {
    /// Returns whether it is a series.
    pub fn repeats(&self) -> bool {
        self.details.recurrence.is_some()
    }
}

/// The JSON part of an event's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventDetails {
    pub when: When,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recurrence: Option<Recurrence>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// The address of a video conference.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) conference: String,
    /// A mail address, or a name where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub organizer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attendees: Vec<Attendee>,
    /// Decisions of the import, a sentence each, for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Civil times, which say when an event is even if the clocks change before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct When {
    pub start: DateTime,
    pub(crate) length: Length,
    /// `None` floats: it is the user's own time, wherever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    #[serde(default)]
    pub all_day: bool,
}

/// How long an event lasts: civil days, which may have 23 or 25 hours, and then exact seconds (RFC 5545 3.8.5.3). A
/// `DTEND` is exact, a `DURATION` of days and weeks is civil. Neither is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Length {
    pub days: i64,
    pub seconds: i64,
}

/// How an event repeats, in civil times of the event's zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recurrence {
    /// The values of RRULE, as they are written in the file.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Starts that come on top (RDATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<DateTime>,
    /// Added starts that are the second of two times that the clocks show alike (an RDATE in UTC).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) second_more: Vec<DateTime>,
    /// Starts that are left out (EXDATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<DateTime>,
    /// Whole days that are left out (EXDATE with VALUE=DATE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_days: Vec<Date>,
    /// Rules of dates that are left out (EXRULE of RFC 2445, which older calendars hold).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) without_rules: Vec<String>,
    /// Added starts that say themselves how long they last (RDATE with VALUE=PERIOD).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) periods: Vec<Period>,
    /// Starts that changed occurrences take the place of, in order (the `RECURRENCE-ID`s of the others of its uid).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<DateTime>,
    /// The start from which on a change of the rest takes the place of the series (`RANGE=THISANDFUTURE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ends_before: Option<DateTime>,
    /// For such a change, the series that it is the rest of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rest_of: Option<RestOf>,
}

/// A start and how long it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Period {
    pub start: DateTime,
    pub length: Length,
}

/// The series that a change of its rest continues: all its starts from `from` on move by as much as that one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RestOf {
    /// The first start of the series, where its rules begin.
    pub start: DateTime,
    /// The clock that its starts are read from, as [`When::zone`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// The first start that is moved.
    pub from: DateTime,
}

/// A participant who is invited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attendee {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// PARTSTAT in small letters: `accepted`, `declined`, `needs-action`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

adjutant_base::named_enum! {
    /// Whether an event takes place.
    EventStatus { Confirmed = "confirmed", Tentative = "tentative", Cancelled = "cancelled" }
}

/// One time that an event happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// The civil start by the series' rule, as `2026-11-21T10:00:00`: it stays when the occurrence is moved.
    pub key: String,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// A change of the clocks moved it: the civil start does not exist, or exists twice.
    pub adjusted: bool,
}

/// An event as a reader of calendars gives it, before it is in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub uid: String,
    /// For a changed occurrence, the civil start that the series would have had.
    pub replaces: Option<DateTime>,
    pub title: String,
    pub status: EventStatus,
    pub details: EventDetails,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// When it happens within the horizon. A series has none for a start that a changed occurrence replaces, and a
    /// cancelled event has none.
    pub occurrences: Vec<Occurrence>,
    pub etag: Option<String>,
    /// The line of its `BEGIN`, counted from one.
    pub line: usize,
    /// The component as it came.
    pub source: String,
}

impl Draft {
    /// Returns the key of the event in its calendar: the uid, and the start that it replaces, empty for none.
    pub fn name(&self) -> (String, String) {
        (self.uid.clone(), self.replaces.map(|start| start.to_string()).unwrap_or_default())
    }
}
