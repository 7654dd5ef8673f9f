//! Instants as text: RFC 3339 in UTC, in whole seconds.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

const DAY: u64 = 86_400;

/// Returns the instant this many milliseconds after 1970; an instant before 1970 counts as 1970.
pub fn instant(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// Returns the milliseconds from 1970 to an instant; an instant before 1970 counts as 1970.
pub fn millis(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the seconds from `now` to an instant, both in milliseconds since 1970; a part of a second counts as one.
pub fn seconds_left(until: i64, now: i64) -> u64 {
    u64::try_from(until - now).unwrap_or_default().div_ceil(1000)
}

/// Returns an instant in RFC 3339; an instant before 1970 counts as 1970.
pub fn stamp(at: SystemTime) -> String {
    Timestamp::from_second(millis(at) / 1000).unwrap_or(Timestamp::MAX).to_string()
}

/// Returns a duration in its largest units, to the nearest of the smaller one.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_millis().saturating_add(500) / 1000;
    let (minutes, hours) = ((seconds + 30) / 60, (seconds + 1800) / 3600);
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds} s"),
        (_, 0..60) => format!("{minutes} min"),
        (_, 60..1440) => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// Returns a number of milliseconds as [`span`] does; a negative one counts as 0.
pub fn span_millis(millis: i64) -> String {
    span(Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

/// Parses whole seconds, or a number with `s`, `m`, `min`, `h` or `d`; `None` for other text.
pub fn read_span(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].trim() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => DAY,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{instant, read_span, span, stamp};

    #[test]
    fn instants_are_civil_dates() {
        let at = |seconds: i64| stamp(instant(seconds * 1000));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(at(-5), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn spans_are_rounded_in_their_largest_units() {
        let of = |seconds| span(Duration::from_secs_f64(seconds));
        for (seconds, text) in [
            (0.4, "0 s"),
            (59.4, "59 s"),
            (59.5, "1 min"),
            (89.0, "1 min"),
            (90.0, "2 min"),
            (3569.0, "59 min"),
            (3599.9, "1 h 0 min"),
            (86_369.0, "23 h 59 min"),
            (86_399.0, "1 d 0 h"),
            (90_000.0, "1 d 1 h"),
        ] {
            assert_eq!(of(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn spans_are_parsed_with_their_unit() {
        let read = |text| read_span(text).map(|length| length.as_secs());
        assert_eq!(
            (read("90"), read("90s"), read("10 min"), read("2h"), read("1d")),
            (Some(90), Some(90), Some(600), Some(7200), Some(86_400))
        );
        for wrong in ["", "m", "1w", "-1", "1.5h", "99999999999999999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
