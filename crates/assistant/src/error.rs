//! Errors of the assistant.

use crate::calendar::error as calendar;
use adjutant_store as store;

/// A sentence fragment for the user or the model that asked; it names no path of the disk and no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `what` is a user, an event, a calendar, a notification.
    #[error("unknown {what} `{id}`")]
    Unknown { what: &'static str, id: String },
    #[error("`{name}` is not a known time zone; use a name like Europe/Berlin")]
    UnknownZone { name: String },
    /// A value of a user or of a file is invalid.
    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },
    #[error("a user with the {field} `{value}` already exists")]
    AlreadyExists { field: &'static str, value: String },
    /// The action does not fit the status of the notification.
    #[error("notification `{id}` is {status}: {reason}")]
    WrongStatus { id: String, status: &'static str, reason: &'static str },
    /// A row that this program did not write, or that was damaged.
    #[error("the row of {what} `{id}` cannot be read")]
    Damaged { what: &'static str, id: String },
    /// The text of a calendar has a fault.
    #[error("{0}")]
    Calendar(calendar::Error),
    /// A typed date cannot be read.
    #[error("{0}")]
    Date(#[from] crate::plain_dates::Error),
    #[error("cannot get random numbers from the operating system")]
    Randomness,
    #[error("{0}")]
    Store(#[from] store::Error),
}
