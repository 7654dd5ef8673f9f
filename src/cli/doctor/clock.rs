//! The clock: plans are made by it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::check::Found;
use super::{Patient, blocking};

/// A file may be so much younger than now, for file systems round and other machines write too.
const SLACK: Duration = Duration::from_mins(2);
/// Before this day no version of this program existed, in seconds since 1970: 2025-01-01.
const EARLIEST: i64 = 1_735_689_600;
/// Files that the hub writes often.
const WITNESSES: [&str; 4] = ["adjutant.db", "adjutant.db-wal", "config.toml", "hub.lock"];

/// Looks whether time goes forward, and whether the zone is known.
pub(super) async fn look(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let remedy = "set the clock: `timedatectl set-ntp true`, or the settings of the system";
        let now = SystemTime::now();
        if Timestamp::now().as_second() < EARLIEST {
            return Found::fail(format!("it says {}", Timestamp::now()), remedy);
        }
        for name in WITNESSES {
            let written =
                std::fs::metadata(patient.config.home.join(name)).and_then(|found| found.modified());
            let ahead = written.ok().and_then(|written| written.duration_since(now).ok());
            if let Some(ahead) = ahead.filter(|ahead| *ahead > SLACK) {
                let ahead = crate::clock::span(ahead);
                return Found::fail(format!("it is behind: {name} was written {ahead} from now"), remedy);
            }
        }
        let zone = TimeZone::system();
        match zone.iana_name() {
            Some(name) => {
                Found::ok(format!("{}, {name}", Timestamp::now().to_zoned(zone.clone()).strftime("%F %R")))
            }
            None => Found::ok("UTC, for the system names no time zone"),
        }
    })
    .await
}
