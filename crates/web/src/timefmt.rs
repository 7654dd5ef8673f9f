//! Instants on a page: a span in words, with the exact time.

use std::time::{Duration, SystemTime};

use minijinja::{Value, context};

use adjutant_base::text::timefmt;
use adjutant_base::text::timefmt::instant;

/// What ends within this time needs its user first.
const SOON: Duration = Duration::from_mins(15);

/// Returns the instant for a `<time>` element: `stamp` in RFC 3339 (UTC, whole seconds), `ago` in words, the time of
/// day as `clock`, with the date before it as `day` (empty for today), and as `soon` whether it comes within [`SOON`].
pub(super) fn time(at: i64) -> Value {
    let ago = match SystemTime::now().duration_since(instant(at)).unwrap_or_default() {
        young if young < Duration::from_secs(5) => "just now".to_owned(),
        age => match age.as_secs() / 3600 {
            0 => format!("{} ago", timefmt::span(age)),
            // A reader of an old time needs its size; the exact time is with it.
            hours @ 1..24 => format!("{hours} h ago"),
            hours => format!("{} d ago", hours / 24),
        },
    };
    let stamp = timefmt::stamp(instant(at));
    let clock = stamp.get(11..19).unwrap_or_default().to_owned();
    let day = stamp.get(..10).filter(|day| !timefmt::stamp(SystemTime::now()).starts_with(day));
    let day = day.map(|day| format!("{day}, ")).unwrap_or_default();
    let soon = instant(at).duration_since(SystemTime::now()).is_ok_and(|left| left < SOON);
    context! { stamp, ago, clock, day, soon }
}

/// Returns a length of time; under a second in milliseconds, under ten seconds with tenths.
pub(super) fn length(length: Duration) -> String {
    match length.as_millis() {
        millis @ 0..1_000 => format!("{millis} ms"),
        millis @ 1_000..10_000 => format!("{}.{} s", millis / 1000, millis / 100 % 10),
        _ => timefmt::span(length),
    }
}

/// Returns the time until an instant in its largest unit; `None` once it has passed.
pub(super) fn left(until: i64) -> Option<String> {
    let left = instant(until).duration_since(SystemTime::now()).ok()?;
    Some(timefmt::span(left))
}
