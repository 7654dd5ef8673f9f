//! Tests of the time zones that a calendar file defines or names in its own way.

use super::{CalendarDocument, Entry, calendar, horizon, own, printed, read, starts, to_ics, year};

/// A calendar with zones and lines of its own before its events.
fn with(head: &str, events: &[&str]) -> String {
    let head = head.replace('\n', "\r\n");
    calendar(events).replacen("BEGIN:VEVENT", &format!("{head}\r\nBEGIN:VEVENT"), 1)
}

/// The rules of New York since 2007, under another name.
fn eastern(id: &str) -> String {
    format!(
        "BEGIN:VTIMEZONE\nTZID:{id}\nBEGIN:DAYLIGHT\nTZOFFSETFROM:-0500\nTZOFFSETTO:-0400\nTZNAME:EDT\n\
         DTSTART:20070311T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\nEND:DAYLIGHT\nBEGIN:STANDARD\n\
         TZOFFSETFROM:-0400\nTZOFFSETTO:-0500\nTZNAME:EST\nDTSTART:20071104T020000\n\
         RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\nEND:STANDARD\nEND:VTIMEZONE"
    )
}

fn fixed(id: &str, offset: &str) -> String {
    format!(
        "BEGIN:VTIMEZONE\nTZID:{id}\nBEGIN:STANDARD\nTZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\n\
         DTSTART:19700101T000000\nEND:STANDARD\nEND:VTIMEZONE"
    )
}

#[test]
fn a_definition_is_followed_where_its_name_is_unknown() {
    for id in ["US-Eastern", "Customized Time Zone", "/example.org/2026/Here", "Here, there; anywhere"] {
        let event =
            format!("UID:a\nDTSTART;TZID=\"{id}\":20261030T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=4");
        let escaped = id.replace(',', "\\,").replace(';', "\\;");
        let text = with(&eastern(&escaped), &[&event]);
        let found = starts(&text, horizon("2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z"));
        assert_eq!(
            found,
            [
                "2026-10-30T09:00-04:00",
                "2026-10-31T09:00-04:00",
                "2026-11-01T09:00-05:00",
                "2026-11-02T09:00-05:00"
            ]
        );
        let draft = super::read(&text).unwrap().drafts.remove(0);
        // The stored text is read again, and printed so that others read it.
        let stored = serde_json::to_string(&draft.details.when).unwrap();
        assert_eq!(serde_json::from_str::<crate::event::When>(&stored).unwrap(), draft.details.when);
        let again = printed(&draft, Vec::new());
        assert!(again.contains(&format!("TZID:{escaped}\r\nBEGIN:")), "{again}");
        assert_eq!(starts(&again, horizon("2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z")), found);
    }
}

#[test]
fn a_definition_counts_more_than_the_known_name_that_it_contradicts() {
    let event = "UID:a\nDTSTART;TZID=Europe/Berlin:20260701T090000\nRRULE:FREQ=DAILY;COUNT=1";
    let july = horizon("2026-06-01T00:00:00Z", "2026-08-01T00:00:00Z");
    assert_eq!(starts(&with(&fixed("Europe/Berlin", "+0300"), &[event]), july), ["2026-07-01T09:00+03:00"]);
    // A definition that holds when the events are is the place's, which knows the changes of later years.
    let winter = event.replace("20260701", "20260115").replace("COUNT=1", "COUNT=200");
    let found = starts(&with(&fixed("Europe/Berlin", "+0100"), &[&winter]), july);
    assert_eq!(found[0], "2026-06-01T09:00+02:00");
    // One that has nothing but the winter of the place is cut off.
    let standard = fixed("Europe/Berlin", "+0100").replace("19700101", "18930401");
    assert_eq!(starts(&with(&standard, &[event]), july), ["2026-07-01T09:00+02:00"]);
    // After the last of the changes that it lists it says nothing.
    let old = "BEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:DAYLIGHT\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n\
               DTSTART:20070325T020000\nEND:DAYLIGHT\nBEGIN:STANDARD\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n\
               DTSTART:20071028T030000\nEND:STANDARD\nEND:VTIMEZONE";
    assert_eq!(starts(&with(old, &[event]), july), ["2026-07-01T09:00+02:00"]);
    // Before its first change it says nothing.
    let later = fixed("Europe/Berlin", "+0300").replace("19700101", "20270101");
    assert_eq!(starts(&with(&later, &[event]), july), ["2026-07-01T09:00+02:00"]);
}

#[test]
fn offsets_and_cases_are_names_too() {
    let july = horizon("2026-06-01T00:00:00Z", "2026-08-01T00:00:00Z");
    for (id, start) in [
        ("UTC+01", "2026-07-01T09:00+01:00"),
        ("UTC+11", "2026-07-01T09:00+11:00"),
        ("europe/berlin", "2026-07-01T09:00+02:00"),
        ("/freeassociation.sourceforge.net/Europe/Berlin", "2026-07-01T09:00+02:00"),
    ] {
        let event = format!("UID:a\nDTSTART;TZID={id}:20260701T090000");
        assert_eq!(starts(&calendar(&[&event]), july), [start], "{id}");
    }
}

#[test]
fn the_zone_of_the_calendar_is_that_of_times_without_one() {
    let in_berlin = |event: &str| {
        let text = with("X-WR-TIMEZONE:Europe/Berlin", &[event]);
        starts(&text, horizon("2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z"))
    };
    let event = "UID:a\nDTSTART:20261019T080000Z\nDTEND:20261019T090000Z\nRRULE:FREQ=WEEKLY;COUNT=3\nEXDATE:20261026T09\n 0000Z";
    assert_eq!(in_berlin(event), ["2026-10-19T10:00+02:00", "2026-11-02T10:00+01:00"]);
    assert_eq!(in_berlin("UID:a\nDTSTART:20261019T080000"), ["2026-10-19T08:00+02:00"]);
    // An instant that the clocks show twice stays itself; a day and a named zone stay what they are.
    assert_eq!(in_berlin("UID:a\nDTSTART:20261025T010000Z"), ["2026-10-25T01:00+00:00"]);
    assert_eq!(in_berlin("UID:a\nDTSTART;VALUE=DATE:20261019"), ["2026-10-19T00:00+05:45"]);
    assert_eq!(in_berlin("UID:a\nDTSTART;TZID=Asia/Tokyo:20261019T080000"), ["2026-10-19T08:00+09:00"]);
    // The line of a broken event is the one in the file.
    let broken = with("X-WR-TIMEZONE:Europe/Berlin", &[event, "UID:b\nDTSTART:tomorrow"]);
    let line = 1 + broken.lines().position(|line| line == "UID:b").unwrap() - 2;
    assert_eq!(super::super::parse(&broken, &own(), super::year()).unwrap().issues[0].line, line);
}

#[test]
fn zones_of_several_files_with_one_name_are_printed_apart() {
    let at = "20261224T090000";
    let text = |id: &str, offset: &str, uid: &str| {
        with(&fixed(id, offset), &[&format!("UID:{uid}\nDTSTART;TZID={id}:{at}")])
    };
    let texts = [
        text("Customized Time Zone", "+0300", "a"),
        text("Customized Time Zone", "-0500", "b"),
        text("Europe/Berlin", "+0900", "c"),
        calendar(&[&format!("UID:d\nDTSTART;TZID=Europe/Berlin:{at}")]),
    ];
    let drafts: Vec<_> = texts.iter().map(|text| read(text).unwrap().drafts.remove(0)).collect();
    let entries = drafts.iter().map(|draft| Entry {
        raw: &draft.source,
        zone: draft.details.when.zone.as_ref(),
        starts_at: draft.starts_at,
        reminders: Vec::new(),
    });
    let printed = to_ics(&CalendarDocument { name: "x", entries: entries.collect(), now: year().from });
    let again = read(&printed).unwrap();
    let starts: Vec<_> = again.drafts.iter().map(|draft| draft.starts_at.to_string()).collect();
    let expected =
        ["2026-12-24T06:00:00Z", "2026-12-24T14:00:00Z", "2026-12-24T00:00:00Z", "2026-12-24T08:00:00Z"];
    assert_eq!(starts, expected, "{printed}");
    assert!(printed.contains("TZID=Europe/Berlin:"), "{printed}");
}
