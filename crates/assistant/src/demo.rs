//! A user with a week of events, for a first look at the console.

use std::fmt::Write as _;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::event::CalendarSource;
use super::events::NO_PROGRESS;
use super::import::Origin;
use super::planner::is_quiet;
use super::user::ChannelPreference;
use super::{Assistant, Error, Preferences, User, UserId, Zone};

/// Day from today, start, minutes, title, place, rule.
type Entry = (i64, Time, i64, &'static str, &'static str, &'static str);

const WEEK: [Entry; 7] = [
    (0, Time::constant(18, 30, 0, 0), 90, "Dinner with Kim", "Trattoria Roma", ""),
    (1, Time::constant(9, 30, 0, 0), 15, "Stand-up", "", "FREQ=DAILY;COUNT=10"),
    (1, Time::constant(14, 0, 0, 0), 60, "Design review", "Room 4", ""),
    (2, Time::constant(8, 15, 0, 0), 45, "Dentist", "Harbour Street 12", ""),
    (3, Time::constant(16, 0, 0, 0), 30, "One-on-one with Alex", "", "FREQ=WEEKLY;COUNT=6"),
    (4, Time::constant(6, 40, 0, 0), 130, "Flight to Zurich", "Terminal 2", ""),
    (6, Time::constant(11, 0, 0, 0), 180, "Brunch with the neighbours", "", ""),
];

impl Assistant {
    /// Adds a user with a week of events and plans them, if there is no user yet.
    pub async fn fill_demo(&self, now: Timestamp) -> Result<(), Error> {
        if !self.users(None, 1).await?.is_empty() {
            return Ok(());
        }
        let local = TimeZone::system();
        let zone = local.iana_name().and_then(|name| Zone::named(name).ok()).unwrap_or(Zone::utc());
        let Some(id) = UserId::parse("demo") else { return Ok(()) };
        let default = Preferences::default();
        let user = User {
            id: id.clone(),
            name: "Robin Example".to_owned(),
            email: Some("robin@example.org".to_owned()),
            phone: Some("+15550100200".to_owned()),
            preferences: Preferences {
                zone: zone.clone(),
                channels: ChannelPreference::Both,
                // A message is to be sent at night too, so no hour is quiet then.
                quiet: default.quiet.filter(|quiet| {
                    let soon = now.saturating_add(SignedDuration::from_mins(20)).unwrap_or(now);
                    !is_quiet(*quiet, now, &zone) && !is_quiet(*quiet, soon, &zone)
                }),
                ..default
            },
            revision: 1,
            created_at: now,
            updated_at: now,
        };
        self.put_user(&user, "demo", now).await?;
        let origin = Origin {
            user: id,
            source: CalendarSource::Local,
            place: "demo".to_owned(),
            name: "Example week".to_owned(),
        };
        self.import(&origin, week(now, &zone), "demo", now, NO_PROGRESS).await.map(drop)
    }
}

/// Returns the week as a calendar's text. Two events begin so soon that something is due in a minute: a mail an hour
/// before the one, and an urgent message a quarter of an hour before the other.
fn week(now: Timestamp, zone: &Zone) -> String {
    let today = zone.civil(now).date();
    let mut text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Adjutant//Demo//EN\r\n".to_owned();
    let minutes_from_now =
        |minutes: i64| zone.civil(now.saturating_add(SignedDuration::from_mins(minutes)).unwrap_or(now));
    let mut entry = |number: usize,
                     start: jiff::civil::DateTime,
                     minutes: i64,
                     title: &str,
                     place: &str,
                     rule: &str| {
        let end = start.saturating_add(minutes.minutes());
        let rule = if rule.is_empty() { String::new() } else { format!("RRULE:{rule}\r\n") };
        let tz = if zone.name() == "UTC" { String::new() } else { format!(";TZID={zone}") };
        let z = if tz.is_empty() { "Z" } else { "" };
        // Writing into a String cannot fail.
        let _ = write!(
            text,
            "BEGIN:VEVENT\r\nUID:demo-{number}@adjutant\r\nDTSTART{tz}:{}{z}\r\nDTEND{tz}:{}{z}\r\n{rule}SUMMARY:{title}\r\n\
             LOCATION:{place}\r\nEND:VEVENT\r\n",
            start.strftime("%Y%m%dT%H%M%S"),
            end.strftime("%Y%m%dT%H%M%S"),
        );
    };
    entry(0, minutes_from_now(16), 30, "Coffee with Sam", "Corner café", "");
    entry(8, minutes_from_now(61), 20, "Call the landlord", "", "");
    for (number, (day, time, minutes, title, place, rule)) in WEEK.into_iter().enumerate() {
        let date = today.saturating_add(day.days());
        entry(number + 1, date.to_datetime(time), minutes, title, place, rule);
    }
    text.push_str("END:VCALENDAR\r\n");
    text
}
