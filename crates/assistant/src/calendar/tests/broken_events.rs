//! Tests of events that break the standard, and of events that cost more than they should.

use super::*;

#[test]
fn broken_events_are_named_by_their_line_and_the_rest_is_kept() {
    let text = calendar(&[
        "UID:good\nDTSTART:20261224T180000Z",
        "UID:end\nDTSTART:20261224T180000Z\nDTEND:2026-12-24 19:00",
        "UID:length\nDTSTART:20261224T180000Z\nDURATION:-PT1H",
        "UID:rule\nDTSTART:20261224T180000Z\nRRULE:FREQ=DAILY;UNTL=20261231",
        "UID:when\nDTSTART:tomorrow",
        "UID:never\nSUMMARY:No start",
        "UID:last\nDTSTART:20261225T180000Z",
    ]);
    let found = read(&text).unwrap();
    let uids: Vec<_> = found.drafts.iter().map(|draft| draft.uid.as_str()).collect();
    assert_eq!(uids, ["good", "last"]);
    let issues: Vec<_> = found.issues.iter().map(|issue| (issue.line, issue.error.to_string())).collect();
    assert_eq!(issues.len(), 5, "{issues:?}");
    assert_eq!(issues[0], (9, "`DTEND` is not a date or a time: 2026-12-24 19:00".to_owned()));
    assert_eq!(issues[1], (15, "`DURATION` is not a date or a time: -PT1H".to_owned()));
    let rule =
        "the rule `FREQ=DAILY;UNTL=20261231` cannot be followed: `UNTL=20261231` is not a part that is known";
    assert_eq!(issues[2], (21, rule.to_owned()));
    assert_eq!(issues[3].0, 27);
    assert_eq!(issues[4], (32, "the event has no `DTSTART`".to_owned()));
}

/// The first span of an event, and the remarks about it.
fn remarked(event: &str) -> (String, Vec<String>) {
    let whole = horizon("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let parsed = super::super::parse(&calendar(&[event]), &own(), whole).unwrap();
    let spans = parsed.drafts.iter().flat_map(|draft| &draft.occurrences);
    let spans: Vec<_> = spans.map(|at| format!("{} {}", at.starts_at, at.ends_at)).collect();
    let remarks = parsed.issues.iter().map(|issue| {
        assert_eq!(issue.error.effect(), Effect::Changed, "{issue:?}");
        issue.error.to_string()
    });
    (spans.join(", "), remarks.collect())
}

#[test]
fn an_event_that_breaks_the_standard_is_read_as_far_as_it_says_when_it_happens() {
    let unknown =
        "unknown time zone `Mars/Base`; its times are taken for those of the user, and may be wrong";
    let swapped = "the event ends before it starts; its start is taken for its end";
    let day = |name: &str| {
        format!("`{name}` is a day among times; it is taken for the midnight with which the day begins")
    };
    for (event, span, remark) in [
        // Kathmandu is the zone of the user.
        ("DTSTART;TZID=Mars/Base:20260701T100000", "2026-07-01T04:15:00Z 2026-07-01T04:15:00Z", unknown),
        (
            "DTSTART;TZID=Mars/Base:20260701T100000\nDTEND;TZID=Europe/Berlin:20260701T110000",
            "2026-07-01T08:00:00Z 2026-07-01T09:00:00Z",
            unknown,
        ),
        (
            "DTSTART:20260701T100000Z\nDTEND:20260701T093000Z",
            "2026-07-01T09:30:00Z 2026-07-01T10:00:00Z",
            swapped,
        ),
        (
            "DTSTART;VALUE=DATE:20260703\nDTEND;VALUE=DATE:20260701",
            "2026-06-30T18:15:00Z 2026-07-02T18:15:00Z",
            swapped,
        ),
        (
            "DTSTART:20260701T100000Z\nDTEND;VALUE=DATE:20260702",
            "2026-07-01T10:00:00Z 2026-07-02T00:00:00Z",
            &day("DTEND"),
        ),
        (
            "DTSTART;VALUE=DATE:20260701\nDTEND;TZID=Europe/Berlin:20260702T120000",
            "2026-06-30T22:00:00Z 2026-07-02T10:00:00Z",
            &day("DTSTART"),
        ),
        (
            "DTSTART;VALUE=DATE:20260701\nDURATION:PT10H",
            "2026-06-30T18:15:00Z 2026-07-01T04:15:00Z",
            &day("DTSTART"),
        ),
        (
            "DTSTART:20260701T100000Z\nRDATE;VALUE=PERIOD:20260703/20260704",
            "2026-07-01T10:00:00Z 2026-07-01T10:00:00Z, 2026-07-03T00:00:00Z 2026-07-04T00:00:00Z",
            &day("RDATE"),
        ),
    ] {
        let found = remarked(&format!("UID:a\n{event}"));
        assert_eq!(found, (span.to_owned(), vec![remark.to_owned()]), "{event}");
    }
    // The type of a value is seen in it.
    for event in [
        "DTSTART;VALUE=DATE:20260701T100000Z",
        "DTSTART;VALUE=DATE;VALUE=OTHER:20260701t100000z",
        "DTSTART;X=\"a:b\":20260701T100000Z",
        "DTSTART:20260701T100000Z\nDURATION:P",
    ] {
        let found = remarked(&format!("UID:a\n{event}"));
        assert_eq!(found, ("2026-07-01T10:00:00Z 2026-07-01T10:00:00Z".to_owned(), Vec::new()), "{event}");
    }
}

#[test]
fn a_value_of_the_wrong_form_is_not_guessed() {
    for event in [
        "DTSTART:20260701T1000Z",
        "DTSTART:20260701T10000Z",
        "DTSTART:20260230",
        "DTSTART:20260701T240000",
        "DTSTART:+2260701",
        "DTSTART:2026-07-01T10:00:00Z",
        "DTSTART:20260701T100000+0200",
        "DTSTART:20260701\nDURATION:PT1W",
        "DTSTART:20260701\nDURATION:P1D1W",
        "DTSTART:20260701\nDURATION:1D",
        "DTSTART:20260701\nRDATE:20260702/P1M",
        "DTSTART:20260701\nEXDATE:soon",
    ] {
        let found = read(&calendar(&[&format!("UID:a\n{event}")])).unwrap();
        assert!(
            found.drafts.is_empty() && matches!(found.issues[0].error, Error::NotATime { .. }),
            "{event}"
        );
    }
}

#[test]
fn an_event_without_an_end_costs_itself_alone() {
    let text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART:20261224T180000Z\nBEGIN:VEVENT\nUID:b\n\
                DTSTART:20261224T180000Z\nEND:VEVENT\nEND:VCALENDAR\n";
    let found = read(text).unwrap();
    assert_eq!(found.drafts.len(), 1);
    assert_eq!((found.drafts[0].uid.as_str(), found.issues[0].line), ("b", 2));
    assert!(matches!(read("{\"not\": \"a calendar\"}"), Err(Error::NotACalendar)));
    assert!(matches!(read(&"x".repeat(50_000_000)), Err(Error::TooLarge)));
}

#[test]
fn of_a_calendar_that_is_cut_off_nothing_is_read() {
    let whole = calendar(&["UID:a\nDTSTART:20261224T180000Z", "UID:b\nDTSTART:20261225T180000Z"]);
    let end = whole.trim_end().len();
    for cut in "BEGIN:VCALENDAR".len()..end {
        assert_eq!(read(&whole[..cut]).unwrap_err(), Error::CutOff, "{}", &whole[..cut]);
    }
    for whole in [whole[..end].to_owned(), format!("{whole}{whole}\n"), whole.replace("END:VCAL", "end:vcal")]
    {
        assert_eq!(read(&whole).unwrap().drafts.len(), 2);
    }
    assert_eq!(read(&format!("{whole}BEGIN:VCALENDAR\n")).unwrap_err(), Error::CutOff);
}

#[test]
fn bombs_are_refused_with_bounded_work() {
    let bomb = |rule: &str| {
        let text = calendar(&[&format!("UID:a\nDTSTART:20200101T000000Z\nRRULE:{rule}")]);
        let horizon = horizon("2026-11-01T00:00:00Z", "2027-03-01T00:00:00Z");
        let found = super::super::parse(&text, &own(), horizon).unwrap();
        match found.issues.first() {
            Some(issue) => Err(issue.error.clone()),
            None => Ok(found.drafts[0].occurrences.len()),
        }
    };
    let empty = |rule: &str| matches!(bomb(rule), Err(Error::EmptyRule(_)));
    assert!(empty("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"));
    assert!(empty("FREQ=DAILY;BYMONTH=2,4;BYMONTHDAY=31"));
    assert!(empty("FREQ=YEARLY;BYMONTH=1;BYYEARDAY=200"));
    assert_eq!(bomb("FREQ=SECONDLY"), Err(Error::TooOften));
    assert_eq!(bomb("FREQ=SECONDLY;COUNT=2000000000"), Err(Error::TooMuchWork));
    assert_eq!(bomb("FREQ=SECONDLY;BYHOUR=3;BYMINUTE=0;BYSECOND=0"), Ok(120));
    assert_eq!(bomb("FREQ=HOURLY"), Ok(24 * 120));
    assert!(matches!(bomb("FREQ=FORTNIGHTLY"), Err(Error::BadRule(..))));
}

#[test]
fn a_file_full_of_bombs_is_given_up_early() {
    let minutes = (0..22).map(|minute| minute.to_string()).collect::<Vec<_>>().join(",");
    let rule = format!(
        "FREQ=YEARLY;BYDAY=SU,MO,TU,WE,TH,FR,SA;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23;BYMINUTE={minutes};BYSETPOS=1"
    );
    let bombs: Vec<String> =
        (0..60).map(|n| format!("UID:{n}\nDTSTART:20200101T000000Z\nRRULE:{rule};COUNT=20")).collect();
    let bombs: Vec<&str> = bombs.iter().map(String::as_str).collect();
    let found = read(&calendar(&bombs)).unwrap();
    assert!(found.drafts.is_empty());
    assert!(found.issues.iter().all(|issue| issue.error == Error::TooMuchWork), "{:?}", found.issues.first());
}
