//! Tests of series with changed occurrences, changes of the rest, and added or excluded dates.

use super::super::{Effect, Error, Horizon, ParsedCalendar};
use super::{calendar, horizon, own, starts};

const BERLIN: &str = "TZID=Europe/Berlin";

/// From before the clocks change (25 October 2026, 28 March 2027 in Berlin) to the new year.
fn autumn() -> Horizon {
    horizon("2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z")
}

fn read(events: &[&str]) -> ParsedCalendar {
    super::super::parse(&calendar(events), &own(), autumn()).unwrap()
}

/// The remarks, each with its line; nothing may be left out.
fn remarks(read: &ParsedCalendar) -> Vec<(usize, Error)> {
    assert!(read.issues.iter().all(|issue| issue.error.effect() == Effect::Changed), "{:?}", read.issues);
    read.issues.iter().map(|issue| (issue.line, issue.error.clone())).collect()
}

fn in_autumn(events: &[&str]) -> Vec<String> {
    starts(&calendar(events), autumn())
}

fn series(more: &str) -> String {
    format!("UID:a\nSUMMARY:Weekly\nDTSTART;{BERLIN}:20261006T100000\nDTEND;{BERLIN}:20261006T110000\n{more}")
}

/// A change of the occurrence whose start by the rule is `start`, and of those after it.
fn rest(start: &str, more: &str) -> String {
    format!("UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE;{BERLIN}:{start}\n{more}")
}

#[test]
fn a_change_of_the_rest_moves_every_occurrence_from_its_own_on() {
    let found = in_autumn(&[
        &series("RRULE:FREQ=WEEKLY;COUNT=6"),
        &rest(
            "20261020T100000",
            &format!("DTSTART;{BERLIN}:20261021T143000\nDTEND;{BERLIN}:20261021T150000"),
        ),
    ]);
    // A day and four and a half hours later, on the clock of the wall also after the change.
    assert_eq!(
        found,
        [
            "2026-10-06T10:00+02:00",
            "2026-10-13T10:00+02:00",
            "2026-10-21T14:30+02:00",
            "2026-10-28T14:30+01:00",
            "2026-11-04T14:30+01:00",
            "2026-11-11T14:30+01:00"
        ],
        "the rule's count counts from the start of the series"
    );
}

#[test]
fn a_change_of_the_rest_has_its_own_words_and_length_and_its_occurrences_keep_their_names() {
    let found = read(&[
        &rest("20261020T100000", &format!("SUMMARY:Later\nDTSTART;{BERLIN}:20261020T120000\nDURATION:PT3H")),
        &series("RRULE:FREQ=WEEKLY;COUNT=4"),
    ]);
    assert_eq!(found.issues, []);
    let [changed, series] = &found.drafts[..] else { panic!("{:?}", found.drafts) };
    assert_eq!((changed.title.as_str(), series.title.as_str()), ("Later", "Weekly"));
    assert_eq!(changed.replaces.unwrap().to_string(), "2026-10-20T10:00:00");
    let named: Vec<_> = changed.occurrences.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(named, ["2026-10-20T10:00:00", "2026-10-27T10:00:00"], "by their start in the series");
    assert!(changed.occurrences.iter().all(|one| one.ends_at.duration_since(one.starts_at).as_hours() == 3));
    assert_eq!(series.occurrences.len(), 2);
}

#[test]
fn changes_of_the_rest_follow_each_other_and_single_ones_stand_within_them() {
    let found = in_autumn(&[
        &series("RRULE:FREQ=WEEKLY;COUNT=8\nEXDATE;TZID=Europe/Berlin:20261103T100000"),
        &rest("20261013T100000", &format!("DTSTART;{BERLIN}:20261013T110000")),
        &format!("UID:a\nRECURRENCE-ID;{BERLIN}:20261027T100000\nDTSTART;{BERLIN}:20261030T080000"),
        &rest("20261110T100000", &format!("DTSTART;{BERLIN}:20261110T120000")),
        &rest("20261117T100000", &format!("STATUS:CANCELLED\nDTSTART;{BERLIN}:20261117T100000")),
    ]);
    assert_eq!(
        found,
        [
            "2026-10-06T10:00+02:00",
            "2026-10-13T11:00+02:00",
            "2026-10-20T11:00+02:00",
            // Moved alone; the third of November is left out.
            "2026-10-30T08:00+01:00",
            "2026-11-10T12:00+01:00",
            // From the seventeenth on it is called off.
        ]
    );
}

#[test]
fn the_rest_of_a_series_may_go_to_another_clock_or_become_days() {
    let elsewhere = in_autumn(&[
        &series("RRULE:FREQ=WEEKLY;COUNT=5"),
        &rest("20261020T100000", "DTSTART;TZID=America/New_York:20261020T100000"),
    ]);
    // New York changes its clocks a week after Berlin does.
    assert_eq!(
        elsewhere[2..],
        ["2026-10-20T10:00-04:00", "2026-10-27T10:00-04:00", "2026-11-03T10:00-05:00"]
    );
    let days = in_autumn(&[
        &series("RRULE:FREQ=WEEKLY;COUNT=4"),
        &rest("20261020T100000", "DTSTART;VALUE=DATE:20261021"),
    ]);
    assert_eq!(days[2..], ["2026-10-21T00:00+05:45", "2026-10-28T00:00+05:45"]);
}

#[test]
fn a_horizon_that_moved_on_finds_the_rest_where_it_is() {
    let text = calendar(&[
        &series("RRULE:FREQ=WEEKLY"),
        &rest("20261020T100000", &format!("DTSTART;{BERLIN}:20261116T120000")),
    ]);
    // By four weeks less a day, so what starts in the window is named by starts long before it.
    let found = starts(&text, horizon("2027-06-01T00:00:00Z", "2027-06-15T00:00:00Z"));
    assert_eq!(found, ["2027-06-07T12:00+02:00", "2027-06-14T12:00+02:00"]);
}

#[test]
fn a_change_that_cannot_be_followed_is_told_and_taken_alone() {
    let only = |events: &[&str]| {
        let read = read(events);
        let last = read.drafts.last().unwrap();
        assert_eq!(last.occurrences.len(), 1, "{last:?}");
        let (line, error) = remarks(&read).remove(0);
        assert_eq!(last.details.notes, [error.to_string()], "people see it with the event too");
        (line, error)
    };
    let moved = format!("DTSTART;{BERLIN}:20261021T120000");
    // Lines: the calendar has three before its first event, and an event has two around its own, and its stamp.
    assert_eq!(only(&[&rest("20261020T100000", &moved)]), (4, Error::RestOfNothing));
    assert_eq!(only(&[&series("LOCATION:x"), &rest("20261006T100000", &moved)]), (12, Error::RestOfNothing));
    let prior = rest("20261020T100000", &moved).replace("THISANDFUTURE", "THISANDPRIOR");
    let found = only(&[&series("RRULE:FREQ=WEEKLY"), &prior]);
    assert_eq!(found, (12, Error::UnknownRange("THISANDPRIOR".to_owned())));
    let repeats = format!("UID:a\nRECURRENCE-ID;{BERLIN}:20261020T100000\n{moved}\nRRULE:FREQ=DAILY");
    assert_eq!(only(&[&series("RRULE:FREQ=WEEKLY"), &repeats]), (12, Error::ChangeRepeats("RRULE")));
}

#[test]
fn changes_without_number_repeat_no_rules_without_number() {
    let rule = format!(
        "RRULE:FREQ=YEARLY;BYYEARDAY={}",
        (1..366).map(|day| day.to_string()).collect::<Vec<_>>().join(",")
    );
    let mut events = vec![series(&rule)];
    for day in 1..=28 {
        let at = format!("202611{day:02}T100000");
        events.push(rest(&at, &format!("DTSTART;{BERLIN}:{at}")));
        events.push(rest(&at.replace("202611", "202612"), &format!("DTSTART;{BERLIN}:{at}")));
    }
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let read = read(&events);
    assert_eq!(remarks(&read).len(), 56);
    assert!(remarks(&read).iter().all(|(_, error)| *error == Error::TooManyChanges));
    // Each replaces its own start, and the series goes on between them.
    assert_eq!(read.drafts[0].occurrences.len(), 92 - 5 - 56);
    let long = format!("RRULE:FREQ=DAILY;BYMONTH={}", "1,".repeat(3000));
    let long = super::super::parse(&calendar(&[&series(&long)]), &own(), autumn()).unwrap();
    assert!(matches!(long.issues[0].error, Error::LongRules { bytes } if bytes > 4096), "{:?}", long.issues);
}

#[test]
fn an_older_change_of_an_occurrence_that_the_series_no_longer_has_is_passed_over() {
    let change = |more: &str| {
        format!("UID:a\nRECURRENCE-ID;{BERLIN}:20261013T100000\nDTSTART;{BERLIN}:20261014T120000{more}")
    };
    let happens = |rest: &str, more: &str| {
        let text = calendar(&[&series(&format!("SEQUENCE:2\nRRULE:{rest}")), &change(more)]);
        let read = super::super::parse(&text, &own(), autumn()).unwrap();
        let issues: Vec<_> = read.issues.iter().map(|issue| &issue.error).collect();
        assert_eq!(issues.len(), 2 - read.drafts.len(), "{issues:?}");
        assert!(issues.iter().all(|error| **error == Error::Obsolete), "{issues:?}");
        issues.is_empty()
    };
    for gone in [
        format!("FREQ=WEEKLY;COUNT=3\nEXDATE;{BERLIN}:20261013T100000"),
        "FREQ=WEEKLY;UNTIL=20261012".to_owned(),
        "FREQ=MONTHLY;COUNT=3".to_owned(),
    ] {
        assert!(!happens(&gone, "\nSEQUENCE:1"), "{gone}");
        assert!(happens(&gone, "\nSEQUENCE:2"), "it is as new as the series: {gone}");
    }
    assert!(happens("FREQ=WEEKLY;COUNT=3", "\nSEQUENCE:1"));
    assert!(happens("FREQ=MONTHLY;COUNT=3", ""), "its version is not known");
}

#[test]
fn an_occurrence_without_its_series_is_an_event_of_its_own() {
    let events = [
        &*format!("UID:a\nRECURRENCE-ID;{BERLIN}:20261020T100000\nDTSTART;{BERLIN}:20261021T120000"),
        "UID:b\nRECURRENCE-ID;VALUE=DATE:20261020\nDTSTART;VALUE=DATE:20261022",
        "UID:c\nRECURRENCE-ID:20261020T080000Z\nDTSTART:20261023T080000Z",
    ];
    assert_eq!(
        in_autumn(&events),
        ["2026-10-21T12:00+02:00", "2026-10-22T00:00+05:45", "2026-10-23T08:00+00:00"]
    );
    let names = ["2026-10-20T10:00:00", "2026-10-20T00:00:00", "2026-10-20T08:00:00"];
    let found = read(&events);
    assert!(found.drafts.iter().zip(names).all(|(draft, name)| draft.occurrences[0].key == name));
}

#[test]
fn an_occurrence_is_found_by_its_day_where_its_time_is_missing_or_too_much() {
    // RFC 5545 wants a time for a series of times; some programs write the day.
    let found = in_autumn(&[
        &series("RRULE:FREQ=WEEKLY;COUNT=3"),
        &format!("UID:a\nRECURRENCE-ID;VALUE=DATE:20261013\nDTSTART;{BERLIN}:20261014T120000"),
    ]);
    assert_eq!(found, ["2026-10-06T10:00+02:00", "2026-10-14T12:00+02:00", "2026-10-20T10:00+02:00"]);
    let days = "UID:a\nDTSTART;VALUE=DATE:20261006\nRRULE:FREQ=WEEKLY;COUNT=3";
    let found = in_autumn(&[
        days,
        &format!("UID:a\nRECURRENCE-ID;{BERLIN}:20261013T000000\nDTSTART;VALUE=DATE:20261014"),
    ]);
    assert_eq!(found, ["2026-10-06T00:00+05:45", "2026-10-14T00:00+05:45", "2026-10-20T00:00+05:45"]);
    let read = read(&[days, "UID:a\nRECURRENCE-ID:20261013T040000Z\nDTSTART;VALUE=DATE:20261014"]);
    assert_eq!(remarks(&read), [(10, Error::TimeForADay("RECURRENCE-ID"))]);
    assert_eq!(read.drafts[0].occurrences.len(), 2, "the day that it has in UTC is taken");
}

#[test]
fn dates_are_left_out_by_their_day_or_their_time() {
    let without = |line: &str| in_autumn(&[&series(&format!("RRULE:FREQ=WEEKLY;COUNT=3\n{line}"))]).len();
    assert_eq!(without("EXDATE;VALUE=DATE:20261013"), 2, "a day leaves out what starts on it");
    assert_eq!(without("EXDATE:20261013T080000Z"), 2, "the same moment in UTC");
    assert_eq!(without("EXDATE;TZID=America/New_York:20261013T040000"), 2, "and elsewhere");
    assert_eq!(without("EXDATE:20261013T100000Z"), 3, "another moment");
    assert_eq!(without("EXDATE;VALUE=DATE:20261014"), 3);
    let days = |line: &str| format!("UID:a\nDTSTART;VALUE=DATE:20261006\nRRULE:FREQ=WEEKLY;COUNT=3\n{line}");
    assert_eq!(in_autumn(&[&days("EXDATE;VALUE=DATE:20261013,20261020")]).len(), 1);
    assert_eq!(in_autumn(&[&days("EXDATE;TZID=Europe/Berlin:20261013T000000")]).len(), 2);
    assert_eq!(in_autumn(&[&days("EXDATE:20261013T000000Z")]).len(), 2);
    // Which day a moment is on is a guess for a day that is wherever its reader is.
    let read = read(&[&days("EXDATE:20261013T100000Z,20261020T100000Z")]);
    assert_eq!(
        (remarks(&read), read.drafts[0].occurrences.len()),
        (vec![(4, Error::TimeForADay("EXDATE"))], 1)
    );
}

#[test]
fn rules_of_what_is_left_out_are_followed() {
    let found = in_autumn(&[&series("RRULE:FREQ=DAILY;COUNT=7\nEXRULE:FREQ=WEEKLY;BYDAY=SA,SU,TU")]);
    assert_eq!(
        found,
        [
            "2026-10-07T10:00+02:00",
            "2026-10-08T10:00+02:00",
            "2026-10-09T10:00+02:00",
            "2026-10-12T10:00+02:00"
        ]
    );
}

#[test]
fn an_added_period_lasts_as_long_as_it_says() {
    let read = read(&[&series(
        "RRULE:FREQ=WEEKLY;COUNT=2\n\
         RDATE;VALUE=PERIOD:20261008T120000Z/20261008T150000Z,20261009T120000Z/PT15M\n\
         RDATE;VALUE=PERIOD;TZID=Europe/Berlin:20261013T100000/P1D",
    )]);
    assert_eq!(read.issues, []);
    let found = read.drafts[0].occurrences.iter();
    let found = found.map(|one| format!("{} {:#}", one.key, one.ends_at.duration_since(one.starts_at)));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            "2026-10-06T10:00:00 1h",
            "2026-10-08T14:00:00 3h",
            "2026-10-09T14:00:00 15m",
            "2026-10-13T10:00:00 24h"
        ],
        "also where the rule names the start as well"
    );
    let day =
        super::calendar(&["UID:a\nDTSTART;VALUE=DATE:20261006\nRDATE;VALUE=PERIOD:20261008T000000Z/PT3H"]);
    let day = super::super::parse(&day, &own(), autumn()).unwrap();
    assert_eq!(remarks(&day), [(4, Error::PeriodOfADay)]);
    assert_eq!(day.drafts[0].occurrences.len(), 2);
    let backwards = super::calendar(&[&series("RDATE;VALUE=PERIOD:20261008T120000Z/20261008T110000Z")]);
    let backwards = super::super::parse(&backwards, &own(), autumn()).unwrap();
    assert_eq!((backwards.issues[0].line, &backwards.issues[0].error), (4, &Error::PeriodEndsBeforeStart));
}

#[test]
fn a_broken_event_is_named_by_its_uid_where_that_can_be_read() {
    let text = calendar(&["UID:mars\nDTSTART:20261324T180000", "DTSTART:tomorrow"]);
    let found = super::super::parse(&text, &own(), autumn()).unwrap();
    let uids: Vec<_> = found.issues.iter().map(|issue| issue.uid.as_deref()).collect();
    assert_eq!(uids, [Some("mars"), None]);
}
