//! Tests of calendars: text in, instants out.

mod broken_events;
mod changes;
mod fuzz;
mod rules;
mod zones;

use jiff::civil::{DateTime, date};
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::{Just, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};

use super::super::time_zone::Zone;
use super::{CalendarDocument, Effect, Entry, Error, Horizon, ParsedCalendar, Reminder, to_ics};
use crate::Draft;
use crate::notification::Offset;

fn calendar(events: &[&str]) -> String {
    let events = events
        .iter()
        .map(|lines| {
            format!(
                "BEGIN:VEVENT\r\nDTSTAMP:20260101T000000Z\r\n{}\r\nEND:VEVENT\r\n",
                lines.replace('\n', "\r\n")
            )
        })
        .collect::<Vec<_>>()
        .concat();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\n{events}END:VCALENDAR\r\n")
}

fn horizon(from: &str, to: &str) -> Horizon {
    Horizon { from: from.parse().unwrap(), to: to.parse().unwrap() }
}

/// The year of the changes of the clocks in the tests.
fn year() -> Horizon {
    horizon("2026-10-01T00:00:00Z", "2027-10-01T00:00:00Z")
}

fn read(text: &str) -> Result<ParsedCalendar, Error> {
    super::parse(text, &own(), year())
}

/// A zone with an odd offset.
fn own() -> Zone {
    Zone::named("Asia/Kathmandu").unwrap()
}

/// The starts in a whole calendar, on the clock of the event, with how the clocks changed them.
fn starts(text: &str, horizon: Horizon) -> Vec<String> {
    let read = super::parse(text, &own(), horizon).unwrap();
    assert_eq!(read.issues, [], "the calendar is whole");
    let mut found = Vec::new();
    for draft in &read.drafts {
        let zone = draft.details.when.zone.clone().unwrap_or_else(own);
        for at in &draft.occurrences {
            let start = at.starts_at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M%:z");
            found.push((at.starts_at, format!("{start}{}", if at.adjusted { " adjusted" } else { "" })));
        }
    }
    found.sort();
    found.into_iter().map(|(_, words)| words).collect()
}

fn of(event: &str, from: &str, to: &str) -> Vec<String> {
    starts(&calendar(&[event]), horizon(from, to))
}

#[test]
fn a_weekly_series_keeps_its_time_of_day_over_the_change() {
    let found = of(
        "UID:a\nDTSTART;TZID=America/New_York:20261023T090000\nDTEND;TZID=America/New_York:20261023T100000\n\
         RRULE:FREQ=WEEKLY\nEXDATE;TZID=America/New_York:20261106T090000",
        "2026-10-20T00:00:00Z",
        "2026-11-20T00:00:00Z",
    );
    assert_eq!(found, ["2026-10-23T09:00-04:00", "2026-10-30T09:00-04:00", "2026-11-13T09:00-05:00"]);
}

#[test]
fn times_that_clocks_skip_or_show_twice_are_marked() {
    let twice = of(
        "UID:a\nDTSTART;TZID=America/New_York:20261031T013000\nRRULE:FREQ=DAILY;COUNT=3",
        "2026-10-30T00:00:00Z",
        "2026-11-05T00:00:00Z",
    );
    assert_eq!(
        twice,
        ["2026-10-31T01:30-04:00", "2026-11-01T01:30-04:00 adjusted", "2026-11-02T01:30-05:00"]
    );
    let skipped = of(
        "UID:a\nDTSTART;TZID=America/New_York:20270313T023000\nRRULE:FREQ=DAILY;COUNT=3",
        "2027-03-12T00:00:00Z",
        "2027-03-20T00:00:00Z",
    );
    assert_eq!(
        skipped,
        ["2027-03-13T02:30-05:00", "2027-03-14T03:30-04:00 adjusted", "2027-03-15T02:30-04:00"]
    );
    let alone = of(
        "UID:a\nDTSTART;TZID=America/New_York:20270314T023000",
        "2027-03-01T00:00:00Z",
        "2027-04-01T00:00:00Z",
    );
    assert_eq!(alone, ["2027-03-14T03:30-04:00 adjusted"]);
    // Lord Howe's clocks change by half an hour.
    let half = of(
        "UID:a\nDTSTART;TZID=Australia/Lord_Howe:20261004T021500",
        "2026-10-01T00:00:00Z",
        "2026-10-09T00:00:00Z",
    );
    assert_eq!(half, ["2026-10-04T02:45+11:00 adjusted"]);
}

/// Starts and ends of a calendar's occurrences, and the keys that they are known by.
fn spans(event: &str, from: &str, to: &str) -> Vec<String> {
    let parsed = super::parse(&calendar(&[event]), &own(), horizon(from, to)).unwrap();
    assert_eq!(parsed.issues, [], "the calendar is whole");
    let occurrences = parsed.drafts.iter().flat_map(|draft| &draft.occurrences);
    occurrences.map(|at| format!("{} {} {}", at.key, at.starts_at, at.ends_at)).collect()
}

#[test]
fn an_event_keeps_its_length_where_the_clocks_change() {
    let new_york =
        |event: &str| spans(&format!("UID:a\n{event}"), "2026-10-25T00:00:00Z", "2026-11-03T00:00:00Z");
    let zone = "TZID=America/New_York";
    // The end lies in the hour that comes twice, and by the clock before the start.
    for end in ["DURATION:PT45M", "DTEND:20261101T061500Z"] {
        let event = format!("DTSTART;{zone}:20261101T013000\n{end}");
        assert_eq!(
            new_york(&event),
            ["2026-11-01T01:30:00 2026-11-01T05:30:00Z 2026-11-01T06:15:00Z"],
            "{end}"
        );
    }
    // A shift of five hours until the second one o'clock.
    let shift = format!("DTSTART;{zone}:20261031T210000\nDURATION:PT5H");
    assert_eq!(new_york(&shift), ["2026-10-31T21:00:00 2026-11-01T01:00:00Z 2026-11-01T06:00:00Z"]);
    // RFC 5545 3.8.5.3: an end is as exact a length for all, a duration of days is civil.
    let nightly = |end: &str| {
        let found = new_york(&format!("DTSTART;{zone}:20261030T220000\n{end}\nRRULE:FREQ=DAILY;COUNT=2"));
        found.into_iter().map(|span| span.rsplit_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let exact = ["2026-10-31T07:00:00Z", "2026-11-01T07:00:00Z"];
    assert_eq!(nightly(&format!("DTEND;{zone}:20261031T030000")), exact);
    assert_eq!(nightly("DURATION:PT5H"), exact);
    assert_eq!(nightly("DURATION:P1D"), ["2026-11-01T02:00:00Z", "2026-11-02T03:00:00Z"]);
    assert_eq!(nightly("DURATION:PT24H"), ["2026-11-01T02:00:00Z", "2026-11-02T02:00:00Z"]);
}

#[test]
fn an_added_start_in_utc_is_that_instant() {
    let found = spans(
        "UID:a\nDTSTART;TZID=America/New_York:20261031T013000\nDURATION:PT30M\nRRULE:FREQ=DAILY;COUNT=2\n\
         RDATE:20261101T063000Z,20261102T150000Z\nRDATE;VALUE=PERIOD:20261103T063000Z/PT2H",
        "2026-10-25T00:00:00Z",
        "2026-11-10T00:00:00Z",
    );
    assert_eq!(
        found,
        [
            "2026-10-31T01:30:00 2026-10-31T05:30:00Z 2026-10-31T06:00:00Z",
            "2026-11-01T01:30:00 2026-11-01T05:30:00Z 2026-11-01T06:00:00Z",
            "2026-11-01T06:30:00Z 2026-11-01T06:30:00Z 2026-11-01T07:00:00Z",
            "2026-11-02T10:00:00 2026-11-02T15:00:00Z 2026-11-02T15:30:00Z",
            "2026-11-03T01:30:00 2026-11-03T06:30:00Z 2026-11-03T08:30:00Z",
        ]
    );
}

#[test]
fn an_end_in_utc_is_compared_on_the_series_own_clock() {
    // 2026-11-02T03:00Z is 22:00 the evening before in New York, so the first of November is the last.
    let found = of(
        "UID:a\nDTSTART;TZID=America/New_York:20261030T210000\nRRULE:FREQ=DAILY;UNTIL=20261102T030000Z",
        "2026-10-01T00:00:00Z",
        "2026-12-01T00:00:00Z",
    );
    assert_eq!(found, ["2026-10-30T21:00-04:00", "2026-10-31T21:00-04:00", "2026-11-01T21:00-05:00"]);
    for end in ["99991231T235959Z", "99991231", "99991231T235959"] {
        let endless =
            format!("UID:a\nDTSTART;TZID=America/New_York:20261030T210000\nRRULE:FREQ=WEEKLY;UNTIL={end}");
        assert_eq!(of(&endless, "2026-11-01T00:00:00Z", "2026-11-16T00:00:00Z").len(), 2, "{end}");
    }
}

#[test]
fn single_occurrences_are_moved_called_off_and_added() {
    let zone = "TZID=Europe/Berlin";
    let text = calendar(&[
        &format!(
            "UID:a\nDTSTART;{zone}:20261102T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\nRDATE;{zone}:20261105T080000"
        ),
        &format!(
            "UID:a\nRECURRENCE-ID;{zone}:20261109T100000\nDTSTART;{zone}:20261110T150000\nSUMMARY:Moved"
        ),
        "UID:a\nRECURRENCE-ID:20261116T090000Z\nDTSTART:20261116T090000Z\nSTATUS:CANCELLED",
    ]);
    let november = horizon("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
    // A cancelled occurrence is a separate event without an occurrence.
    assert_eq!(
        starts(&text, november),
        [
            "2026-11-02T10:00+01:00",
            "2026-11-05T08:00+01:00",
            "2026-11-10T15:00+01:00",
            "2026-11-23T10:00+01:00"
        ]
    );
    let found = read(&text).unwrap();
    assert_eq!(found.drafts.len(), 3);
    let moved = &found.drafts[1];
    assert_eq!((moved.occurrences[0].key.as_str(), moved.title.as_str()), ("2026-11-09T10:00:00", "Moved"));
    assert_eq!(moved.replaces.unwrap().to_string(), moved.occurrences[0].key);
    // Their series is read on another clock than they are named on.
    assert_eq!(found.drafts[2].replaces.unwrap().to_string(), "2026-11-16T10:00:00");
}

#[test]
fn whole_days_and_times_without_a_zone_are_their_readers() {
    let day = of(
        "UID:a\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227",
        "2026-12-01T00:00:00Z",
        "2027-01-01T00:00:00Z",
    );
    assert_eq!(day, ["2026-12-24T00:00+05:45"]);
    let floating = of("UID:a\nDTSTART:20261224T180000", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z");
    assert_eq!(floating, ["2026-12-24T18:00+05:45"]);
    // What began before the window and is not over is in it.
    let running = of(
        "UID:a\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227",
        "2026-12-26T00:00:00Z",
        "2026-12-27T00:00:00Z",
    );
    assert_eq!(running, day);
}

#[test]
fn an_old_series_costs_what_a_new_one_does() {
    let found = of(
        "UID:a\nDTSTART;TZID=Europe/Berlin:19700102T070000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR,MO",
        "2026-11-01T00:00:00Z",
        "2026-11-30T00:00:00Z",
    );
    // 2026-11-20 is 2,968 weeks after 1970-01-02, an even number.
    assert_eq!(
        found,
        [
            "2026-11-02T07:00+01:00",
            "2026-11-06T07:00+01:00",
            "2026-11-16T07:00+01:00",
            "2026-11-20T07:00+01:00"
        ]
    );
}

#[test]
fn what_is_printed_is_read_again_with_its_reminders() {
    let event = "UID:a\nDTSTART;TZID=Europe/Berlin:20261102T100000\nSUMMARY:Zoë; \\, and a very long title that goes on and on \
                 until the line has to be folded 🎉🎉🎉\nX-SECRET;X-P=\"a:b\":kept";
    let found = read(&calendar(&[event])).unwrap();
    let draft = &found.drafts[0];
    let text = printed(draft, vec![Reminder { before: Offset::Minutes(90), ..LEAVE }]);
    assert!(text.lines().all(|line| line.len() <= 75 || draft.source.contains(line)), "{text}");
    assert!(text.contains("X-SECRET;X-P=\"a:b\":kept"));
    assert!(
        text.contains("TRIGGER:-PT90M\r\n")
            && text.contains("DESCRIPTION:Leave now\\; or\\, else\\nlate\r\n")
    );
    assert_eq!(text.matches("BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n").count(), 1, "{text}");
    let again = read(&text).unwrap().drafts.remove(0);
    assert_eq!(Draft { line: draft.line, source: draft.source.clone(), ..again.clone() }, *draft);
    // Printed once more, the reminder of the first time is not there twice; somebody else's stays.
    let alarm =
        "BEGIN:VALARM\r\nUID:theirs\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nDESCRIPTION:x\r\nEND:VALARM\r\n";
    let source = again.source.replace("BEGIN:VALARM", &format!("{alarm}BEGIN:VALARM"));
    let text = printed(&Draft { source, ..again }, vec![Reminder { before: Offset::Days(1), ..LEAVE }]);
    assert_eq!(text.matches("BEGIN:VALARM").count(), 2, "{text}");
    assert!(text.contains("UID:theirs\r\n") && text.contains("TRIGGER:-P1D\r\n"), "{text}");
}

const LEAVE: Reminder<'_> =
    Reminder { id: "notification-1", before: Offset::Minutes(0), text: "Leave now; or, else\nlate" };

fn printed(draft: &Draft, reminders: Vec<Reminder<'_>>) -> String {
    let entry = Entry {
        raw: &draft.source,
        zone: draft.details.when.zone.as_ref(),
        starts_at: draft.starts_at,
        reminders,
    };
    to_ics(&CalendarDocument { name: "Ann, at work", entries: vec![entry], now: year().from })
}

#[test]
fn a_zone_of_the_file_alone_is_printed_as_the_worlds() {
    let text = calendar(&["UID:a\nDTSTART;TZID=\"Office; west\":20261102T100000"]).replace(
        "BEGIN:VEVENT",
        "BEGIN:VTIMEZONE\r\nTZID:Office; west\r\nX-LIC-LOCATION:America/New_York\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT",
    );
    let draft = read(&text).unwrap().drafts.remove(0);
    let text = printed(&draft, Vec::new());
    assert!(text.contains("DTSTART;TZID=America/New_York:20261102T100000\r\n"), "{text}");
    insta::assert_snapshot!(text);
    let again = read(&text).unwrap().drafts.remove(0);
    assert_eq!(Draft { line: draft.line, ..again }, draft);
}

#[test]
fn a_series_is_another_one_when_a_start_is_taken_from_it() {
    let series = "UID:a\nDTSTART:20261102T100000Z\nRRULE:FREQ=WEEKLY;COUNT=4";
    let moved = "UID:a\nRECURRENCE-ID:20261109T100000Z\nDTSTART:20261110T150000Z";
    let alone = read(&calendar(&[series])).unwrap().drafts.remove(0);
    let both = read(&calendar(&[moved, series])).unwrap().drafts.remove(1);
    assert_ne!(alone.details, both.details, "or the store would see no change");
    assert_eq!((alone.occurrences.len(), both.occurrences.len()), (4, 3));
}

proptest! {
    /// A daily event is once a day at its own time of day, or marked, wherever it is.
    #[test]
    fn civil_time_is_kept_in_every_zone(
        zone in prop_oneof![
            Just("Asia/Kathmandu"), Just("Australia/Lord_Howe"), Just("America/St_Johns"), Just("Pacific/Chatham"),
            Just("Africa/Casablanca"), Just("America/Sao_Paulo"), Just("Europe/Dublin"), Just("Pacific/Apia"),
            Just("Asia/Beirut"), Just("UTC"),
        ],
        day in 0_i64..3650, minute in 0_i64..1440,
    ) {
        let place = Zone::named(zone).unwrap();
        let start = date(2009, 1, 1).at(0, 0, 0, 0) + day.days() + minute.minutes();
        let text = calendar(&[&format!("UID:a\nDTSTART;TZID={zone}:{}\nRRULE:FREQ=DAILY", start.strftime("%Y%m%dT%H%M%S"))]);
        let from = place.rules().to_timestamp(start).unwrap();
        let read = super::parse(&text, &own(), Horizon { from, to: from + (400 * 24).hours() }).unwrap();
        let found = &read.drafts[0].occurrences;
        prop_assert!((399..=401).contains(&found.len()), "{} days", found.len());
        let mut last = Timestamp::MIN;
        for at in found {
            prop_assert!(at.starts_at > last);
            last = at.starts_at;
            let shown = place.civil(at.starts_at);
            let named: DateTime = at.key.parse().unwrap();
            prop_assert_eq!(named.time(), start.time());
            prop_assert!(at.adjusted || shown == named, "{} is shown as {}", named, shown);
            // A skipped time comes later, by at most the day that Apia skipped.
            prop_assert!(shown >= named && shown <= named + 1.day());
        }
    }

    /// Whatever is read, nothing panics, and the work is bounded.
    #[test]
    fn any_text_is_read_or_refused(lines in proptest::collection::vec(prop_oneof![
        Just("BEGIN:VEVENT".to_owned()), Just("END:VEVENT".to_owned()), Just("BEGIN:VCALENDAR".to_owned()),
        Just("UID:a".to_owned()), Just("DTSTART:20260101T000000Z".to_owned()), Just("BEGIN:VALARM".to_owned()),
        Just("DTEND;VALUE=DATE:20260101".to_owned()), Just("RRULE:FREQ=DAILY;COUNT=3".to_owned()), "[ -~]{0,40}",
        "RRULE:FREQ=(DAILY|YEARLY|HOURLY);(COUNT|BYDAY|UNTIL|BYSETPOS)=[0-9TZA-F,-]{1,9}",
        "(DTSTART|EXDATE|RDATE|RECURRENCE-ID)(;VALUE=DATE)?:[0-9TZ/P]{0,17}",
    ], 0..40)) {
        let text = format!("BEGIN:VCALENDAR\n{}\nEND:VCALENDAR\n", lines.join("\n"));
        read(&text).unwrap();
    }
}
