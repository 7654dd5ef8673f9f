//! Events and when they happen.

mod put;
mod read;

pub(crate) use put::{Changed, EventChange, keep, put, remove};
pub(crate) use read::{VersionRow, Window, get, occurrence, occurrences, series, sources, versions, window};

use super::row;
use crate::store::Millis;

row! {
    /// An event, a series, or a changed occurrence of a series.
    EventRow {
        id: String,
        user_id: String,
        calendar_id: String,
        uid: String,
        /// Empty but for a changed occurrence.
        recurrence_id: String,
        title: String,
        status: String,
        starts_at: Millis,
        ends_at: Millis,
        /// 1 for a series.
        recurs: i64,
        /// JSON.
        details: String,
        digest: String,
        etag: Option<String>,
        updated_at: Millis,
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
