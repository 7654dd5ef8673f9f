//! Due times, quiet hours and weekends on a user's clock.

use jiff::civil::{DateTime, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::notification::Offset;
use crate::time_zone::Zone;
use crate::user::QuietHours;

/// The step of the search for the edge of quiet hours where the clocks change at it.
const STEP: SignedDuration = SignedDuration::from_mins(1);
/// No quiet time is longer than a day, and a change of the clocks adds less than another.
const MAX_STEPS: usize = 2 * 24 * 60;

/// Returns the instant that lies so far before `start`.
pub(super) fn due(start: Timestamp, offset: Offset, zone: &Zone) -> Option<Timestamp> {
    match offset {
        Offset::Minutes(minutes) => start.checked_sub(i64::from(minutes).minutes()).ok(),
        Offset::Days(days) => {
            let at = start.to_zoned(zone.rules().clone());
            at.checked_sub(i64::from(days).days()).map(|at| at.timestamp()).ok()
        }
    }
}

/// Returns whether an instant is in the quiet hours by the clock of the zone.
pub(crate) fn is_quiet(quiet: QuietHours, at: Timestamp, zone: &Zone) -> bool {
    let time = zone.civil(at).time();
    if quiet.start < quiet.end {
        quiet.start <= time && time < quiet.end
    } else {
        quiet.start <= time || time < quiet.end
    }
}

/// Returns the first instant at or after `at` that is not quiet.
pub(super) fn after_quiet(quiet: QuietHours, at: Timestamp, zone: &Zone) -> Option<Timestamp> {
    if !is_quiet(quiet, at, zone) {
        return Some(at);
    }
    let civil = zone.civil(at);
    // After midnight the end is still to come today; before midnight it is tomorrow's.
    let day = if civil.time() < quiet.end { civil.date() } else { civil.date().tomorrow().ok()? };
    let mut end = zone.rules().to_ambiguous_zoned(day.to_datetime(quiet.end)).compatible().ok()?.timestamp();
    // Where the clocks skip the end, they show a time after it from the change on.
    while let Ok(before) = end.checked_sub(STEP)
        && before >= at
        && !is_quiet(quiet, before, zone)
    {
        end = before;
    }
    first_not_quiet(quiet, end.max(at), STEP, zone)
}

/// Returns the last whole minute at or before `at` that is not quiet.
pub(super) fn before_quiet(quiet: QuietHours, at: Timestamp, zone: &Zone) -> Option<Timestamp> {
    first_not_quiet(quiet, at, -STEP, zone)
}

fn first_not_quiet(
    quiet: QuietHours,
    from: Timestamp,
    step: SignedDuration,
    zone: &Zone,
) -> Option<Timestamp> {
    let mut at = from;
    for _ in 0..MAX_STEPS {
        if !is_quiet(quiet, at, zone) {
            return Some(at);
        }
        at = at.checked_add(step).ok()?;
    }
    None
}

/// Returns whether an instant is on a Saturday or a Sunday of the zone.
pub(super) fn is_weekend(at: Timestamp, zone: &Zone) -> bool {
    matches!(zone.civil(at).weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Returns a civil time for people and models, with the weekday, because models get weekdays wrong.
pub(super) fn spoken(at: Timestamp, zone: &Zone) -> String {
    format!("{} ({zone})", civil(zone.civil(at)))
}

fn civil(at: DateTime) -> String {
    at.strftime("%A, %-d %B %Y, %H:%M").to_string()
}

/// Returns a distance in words: `1 hour`, `90 minutes`, `9 hours 41 minutes`, `2 days`.
pub(super) fn distance(offset: Offset) -> String {
    let count = |n: u32, unit: &str| if n == 1 { format!("1 {unit}") } else { format!("{n} {unit}s") };
    match offset {
        Offset::Minutes(minutes) if minutes > 0 && minutes % 60 == 0 => count(minutes / 60, "hour"),
        Offset::Minutes(minutes) if minutes > 120 => {
            format!("{} {}", count(minutes / 60, "hour"), count(minutes % 60, "minute"))
        }
        Offset::Minutes(minutes) => count(minutes, "minute"),
        Offset::Days(days) => count(days, "day"),
    }
}
