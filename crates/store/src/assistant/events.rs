//! Events and when they happen.

mod put;
mod read;

pub(crate) use put::{Changed, EventChange, EventRow, keep, put, remove};
pub(crate) use read::{VersionRow, Window, get, occurrence, occurrences, series, sources, versions, window};

use super::row;
use crate::store::Millis;

row! {
    /// What questions need of an event's row: a column that nobody asks for costs every row of a long list.
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
    /// One time that an event happens.
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
    put::FIND,
    put::INSERT,
    put::UPDATE,
    put::SOURCE,
    put::FORGET,
    put::OCCURRENCE,
    put::CANCEL,
    read::GET,
    read::OCCURRENCE,
    read::OCCURRENCES,
    read::SERIES,
    read::SOURCES,
    read::VERSIONS,
    read::WINDOW,
    read::WINDOW_OF,
];
