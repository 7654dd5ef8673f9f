//! Tests of recurrence rules, of events without a uid, and of cancellations.

use super::super::{Effect, Error};
use super::{calendar, of, read};

/// The starts of a rule, as `2026-10-06T10:00`, from the start until 2033.
fn starts(start: &str, rule: &str) -> Vec<String> {
    let day = if start.len() == 8 { ";VALUE=DATE" } else { "" };
    let event = format!("UID:a\nDTSTART{day}:{start}\nRRULE:{rule}");
    let found = of(&event, "2020-01-01T00:00:00Z", "2033-02-01T00:00:00Z");
    found.into_iter().map(|start| start[..16].to_owned()).collect()
}

#[test]
fn rules_name_the_dates_of_the_standard() {
    let day = |start: &str, rule: &str| {
        starts(start, rule).into_iter().map(|start| start[..10].to_owned()).collect::<Vec<_>>()
    };
    // RFC 5545 3.3.10: what a rule does not say is taken from the first start, so a week has one day.
    let weeks = day("20261005T100000", "FREQ=YEARLY;BYWEEKNO=41,-1;COUNT=4");
    assert_eq!(weeks, ["2026-10-05", "2026-12-28", "2027-10-11", "2027-12-27"]);
    // The year of a week is that of its middle.
    let first = day("20241231T100000", "FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO,TU;INTERVAL=3;UNTIL=20320101");
    assert_eq!(first, ["2024-12-31", "2028-01-03", "2028-01-04", "2030-12-30", "2030-12-31"]);
    assert_eq!(
        day("20270103T100000", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=TH;COUNT=1"),
        ["2027-01-03", "2032-12-30"]
    );
    let second = day("20261006T100000", "FREQ=WEEKLY;BYDAY=MO,TU,SU,SA,TH;BYSETPOS=3,2;COUNT=4");
    assert_eq!(second, ["2026-10-06", "2026-10-08", "2026-10-13", "2026-10-15"]);
    // Over the turn of the year the week is whole.
    let turn = day("20261231T100000", "FREQ=WEEKLY;WKST=SU;BYDAY=SU,TH,FR;BYSETPOS=-1;COUNT=2");
    assert_eq!(turn, ["2026-12-31", "2027-01-01", "2027-01-08"]);
    let mixed = day("20261005T100000", "FREQ=MONTHLY;BYDAY=-1TH,1MO;COUNT=4");
    assert_eq!(mixed, ["2026-10-05", "2026-10-29", "2026-11-02", "2026-11-26"]);
    let both =
        day("20261005T100000", "FREQ=MONTHLY;BYDAY=2TU,MO;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12,13;COUNT=4");
    assert_eq!(both, ["2026-10-05", "2026-10-12", "2026-10-13", "2026-11-02"]);
    assert_eq!(day("20240229", "FREQ=YEARLY;COUNT=3"), ["2024-02-29", "2028-02-29", "2032-02-29"]);
    assert_eq!(day("20121231", "FREQ=YEARLY;BYYEARDAY=-1;INTERVAL=10"), ["2022-12-31", "2032-12-31"]);
    // 3.3.10: times are ignored where the series is of days.
    assert_eq!(
        day("20261018", "FREQ=DAILY;BYMINUTE=1,2;INTERVAL=2;COUNT=3"),
        ["2026-10-18", "2026-10-20", "2026-10-22"]
    );
    assert_eq!(
        starts(
            "20261023T154000",
            "FREQ=HOURLY;BYHOUR=15,17,19;BYMINUTE=0,10,20,30,40,50;BYSETPOS=-2,3;INTERVAL=2;COUNT=3"
        ),
        ["2026-10-23T15:40", "2026-10-23T17:20", "2026-10-23T17:40"]
    );
    assert_eq!(
        starts("20260101T050500", "FREQ=MINUTELY;BYMINUTE=5,25;INTERVAL=61;COUNT=4"),
        ["2026-01-01T05:05", "2026-01-02T01:25", "2026-01-03T18:05", "2026-01-04T14:25"]
    );
    assert_eq!(
        starts("20260101T090000", "FREQ=MINUTELY;BYHOUR=9;BYMINUTE=0,20;BYDAY=TH;COUNT=4"),
        ["2026-01-01T09:00", "2026-01-01T09:20", "2026-01-08T09:00", "2026-01-08T09:20"]
    );
}

/// The rules of libical's table whose dates are other ones here. The table of RFC 5545 3.3.10 expands a day of the month
/// under `YEARLY`; a start that the rule does not name counts, and leaves the rest undefined (3.8.5.3).
#[test]
fn rules_that_libical_reads_otherwise_follow_the_standard() {
    let days = |start: &str, rule: &str| {
        starts(start, rule).into_iter().map(|start| start[..10].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        days("20240229", "FREQ=YEARLY;BYMONTHDAY=29;COUNT=3"),
        ["2024-02-29", "2024-03-29", "2024-04-29"]
    );
    assert_eq!(
        days("20240201", "FREQ=YEARLY;BYMONTHDAY=-29,-1;COUNT=4"),
        ["2024-02-01", "2024-02-29", "2024-03-03", "2024-03-31"]
    );
    assert_eq!(
        days("20241230", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=30;BYWEEKNO=1;UNTIL=20320101"),
        ["2024-12-30", "2025-12-30", "2030-12-30", "2031-12-30"]
    );
    for interval in [5, 6] {
        let rule = format!("FREQ=YEARLY;BYWEEKNO=53;INTERVAL={interval};BYDAY=TH;COUNT=1");
        assert_eq!(days("20270103T000000", &rule)[0], "2027-01-03");
    }
}

#[test]
fn a_rule_is_read_as_programs_write_it() {
    for rule in [
        "freq=daily;count=2",
        "FREQ=DAILY;COUNT=2;",
        "COUNT=2; FREQ=DAILY;X-SIZE=3",
        "FREQ=DAILY;COUNT=2;SKIP=OMIT;RSCALE=GREGORIAN",
        "FREQ=DAILY;COUNT=2;freq=daily",
        "FREQ=DAILY\\;COUNT=2",
    ] {
        assert_eq!(starts("20261005T100000", rule), ["2026-10-05T10:00", "2026-10-06T10:00"], "{rule}");
    }
}

#[test]
fn a_senseless_rule_is_named_with_the_part_that_is_wrong() {
    let why = |rule: &str| {
        let found = read(&calendar(&[&format!("UID:a\nDTSTART:20261005T100000Z\nRRULE:{rule}")])).unwrap();
        let [issue] = &found.issues[..] else { panic!("{rule}: {:?}", found.issues) };
        let Error::BadRule(named, why) = &issue.error else { panic!("{rule}: {:?}", issue.error) };
        assert_eq!(
            (named.as_str(), issue.line, issue.uid.as_deref(), issue.error.effect()),
            (rule, 4, Some("a"), Effect::LeftOut)
        );
        why.clone()
    };
    for (rule, reason) in [
        ("FREQ=DAILY;UNTL=20261231", "`UNTL=20261231` is not a part that is known"),
        ("FREQ=DAILY;COUNT=0", "`0` in `COUNT` is not a number that is at least 1"),
        ("FREQ=DAILY;INTERVAL=4294967296", "`4294967296` in `INTERVAL` is more than 2147483647"),
        ("FREQ=DAILY;INTERVAL=-1", "`-1` in `INTERVAL` is not a number that is at least 1"),
        ("FREQ=DAILY;UNTIL=soon", "`UNTIL=SOON` is not a date"),
        ("FREQ=DAILY;COUNT=2;COUNT=3", "`COUNT` comes twice"),
        ("FREQ=DAILY;BYHOUR=24", "`24` in `BYHOUR` is not a number from 0 to 23"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "`0` in `BYMONTHDAY` is not a number from 1 to 31 or from -31 to -1"),
        ("FREQ=WEEKLY;BYDAY=MO,XX", "`XX` is not a weekday"),
        ("FREQ=WEEKLY;BYDAY=+MO", "`+` in `BYDAY` is not a number from 1 to 53 or from -53 to -1"),
        (
            "FREQ=WEEKLY;BYDAY=2MO",
            "a number in `BYDAY` needs `FREQ=MONTHLY`, or `FREQ=YEARLY` without `BYWEEKNO`",
        ),
        ("FREQ=MONTHLY;BYWEEKNO=2", "`BYWEEKNO` needs `FREQ=YEARLY`"),
        ("FREQ=DAILY;BYSETPOS=1", "`BYSETPOS` needs another `BY` part"),
        ("FREQ=DAILY;BYDAY", "`BYDAY` has no value"),
        ("COUNT=2", "it has no `FREQ`"),
        ("FREQ=DAILY;RSCALE=HEBREW", "`RSCALE=HEBREW` is not a part that is known"),
    ] {
        assert_eq!(why(rule), reason);
    }
}

#[test]
fn an_empty_rule_and_an_empty_list_of_dates_say_nothing() {
    let found = of(
        "UID:a\nDTSTART:20261005T100000Z\nRRULE:\nRDATE:\nEXDATE:",
        "2026-10-01T00:00:00Z",
        "2026-11-01T00:00:00Z",
    );
    assert_eq!(found, ["2026-10-05T10:00+00:00"]);
}

#[test]
fn an_event_without_a_uid_has_the_same_one_again() {
    let uid = |event: &str| {
        let found = read(&calendar(&[event])).unwrap();
        assert_eq!(found.issues.iter().map(|issue| issue.error.clone()).collect::<Vec<_>>(), [Error::NoUid]);
        found.drafts[0].uid.clone()
    };
    let event = "DTSTART:20261224T180000Z\nSUMMARY:Dinner";
    assert_eq!(uid(event), uid(&format!("LAST-MODIFIED:20261001T000000Z\n{event}")));
    assert_ne!(uid(event), uid(&event.replace("Dinner", "Lunch")));
}

#[test]
fn a_cancellation_and_a_bare_event_are_read() {
    let event = "UID:a\nDTSTART:20261224T180000Z\nRRULE:FREQ=DAILY";
    let cancelled = calendar(&[event]).replace("VERSION:2.0", "method:Cancel");
    let found = read(&cancelled).unwrap();
    assert!(found.drafts.is_empty());
    let cancel = &found.cancels[0];
    assert_eq!((cancel.status, cancel.occurrences.len()), (crate::event::EventStatus::Cancelled, 0));
    // Each calendar of a file has its own method, and a later version counts.
    let others = calendar(&[&event.replace("UID:a", "UID:b")]);
    for (sequence, drafts, cancels) in [("1", &["a", "b"][..], &[][..]), ("0", &["b"], &["a"])] {
        let known = calendar(&[&format!("{event}\nSEQUENCE:{sequence}")]);
        let found = read(&format!("{known}{cancelled}{others}")).unwrap();
        let uids = |found: &[crate::Draft]| found.iter().map(|draft| draft.uid.clone()).collect::<Vec<_>>();
        assert_eq!(
            (uids(&found.drafts), uids(&found.cancels)),
            (
                drafts.iter().map(|one| (*one).to_owned()).collect(),
                cancels.iter().map(|one| (*one).to_owned()).collect()
            )
        );
    }
    for outer in ["", "BEGIN:X-OUTER\r\n"] {
        let bare = format!("\r\n{outer}BEGIN:VEVENT\r\n{}\r\nEND:VEVENT\r\n", event.replace('\n', "\r\n"));
        assert_eq!(read(&bare).unwrap().drafts[0].uid, "a");
    }
    assert!(matches!(read("BEGIN:VCARD\r\nFN:Ann\r\nEND:VCARD\r\n"), Err(Error::NotACalendar)));
}

#[test]
fn of_two_events_of_the_same_name_the_one_that_was_changed_last_counts() {
    let event = |title: &str, more: &str| format!("UID:a\nDTSTART:20261224T180000Z\nSUMMARY:{title}{more}");
    for (first, second, title) in [
        ("", "", "one"),
        ("", "\nSEQUENCE:1", "two"),
        ("\nSEQUENCE:2", "\nSEQUENCE:1", "one"),
        ("\nDTSTAMP:20260101T000000Z", "\nDTSTAMP:20260102T000000Z", "two"),
        ("\nDTSTAMP:20260103T000000Z", "\nDTSTAMP:20260102T000000Z", "one"),
    ] {
        let text = calendar(&[&event("one", first), &event("two", second)])
            .replace("DTSTAMP:20260101T000000Z\r\nUID", "UID");
        let found = read(&text).unwrap();
        assert_eq!((found.drafts.len(), found.drafts[0].title.as_str()), (1, title), "{first} {second}");
        assert_eq!(found.issues[0].error, Error::Twice);
    }
}

#[test]
fn a_series_whose_rule_ends_before_it_starts_has_no_occurrence() {
    let event = |until: &str| format!("UID:a\nDTSTART:20261005T100000Z\nRRULE:FREQ=WEEKLY;UNTIL={until}");
    let starts = |until: &str| of(&event(until), "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z").len();
    assert_eq!((starts("20261004T235959Z"), starts("20261005"), starts("20261012T100000Z")), (0, 1, 2));
}
