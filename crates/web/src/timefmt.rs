//! Instants on a page: a span in words, with the exact time.

use std::time::{Duration, SystemTime};

use minijinja::{Value, context};

use adjutant_base::text::timefmt;
use adjutant_base::text::timefmt::stamp;

/// Returns the instant for a `<time>` element: `stamp` in RFC 3339 (UTC, whole seconds) and `ago` in words.
pub(super) fn time(at: SystemTime, now: SystemTime) -> Value {
    let ago = match now.duration_since(at).unwrap_or_default() {
        young if young < Duration::from_secs(5) => "just now".to_owned(),
        _ => format!("{} ago", span(at, now)),
    };
    context! { stamp => stamp(at), ago }
}

/// Returns the time of day, in UTC, to the second.
pub(super) fn clock(at: SystemTime) -> Value {
    let stamp = stamp(at);
    let clock = stamp.get(11..19).unwrap_or_default().to_owned();
    context! { stamp, clock }
}

/// Returns a length of time; under ten seconds with tenths.
pub(super) fn length(length: Duration) -> String {
    match length.as_millis() {
        millis @ 0..10_000 => format!("{}.{} s", millis / 1000, millis / 100 % 10),
        _ => timefmt::span(length),
    }
}

/// Returns a number of bytes in its largest unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

/// Returns the time between two instants in its largest unit; a clock that went back counts as no time.
pub(super) fn span(from: SystemTime, to: SystemTime) -> String {
    timefmt::span(to.duration_since(from).unwrap_or_default())
}
