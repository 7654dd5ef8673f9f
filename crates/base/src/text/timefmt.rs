//! Instants as text: RFC 3339 in UTC, in whole seconds.

use std::time::{Duration, SystemTime};

const DAY: u64 = 86_400;

/// Returns the instant that many milliseconds after 1970; one before it counts as 1970.
pub fn instant(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// Returns the milliseconds from 1970 to an instant; one before it counts as 1970.
pub fn millis(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns an instant in RFC 3339. The date is counted in eras of 400 years that begin in March, so that the
/// leap day is a year's last and needs no case of its own.
pub fn stamp(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / DAY + 719_468, seconds % DAY);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Returns a length of time in its largest unit.
pub fn span(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..DAY => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / DAY, seconds / 3600 % 24),
    }
}

/// Reads whole seconds, or a number with `s`, `m`, `min` or `h`; `None` for anything else.
pub fn read_span(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].trim() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
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
    fn spans_keep_their_largest_unit() {
        let of = |seconds| span(Duration::from_secs(seconds));
        assert_eq!(of(59), "59 s");
        assert_eq!(of(3599), "59 min");
        assert_eq!(of(90_000), "1 d 1 h");
    }

    #[test]
    fn spans_are_read_with_their_unit() {
        let read = |text| read_span(text).map(|length| length.as_secs());
        assert_eq!(
            (read("90"), read("90s"), read("10 min"), read("2h")),
            (Some(90), Some(90), Some(600), Some(7200))
        );
        for wrong in ["", "m", "1d", "-1", "1.5h", "99999999999999999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
