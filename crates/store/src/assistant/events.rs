//! Events and their occurrences.

mod read;
mod upsert;

pub use read::{
    EventOccurrenceRow, SourceRow, VersionRow, Window, get, occurrence, occurrences, running, series, source,
    sources, versions, window,
};
pub use upsert::{Changed, EventChange, EventRow, add_occurrences, put, remove};

use crate::{Millis, row};

row! {
    /// The columns of an event that queries need; any other column would slow down every row of a long list.
    EventView {
        id: String,
        user_id: String,
        uid: String,
        title: String,
        status: String,
        starts_at: Millis,
        ends_at: Millis,
        /// JSON.
        details: String,
        digest: String,
    }
}

row! {
    /// One occurrence of an event.
    OccurrenceRow {
        event_id: String,
        occurrence: String,
        user_id: String,
        starts_at: Millis,
        ends_at: Millis,
        adjusted: i64,
    }
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    upsert::FIND,
    upsert::INSERT,
    upsert::UPDATE,
    upsert::SOURCE,
    upsert::FORGET,
    upsert::OCCURRENCE,
    upsert::CANCEL,
    read::GET,
    read::OCCURRENCE,
    read::OCCURRENCES,
    read::SERIES,
    read::SOURCE,
    read::SOURCES,
    read::VERSIONS,
    read::WINDOW,
    read::WINDOW_OF,
    read::RUNNING_OF,
];
