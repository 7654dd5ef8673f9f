//! Check of the system clock, because plans depend on it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::check::CheckResult;
use super::{DoctorContext, blocking};

/// A file may be so much younger than now, for file systems round and other machines write too.
const SLACK: Duration = Duration::from_mins(2);
/// Before this day no version of this program existed, in seconds since 1970: 2025-01-01.
const EARLIEST: i64 = 1_735_689_600;
/// Files that the hub writes often.
const WITNESSES: [&str; 4] = ["adjutant.db", "adjutant.db-wal", "config.toml", "hub.lock"];

/// Looks whether time goes forward, and whether the zone is known.
pub(super) async fn check(context: Arc<DoctorContext>) -> CheckResult {
    blocking(move || {
        let remedy = "set the clock: `timedatectl set-ntp true`, or the settings of the system";
        let now = SystemTime::now();
        if Timestamp::now().as_second() < EARLIEST {
            return CheckResult::fail(format!("it says {}", Timestamp::now()), remedy);
        }
        for name in WITNESSES {
            let written =
                std::fs::metadata(context.config.home.join(name)).and_then(|found| found.modified());
            let ahead = written.ok().and_then(|written| written.duration_since(now).ok());
            if let Some(ahead) = ahead.filter(|ahead| *ahead > SLACK) {
                let ahead = adjutant_base::text::timefmt::span(ahead);
                return CheckResult::fail(
                    format!("it is behind: {name} was written {ahead} from now"),
                    remedy,
                );
            }
        }
        let zone = TimeZone::system();
        match zone.iana_name() {
            Some(name) => CheckResult::ok(format!(
                "{}, {name}",
                Timestamp::now().to_zoned(zone.clone()).strftime("%F %R")
            )),
            None => CheckResult::ok("UTC, for the system names no time zone"),
        }
    })
    .await
}
