//! Quiet hours and weekends: whether a channel may be used at an instant. Plans follow this already; it is checked
//! again before a send, because a send may be late or escalate to another channel.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};

use super::due_times::{after_quiet, is_quiet, is_weekend};
use crate::notification::Channel;
use crate::user::{Preferences, WeekendPolicy};

/// The time of day that is meant where a user names a day alone.
const MORNING: Time = Time::constant(8, 0, 0, 0);

/// The reason why nothing may be sent by a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It is quiet until then.
    Quiet(Timestamp),
    /// The user does not want it at the weekend.
    Weekend,
}

/// Returns when a notification is sent that a user snoozes to a day: in the morning, after the quiet hours.
pub fn morning(preferences: &Preferences, day: Date) -> Option<Timestamp> {
    let zone = &preferences.zone;
    let at = zone.rules().to_timestamp(day.to_datetime(MORNING)).ok()?;
    preferences.quiet.map_or(Some(at), |quiet| after_quiet(quiet, at, zone))
}

/// Returns why the user's preferences block a channel at an instant; `None` if they do not.
pub(crate) fn blocked_by(preferences: &Preferences, channel: Channel, at: Timestamp) -> Option<Blocked> {
    let zone = &preferences.zone;
    if let Some(quiet) = preferences.quiet.filter(|quiet| is_quiet(*quiet, at, zone)) {
        // Quiet hours without an end are checked again the next day.
        let until =
            after_quiet(quiet, at, zone).or_else(|| at.checked_add(SignedDuration::from_hours(24)).ok());
        return Some(Blocked::Quiet(until.unwrap_or(Timestamp::MAX)));
    }
    let unwanted = match (preferences.weekend, channel) {
        (WeekendPolicy::None, _)
        | (WeekendPolicy::Email, Channel::Call)
        | (WeekendPolicy::Call, Channel::Email) => true,
        (WeekendPolicy::Email | WeekendPolicy::Call | WeekendPolicy::Both, _) => false,
    };
    (unwanted && is_weekend(at, zone)).then_some(Blocked::Weekend)
}
