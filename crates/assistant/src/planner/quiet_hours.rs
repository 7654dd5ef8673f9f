//! What may go out at an instant. The plan keeps to it already; it is asked again when something is sent, for a send may
//! be late, and when something goes on to another way.

use jiff::{SignedDuration, Timestamp};

use super::super::notification::Channel;
use super::super::user::{Preferences, WeekendPolicy};
use super::times::{after_quiet, is_quiet, is_weekend};

/// Why nothing may go out by a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It is quiet until then.
    Quiet(Timestamp),
    /// The user does not want it at the weekend.
    Weekend,
}

/// Tells whether a way is closed at an instant, by what the user prefers.
pub(crate) fn closed(preferences: &Preferences, channel: Channel, at: Timestamp) -> Option<Closed> {
    let zone = &preferences.zone;
    if let Some(quiet) = preferences.quiet.filter(|quiet| is_quiet(*quiet, at, zone)) {
        // Quiet hours without an end are looked at again the next day.
        let until =
            after_quiet(quiet, at, zone).or_else(|| at.checked_add(SignedDuration::from_hours(24)).ok());
        return Some(Closed::Quiet(until.unwrap_or(Timestamp::MAX)));
    }
    let unwanted = match (preferences.weekend, channel) {
        (WeekendPolicy::None, _)
        | (WeekendPolicy::Email, Channel::Call)
        | (WeekendPolicy::Call, Channel::Email) => true,
        (WeekendPolicy::Email | WeekendPolicy::Call | WeekendPolicy::Both, _) => false,
    };
    (unwanted && is_weekend(at, zone)).then_some(Closed::Weekend)
}
