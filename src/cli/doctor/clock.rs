//! Check of the system clock, because plans depend on it.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::DoctorContext;
use super::check_result::CheckResult;

/// Tolerance for a file from the future, because file systems round, and other machines write too.
const TOLERANCE: Duration = Duration::from_mins(2);
/// 2025-01-01 in seconds since 1970, before the first version of this program.
const EARLIEST: i64 = 1_735_689_600;
/// Files that the hub writes often.
const RECENT_FILES: [&str; 4] = ["adjutant.db", "adjutant.db-wal", "config.toml", "hub.lock"];

/// Checks that the clock is not behind, and that the time zone is known.
pub(super) fn check(context: &DoctorContext) -> CheckResult {
    let remedy = "set the clock: `timedatectl set-ntp true`, or the settings of the system";
    let now = SystemTime::now();
    if Timestamp::now().as_second() < EARLIEST {
        return CheckResult::fail(format!("it says {}", Timestamp::now()), remedy);
    }
    for name in RECENT_FILES {
        let written = std::fs::metadata(context.config.home.join(name)).and_then(|found| found.modified());
        let ahead = written.ok().and_then(|written| written.duration_since(now).ok());
        if let Some(ahead) = ahead.filter(|ahead| *ahead > TOLERANCE) {
            let ahead = adjutant_base::text::timefmt::span(ahead);
            return CheckResult::fail(format!("it is behind: {name} was written {ahead} from now"), remedy);
        }
    }
    let zone = TimeZone::system();
    match zone.iana_name() {
        Some(name) => {
            CheckResult::ok(format!("{}, {name}", Timestamp::now().to_zoned(zone.clone()).strftime("%F %R")))
        }
        None => CheckResult::ok("UTC, because the system has no time zone"),
    }
}
