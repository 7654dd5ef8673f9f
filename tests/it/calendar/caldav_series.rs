//! One time of a series is changed or cancelled on a CalDAV server.

use serde_json::Value;

use super::{Radicale, berlin_time_in, home, occurrences};
use crate::support::Home;

const ZONE: &str = "BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\n\
    RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\n\
    DTSTART:19700329T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n\
    END:DAYLIGHT\r\nEND:VTIMEZONE\r\n";

/// Puts a daily series of four times, at `start`, on a server, and imports it with write access.
fn series(home: &Home, radicale: &Radicale, start: &str, length: &str) {
    assert!(radicale.ask("MKCALENDAR", "/ann/team/", "").contains(" 201 "));
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\n{ZONE}BEGIN:VEVENT\r\nUID:s\r\nDTSTAMP:20260101T000000Z\r\n\
         {start}\r\nDURATION:{length}\r\nRRULE:FREQ=DAILY;COUNT=4\r\nSUMMARY:Daily\r\nX-COLOUR:red\r\nEND:VEVENT\r\n\
         END:VCALENDAR\r\n"
    );
    assert!(radicale.ask("PUT", "/ann/team/s.ics", &text).contains(" 201 "));
    import(home, radicale);
}

fn import(home: &Home, radicale: &Radicale) -> String {
    let secret = home.write("secret", "secret\n").display().to_string();
    let url = format!("http://{}/ann/team/", radicale.address);
    let login = ["--caldav", "--write", "--login", "ann", "--password-file", &secret];
    let done = home.run([&["events", "import", "ann", &url][..], &login].concat(), "");
    assert!(done.status.success(), "{}", done.stderr);
    done.stdout
}

fn id(home: &Home, title: &str) -> String {
    let listed = home.run(["events", "list", "--json"], "").stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut items = listed["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["title"] == title).unwrap_or_else(|| panic!("{title}: {listed}"));
    item["id"].as_str().unwrap().to_owned()
}

fn day(stamp: &str) -> String {
    format!("{}-{}-{}", &stamp[..4], &stamp[4..6], &stamp[6..8])
}

/// Runs a command that changes an event, and returns its output.
fn change(home: &Home, command: &[&str]) -> String {
    let done = home.run(command, "");
    assert!(done.status.success(), "{command:?}: {}{}", done.stdout, done.stderr);
    format!("{}{}", done.stdout, done.stderr)
}

#[test]
fn one_time_of_a_series_is_moved_or_cancelled_on_its_server() {
    let home = home();
    let Some(radicale) = Radicale::start(&home) else { return };
    let stamps = [2, 3, 4, 5].map(|day| berlin_time_in(day, "1000"));
    let days = stamps.clone().map(|stamp| day(&stamp));
    series(&home, &radicale, &format!("DTSTART;TZID=Europe/Berlin:{}", stamps[0]), "PT1H");
    let starts = || -> Vec<String> {
        let mut found = occurrences(&home, "ann");
        found.sort_by(|(_, left), (_, right)| left.cmp(right));
        found.into_iter().map(|(title, start)| format!("{} {title}", &start[..16])).collect()
    };
    let there = || radicale.answer("GET", "/ann/team/s.ics", "");
    let [first, second, third, fourth] = &days;
    let daily = id(&home, "Daily");

    let moved =
        change(&home, &["events", "edit", &daily, "--on", second, "--when", "15:00", "--title", "Later"]);
    assert!(moved.contains(&format!("{second} 15:00 to 16:00")), "{moved}");
    let expected = vec![
        format!("{first}T10:00 Daily"),
        format!("{second}T15:00 Later"),
        format!("{third}T10:00 Daily"),
        format!("{fourth}T10:00 Daily"),
    ];
    assert_eq!(starts(), expected);
    let text = there();
    for line in [
        &format!("RECURRENCE-ID;TZID=Europe/Berlin:{}", stamps[1]),
        &format!("DTSTART;TZID=Europe/Berlin:{}", stamps[0]),
        "RRULE:FREQ=DAILY;COUNT=4",
        "TZID:Europe/Berlin",
        "SUMMARY:Later",
        "SUMMARY:Daily",
    ] {
        assert_eq!(text.matches(&format!("{line}\r\n")).count(), 1, "{line}: {text}");
    }
    assert_eq!(text.matches("X-COLOUR:red\r\n").count(), 2, "{text}");
    // The time of the change is once more moved, by its own id.
    let later = id(&home, "Later");
    let moved = change(&home, &["events", "edit", &later, "--when", "17:00"]);
    assert!(moved.contains(&format!("{second} 17:00 to 18:00")), "{moved}");

    let cancelled = change(&home, &["events", "cancel", &daily, "--on", third]);
    assert!(cancelled.contains(&format!("{third} 10:00 to 11:00")), "{cancelled}");
    let expected =
        [format!("{first}T10:00 Daily"), format!("{second}T17:00 Later"), format!("{fourth}T10:00 Daily")];
    assert_eq!(starts(), expected);
    let line = format!("EXDATE;TZID=Europe/Berlin:{}\r\n", stamps[2]);
    assert_eq!(there().matches(&line).count(), 1, "{}", there());
    // The server has what was written: a reader without any state sees the same.
    let again = super::home();
    import(&again, &radicale);
    assert_eq!(occurrences(&again, "ann").len(), 3);
    assert_eq!(import(&home, &radicale), "nothing has changed since the last time\n");

    // The series keeps its changed time, and a changed time that is cancelled stays away.
    change(&home, &["events", "edit", &daily, "--title", "Every day"]);
    assert_eq!(starts(), expected.clone().map(|start| start.replace("Daily", "Every day")));
    change(&home, &["events", "cancel", &later]);
    assert_eq!(starts(), [&expected[0], &expected[2]].map(|start| start.replace("Daily", "Every day")));
    assert!(there().contains("STATUS:CANCELLED\r\n"), "{}", there());

    // Somebody else was quicker: one time is not changed in a series that was changed.
    let changed = there().split_once("\r\n\r\n").unwrap().1.replace("SUMMARY:Every day", "SUMMARY:Other");
    assert!(radicale.ask("PUT", "/ann/team/s.ics", &changed).contains(" 201 "));
    for command in [
        &["events", "cancel", &daily, "--on", fourth][..],
        &["events", "edit", &daily, "--on", fourth, "--title", "Mine"],
    ] {
        assert!(
            radicale.ask("PUT", "/ann/team/s.ics", &changed.replace("Other", command[1])).contains(" 201 ")
        );
        let conflict = home.run(command, "");
        assert!(
            conflict.stderr.starts_with("error: another program changed the event, which is now `"),
            "{}{}",
            conflict.stdout,
            conflict.stderr
        );
        let text = there();
        assert!(!text.contains("Mine") && !text.contains(&stamps[3]), "{text}");
    }
    change(&home, &["events", "cancel", &daily]);
    assert!(radicale.ask("GET", "/ann/team/s.ics", "").contains(" 404 "));
    assert!(starts().is_empty());
}

#[test]
fn one_day_of_a_series_is_moved_or_cancelled_on_its_server() {
    let home = home();
    let Some(radicale) = Radicale::start(&home) else { return };
    let stamps = [2, 3, 4, 5].map(|day| berlin_time_in(day, "0000"));
    let [first, second, third, fourth] = stamps.clone().map(|stamp| day(&stamp));
    series(&home, &radicale, &format!("DTSTART;VALUE=DATE:{}", &stamps[0][..8]), "P1D");
    let daily = id(&home, "Daily");
    change(&home, &["events", "edit", &daily, "--on", &second, "--title", "Fair"]);
    change(&home, &["events", "edit", &daily, "--on", &third, "--when", &format!("{third} 9:00")]);
    change(&home, &["events", "cancel", &daily, "--on", &fourth]);
    let text = radicale.answer("GET", "/ann/team/s.ics", "");
    for line in [
        format!("RECURRENCE-ID;VALUE=DATE:{}", &stamps[1][..8]),
        format!("RECURRENCE-ID;VALUE=DATE:{}", &stamps[2][..8]),
        format!("EXDATE;VALUE=DATE:{}", &stamps[3][..8]),
    ] {
        assert_eq!(text.matches(&format!("{line}\r\n")).count(), 1, "{line}: {text}");
    }
    let mut found = occurrences(&home, "ann");
    found.sort_by(|(_, left), (_, right)| left.cmp(right));
    let found: Vec<String> =
        found.into_iter().map(|(title, start)| format!("{} {title}", &start[..16])).collect();
    assert_eq!(
        found,
        [format!("{first}T00:00 Daily"), format!("{second}T00:00 Fair"), format!("{third}T09:00 Daily")]
    );
}
