//! Calendars as iCalendar text, and the expansion of events into occurrences. Pure: text, time zones and horizons are
//! arguments.
//!
//! calcard reads the text. Rules and occurrences are computed here: calcard's expansion, the only access to its rules,
//! loses events at changes of the clocks. A rule is expanded in civil time, as its author meant it, and each date is
//! then resolved in its zone.

pub mod caldav;
mod component_splitter;
mod content_lines;
mod datetime;
mod edit;
pub(crate) mod error;
mod export;
mod limits;
mod occurrences;
mod parse;
mod recurrence_overrides;
mod rrule;
mod tzid;
mod vevent;
mod vtimezone;
mod x_wr_timezone;
pub(crate) mod zone_definition;

#[cfg(test)]
mod tests;

pub use edit::{Change, EventEdit, EventTime, SeriesTime, changed_in, document};
pub(crate) use edit::{cancelled, created};
pub use error::{Effect, Error};
pub(crate) use export::to_ics;
pub use export::{CalendarDocument, Entry, Reminder};
pub use limits::MAX_BYTES;
pub use occurrences::{Horizon, occurrences};
pub use parse::{ParseIssue, ParsedCalendar, parse};
pub use rrule::Budget;
pub(crate) use vevent::Version;
