//! Events that the user writes on the command line, and what the user decides about a notification.

use serde_json::Value;

use super::berlin_time_in;
use crate::assistant::mail::{Hub, MailServer, alter_database, mail_config, notifications, run};
use crate::support::{Home, wait_for};

fn home(config: &str) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", config);
    let user =
        ["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--email", "ann@example.org"];
    run(&home, &[&user[..], &["--quiet-hours", "none", "--weekend", "both"]].concat());
    home
}

/// The events of a list, each as start and title.
fn events(home: &Home, more: &[&str]) -> Vec<(String, String)> {
    let listed = run(home, &[&["events", "list", "--user", "ann", "--json"], more].concat());
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = listed.as_object().unwrap().values().find_map(Value::as_array).unwrap();
    events.iter().map(|event| (text(&event["start_ts"]), text(&event["title"]))).collect()
}

fn show(home: &Home, id: &str) -> Value {
    serde_json::from_str(&run(home, &["events", "show", id, "--json"])).unwrap()
}

#[test]
fn an_event_is_added_changed_and_cancelled_in_the_words_of_its_user() {
    let home = home("");
    let added = home.run(["events", "add", "Dentist; the", "good one,", "1.7.2031 15:00 for 45 min"], "");
    assert_eq!(
        added.stderr,
        "added: Dentist; the good one, on Tuesday, 2031-07-01 15:00 to 15:45 (Europe/Berlin)\n"
    );
    let id = added.stdout.trim();
    let shown = show(&home, id);
    assert_eq!(
        (&shown["title"], &shown["start_ts"], &shown["end_ts"]),
        (
            &"Dentist; the good one,".into(),
            &"2031-07-01T15:00:00+02:00".into(),
            &"2031-07-01T15:45:00+02:00".into()
        )
    );
    // Without a length it lasts as long as before.
    let changed =
        home.run(["events", "edit", id, "--when", "2.12.2031 9:00", "--location", "Harbour Street"], "");
    assert_eq!(
        changed.stderr,
        "changed: Dentist; the good one, on Tuesday, 2031-12-02 09:00 to 09:45 (Europe/Berlin)\n"
    );
    run(&home, &["events", "edit", id, "--title", "Dr Wells"]);
    let shown = show(&home, id);
    assert_eq!(
        (&shown["title"], &shown["location"], &shown["start_ts"]),
        (&"Dr Wells".into(), &"Harbour Street".into(), &"2031-12-02T09:00:00+01:00".into())
    );
    assert!(run(&home, &["events", "export", "ann"]).contains("SEQUENCE:2\r\n"));

    let day = home.run(["events", "add", "Fair", "5.12.2031", "for 2 days", "--json"], "");
    let day: Value = serde_json::from_str(&day.stdout).unwrap();
    assert_eq!((&day["all_day"], &day["end_ts"]), (&true.into(), &"2031-12-07T00:00:00+01:00".into()));
    let range = ["--from", "1.12.2031", "--to", "5.12.2031"];
    let titles =
        |range: &[&str]| events(&home, range).into_iter().map(|(_, title)| title).collect::<Vec<_>>();
    assert_eq!(titles(&range), ["Dr Wells", "Fair"]);
    assert_eq!(titles(&["--from", "2031-12-02T10:00", "--to", "5 December 2031"]), ["Fair"]);
    // Without `--user` the list has the clock of the only user.
    let listed = run(&home, &["events", "list", "--from", "2.12.2031 9:00", "--to", "2.12.2031 9:01"]);
    assert!(
        listed.starts_with("START (Europe/Berlin)") && listed.contains("2031-12-02 09:00   09:45  Dr Wells"),
        "{listed}"
    );
    run(&home, &["events", "cancel", id]);
    assert_eq!(titles(&range), ["Fair"]);
    // What runs on those days, and what is over.
    assert_eq!(titles(&["--from", "6.12.2031", "--to", "6.12.2031"]), ["Fair"]);
    assert!(titles(&["--from", "7.12.2031", "--to", "7.12.2031"]).is_empty());
    let long = home.run(["events", "add", "Trip 12.12.2031 10:00 for 2 days"], "");
    assert_eq!(
        long.stderr,
        "added: Trip on Friday, 2031-12-12 10:00 to Sunday, 2031-12-14 10:00 (Europe/Berlin)\n"
    );
    let listed = run(&home, &["events", "list", "--from", "5.12.2031", "--to", "13.12.2031"]);
    for row in [
        "\nFri 2031-12-05         Sat 2031-12-06        Fair ",
        "\nFri 2031-12-12 10:00   Sun 2031-12-14 10:00  Trip ",
    ] {
        assert!(listed.contains(row), "{listed}");
    }
    run(&home, &["events", "cancel", long.stdout.trim()]);

    for (arguments, error) in [
        (&["events", "add", "Lunch"][..], "error: `Lunch` contains no date or time\n"),
        (
            &["events", "add", "5/6 Tea"],
            "error: `5/6` may be the day 5 of the month 6 or the day 6 of the month 5\n",
        ),
        (&["events", "add", "tomorrow 15:00"], "error: the event has no title\n"),
        (
            &["events", "add", "Tea tomorrow for 2 hours"],
            "error: a length in hours or minutes needs a start time, such as `14:00`\n",
        ),
        (&["events", "edit", "event-x", "--title", "x"], "error: unknown event `event-x`\n"),
        (&["events", "cancel", id], "error: event: it was cancelled\n"),
        (
            &["events", "list", "--from", "tomorrow", "--to", "today"],
            "error: the last day is before the first\n",
        ),
        (
            &["events", "forget", "ann", "no.ics"],
            "error: no event of `ann` came from no.ics\nhint: `adjutant events list` lists the events\n",
        ),
        (&["events", "list", "--from", "someday"], "error: `someday` contains no date or time\n"),
    ] {
        let refused = home.run(arguments, "");
        assert!(
            !refused.status.success() && refused.stderr.starts_with(error),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    run(&home, &["users", "add", "Bo", "--id", "bo"]);
    let several = home.run(["events", "add", "Tea tomorrow 15:00"], "");
    assert!(several.stderr.starts_with("error: there are several users\n"), "{}", several.stderr);
    let tea = run(&home, &["events", "add", "Tea tomorrow 15:00", "--user", "bo"]);
    assert_eq!(show(&home, tea.trim())["user_id"], "bo");
}

#[test]
fn an_event_in_the_hour_that_comes_twice_is_when_it_was_typed() {
    let home = home("");
    let add = |text: &str| {
        let added = home.run(["events", "add", text], "");
        assert!(added.status.success(), "{text}: {}", added.stderr);
        let shown = show(&home, added.stdout.trim());
        (shown["start_ts"].as_str().unwrap().to_owned(), shown["end_ts"].as_str().unwrap().to_owned())
    };
    for (text, start, end) in [
        ("F 2031-10-26T01:15:00Z for 30 min", "2031-10-26T02:15:00+01:00", "2031-10-26T02:45:00+01:00"),
        ("A 2031-10-26T02:30:00+02 for 45 min", "2031-10-26T02:30:00+02:00", "2031-10-26T02:15:00+01:00"),
        ("B 2031-10-26T02:30:00+02", "2031-10-26T02:30:00+02:00", "2031-10-26T02:30:00+01:00"),
        ("E 2031-10-26T00:30:00Z for 1h", "2031-10-26T02:30:00+02:00", "2031-10-26T02:30:00+01:00"),
        ("I 30.3.2031 02:30-03:15", "2031-03-30T03:30:00+02:00", "2031-03-30T04:15:00+02:00"),
    ] {
        assert_eq!(add(text), (start.to_owned(), end.to_owned()), "{text}");
    }
    let twice = home.run(["events", "add", "B 26.10.2031 02:30"], "");
    let both = "error: `02:30` may be 2031-10-26T02:30:00+02 or 2031-10-26T02:30:00+01\n";
    assert!(twice.stderr.starts_with(both), "{twice}");
    let id = run(&home, &["events", "add", "Tea 1.7.2031 15:00"]).trim().to_owned();
    run(&home, &["events", "edit", &id, "--when", "2031-10-26T02:30:00+01:00"]);
    let shown = show(&home, &id);
    assert_eq!(
        (&shown["start_ts"], &shown["end_ts"]),
        (&"2031-10-26T02:30:00+01:00".into(), &"2031-10-26T03:30:00+01:00".into())
    );
    let refused = home.run(["events", "edit", &id, "--title", ""], "");
    assert!(refused.stderr.starts_with("error: title: it is required\n"), "{}", refused.stderr);
}

#[test]
fn events_of_stdin_are_added_and_an_imported_event_is_not_changed() {
    let home = home("");
    let invitation = |uid: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTART:20310701T100000Z\r\n\
             DTEND:20310701T110000Z\r\nSUMMARY:{uid}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    for uid in ["one", "two"] {
        let imported = home.run(["events", "import", "ann", "-"], invitation(uid));
        assert_eq!(imported.stdout, "-: 1 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    }
    home.write("work.ics", invitation("three"));
    run(&home, &["events", "import", "ann", "work.ics"]);
    let range = ["--from", "1.7.2031", "--to", "1.7.2031", "--json"];
    let listed: Value =
        serde_json::from_str(&run(&home, &[&["events", "list"][..], &range].concat())).unwrap();
    let listed = listed.as_object().unwrap().values().find_map(Value::as_array).unwrap().clone();
    assert_eq!(listed.len(), 3);
    let id = |title: &str| {
        let event = listed.iter().find(|event| event["title"] == title).unwrap();
        event["id"].as_str().unwrap().to_owned()
    };
    run(&home, &["events", "edit", &id("two"), "--title", "Two"]);
    for act in [&["events", "edit", &id("three"), "--title", "x"][..], &["events", "cancel", &id("three")]] {
        let refused = home.run(act, "");
        assert_eq!(
            refused.stderr.lines().next(),
            Some("error: event: it is imported from work; change it there")
        );
    }
}

#[test]
fn one_time_of_a_series_stays_changed_when_the_series_is() {
    let home = home("");
    let [first, second, moved] =
        [(1, "1000"), (2, "1000"), (2, "1500")].map(|(day, time)| berlin_time_in(day, time));
    let event = |lines: &str| format!("BEGIN:VEVENT\r\nUID:s\r\n{lines}\r\nDURATION:PT1H\r\nEND:VEVENT\r\n");
    let series = [
        event(&format!("DTSTART:{first}\r\nRRULE:FREQ=DAILY;COUNT=3\r\nSUMMARY:Daily")),
        event(&format!("RECURRENCE-ID:{second}\r\nDTSTART:{moved}\r\nSUMMARY:Later")),
    ];
    let text =
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\n{}END:VCALENDAR\r\n", series.concat());
    home.run(["events", "import", "ann", "-"], text);
    let listed = run(&home, &["events", "list"]);
    let id = listed.lines().find(|line| line.contains("Daily")).unwrap().split_whitespace().last().unwrap();
    run(&home, &["events", "edit", id, "--title", "Every day"]);
    let titles: Vec<_> = events(&home, &[]).into_iter().map(|(_, title)| title).collect();
    assert_eq!(titles, ["Every day", "Later", "Every day"]);
    let refused = home.run(["events", "edit", id, "--when", "tomorrow 12:00"], "");
    assert!(refused.stderr.starts_with("error: start: the event repeats"), "{}", refused.stderr);
}

#[test]
fn one_time_of_a_series_is_moved_or_cancelled() {
    let home = home("");
    let stamps = [2, 3, 4].map(|day| berlin_time_in(day, "1000"));
    let days = stamps.clone().map(|stamp| format!("{}-{}-{}", &stamp[..4], &stamp[4..6], &stamp[6..8]));
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\nBEGIN:VEVENT\r\nUID:s\r\n\
         DTSTART;TZID=Europe/Berlin:{}\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3\r\nSUMMARY:Daily\r\n\
         END:VEVENT\r\nEND:VCALENDAR\r\n",
        stamps[0]
    );
    home.run(["events", "import", "ann", "-"], text);
    let id = |title: &str| {
        let listed = run(&home, &["events", "list"]);
        let line = listed.lines().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{listed}"));
        line.split_whitespace().last().unwrap().to_owned()
    };
    let starts = || -> Vec<String> {
        let start = |(start, title): (String, String)| format!("{} {title}", &start[..16]);
        events(&home, &[]).into_iter().map(start).collect()
    };
    let [first, second, third] = &days;
    let series = id("Daily");
    let moved = ["events", "edit", &series, "--on", second, "--when", "15:00", "--title", "Later"];
    let moved = home.run(moved, "").stderr;
    assert!(
        moved.starts_with("changed: Later on ") && moved.contains(&format!("{second} 15:00 to 16:00")),
        "{moved}"
    );
    let expected =
        [format!("{first}T10:00 Daily"), format!("{second}T15:00 Later"), format!("{third}T10:00 Daily")];
    assert_eq!(starts(), expected);
    let cancelled = home.run(["events", "cancel", &series, "--on", third], "");
    let output = format!("{}{}", cancelled.stdout, cancelled.stderr);
    assert!(
        output.starts_with("cancelled: Daily, ")
            && output.contains(&format!("{third} 10:00 to 11:00 (Europe/Berlin), and 1 notification\n")),
        "{output}"
    );
    assert_eq!(starts(), expected[..2]);
    for (on, why) in [
        (second, "this time was changed before and has a separate id, which `adjutant events list` shows"),
        (third, "the event does not happen then"),
    ] {
        let refused = home.run(["events", "cancel", &series, "--on", on], "");
        assert!(refused.stderr.starts_with(&format!("error: on: {why}\n")), "{}", refused.stderr);
    }
    let later = id("Later");
    let refused = home.run(["events", "cancel", &later, "--on", second], "");
    assert!(refused.stderr.starts_with("error: on: the event does not repeat\n"), "{}", refused.stderr);
    // What was cancelled stays so when the series is changed.
    run(&home, &["events", "cancel", &later]);
    run(&home, &["events", "edit", &series, "--title", "Every day"]);
    assert_eq!(starts(), [format!("{first}T10:00 Every day")]);
    let whole = home.run(["events", "cancel", &series], "");
    assert!(
        format!("{}{}", whole.stdout, whole.stderr).starts_with("cancelled: Every day, all its times, and "),
        "{whole}"
    );
    assert!(starts().is_empty());
}

#[test]
fn an_edit_keeps_the_day_or_the_time_of_day() {
    let home = home("");
    let added = home.run(["events", "add", "Ski 24.12.2031 - 2.1.2032"], "");
    assert_eq!(added.stderr, "added: Ski on Wednesday, 2031-12-24 to Friday, 2032-01-02\n");
    let id = run(&home, &["events", "add", "Dentist 1.7.2031 15:00 for 45 min"]).trim().to_owned();
    for (when, expected) in [
        ("2.7.2031", "Wednesday, 2031-07-02 15:00 to 15:45 (Europe/Berlin)"),
        ("17:00", "Wednesday, 2031-07-02 17:00 to 17:45 (Europe/Berlin)"),
        ("9:00-9:30", "Wednesday, 2031-07-02 09:00 to 09:30 (Europe/Berlin)"),
        ("3.7.2031 for 2 days", "Thursday, 2031-07-03 to Friday, 2031-07-04"),
        ("10:00", "Thursday, 2031-07-03 10:00 to 11:00 (Europe/Berlin)"),
        ("for 20 min", "Thursday, 2031-07-03 10:00 to 10:20 (Europe/Berlin)"),
    ] {
        let changed = home.run(["events", "edit", &id, "--when", when], "");
        assert_eq!(changed.stderr, format!("changed: Dentist on {expected}\n"), "{when}");
    }
    let ambiguous = home.run(["events", "edit", &id, "--when", "next week"], "");
    assert!(
        ambiguous.stderr.starts_with("error: `next week` has several days: write `Mon "),
        "{}",
        ambiguous.stderr
    );
}

#[test]
fn a_notification_is_cancelled_snoozed_and_tested() {
    let mail_server = MailServer::start();
    let home = home(&mail_config(&mail_server.address));
    assert_eq!(home.run(["notifications", "test", "ann", "email"], "").stderr, "the email was sent: taken\n");
    assert!(
        run(&home, &["notifications", "test", "ann", "email", "--json"]).contains("\"answer\": \"taken\"")
    );
    assert!(mail_server.mails.lock().unwrap()[0].contains("Subject: A test of Adjutant"));
    // The server ends the connection after the text of the mail.
    *mail_server.refuse.lock().unwrap() = (1, "");
    let unknown = home.run(["notifications", "test", "ann", "email"], "").stderr;
    let why = "error: whether the email was sent is not known: the mail server did not say whether it took the mail: ";
    assert!(unknown.starts_with(why), "{unknown}");
    let refused = home.run(["notifications", "test", "ann", "webhook"], "");
    assert!(refused.stderr.starts_with("error: the webhook was not sent: "), "{}", refused.stderr);

    for title in ["Tea", "Walk"] {
        run(&home, &["events", "add", title, "in 3 hours"]);
    }
    let id = |title: &str| {
        let all = notifications(&home, &["--status", "planned"]);
        let found = all.iter().find(|one| one["subject"].as_str().unwrap().contains(title)).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let tea = id("Tea");
    run(&home, &["notifications", "cancel", &tea]);
    let again = home.run(["notifications", "cancel", &tea], "").stderr;
    assert!(
        again.starts_with(&format!("error: notification `{tea}` is cancelled: there is nothing to cancel\n")),
        "{again}"
    );
    let calendars = run(&home, &["events", "calendars", "ann"]);
    assert!(calendars.contains("Own events"), "{calendars}");
    let tea = home.run(["notifications", "snooze", &id("Walk"), "in 9 hours"], "");
    assert_eq!(tea.stderr.lines().next(), Some("error: time: the event is over then"));
    let later = run(&home, &["notifications", "snooze", &id("Walk"), "in 2 minutes"]);
    assert_eq!(later.trim(), id("Walk"));
    let snoozed = &notifications(&home, &["--status", "planned"])[0];
    let reasons = snoozed["reasons"].to_string();
    assert!(reasons.contains("snoozed until "), "{reasons}");
    alter_database(&home, "UPDATE notifications SET try_at = 0 WHERE status = 'planned'");
    let hub = Hub::start(&home);
    wait_for("the mail", || (mail_server.counts().len() == 2).then_some(()));
    wait_for("the record", || (notifications(&home, &["--status", "sent"]).len() == 1).then_some(()));
    // What was sent is sent again as another mail.
    run(&home, &["notifications", "snooze", later.trim(), "in 2 minutes"]);
    alter_database(&home, "UPDATE notifications SET try_at = 0 WHERE status = 'planned'");
    drop(hub);
    let _hub = Hub::start(&home);
    wait_for("the second mail", || (mail_server.counts().len() == 3).then_some(()));
    assert_eq!(mail_server.mails.lock().unwrap().len(), 3);
}

#[test]
fn a_notification_that_is_put_off_to_a_day_comes_in_its_morning() {
    let home = home("");
    run(&home, &["events", "add", "Trip in 30 hours for 5 days"]);
    for (quiet, time) in [("none", "08:00"), ("21:00-09:30", "09:30")] {
        run(&home, &["users", "edit", "ann", "--quiet-hours", quiet]);
        let planned = notifications(&home, &["--status", "planned"]);
        let id = planned[0]["id"].as_str().unwrap();
        let snoozed = home.run(["notifications", "snooze", id, "in 3 days"], "");
        assert!(snoozed.stderr.ends_with(&format!(" {time}\n")), "{}", snoozed.stderr);
    }
}

#[test]
fn series_are_listed_on_days_far_ahead_and_a_list_says_where_they_end() {
    let home = home("");
    let event = |uid: &str, rule: &str| {
        format!(
            "BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTART:20200101T100000Z\r\nDTEND:20200101T110000Z\r\nRRULE:{rule}\r\n\
             SUMMARY:{uid}\r\nEND:VEVENT\r\n"
        )
    };
    let events = [event("Standup", "FREQ=DAILY"), event("Review", "FREQ=MONTHLY")].concat();
    let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\n{events}END:VCALENDAR\r\n");
    home.write("team.ics", text);
    run(&home, &["events", "import", "ann", "team.ics"]);
    let list = |from: &str, to: &str| home.run(["events", "list", "--from", from, "--to", to], "");
    let ahead = list("in 300 days", "in 399 days");
    let counted = |day: &str, name: &str| {
        ahead.stdout.lines().filter(|line| line.contains(day) && line.contains(name)).count()
    };
    assert_eq!(counted("", "Standup"), 100, "{ahead}");
    assert_eq!(counted("", "Review"), counted("-01 ", "Standup"), "{ahead}");
    assert_eq!(ahead.stderr, "", "{ahead}");
    let farther = list("in 3 years", "in 4 years");
    assert!(farther.stderr.contains("events that repeat are listed from "), "{farther}");
}

#[test]
fn very_long_texts_of_a_calendar_do_not_flood_the_terminal() {
    let home = home("");
    let (title, zone) = ("x".repeat(90_000), "Z".repeat(10_000));
    let text = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\nBEGIN:VEVENT\r\nUID:long\r\n\
         DTSTART;TZID={zone}:20310701T100000\r\nSUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    home.write("long.ics", text);
    let imported = home.run(["events", "import", "ann", "long.ics"], "");
    assert!(imported.status.success() && imported.stderr.contains("unknown time zone `ZZZ"), "{imported}");
    assert!(imported.stderr.len() < 2_000, "{} bytes", imported.stderr.len());
    let listed = home.run(["events", "list", "--from", "1.7.2031", "--to", "1.7.2031"], "");
    assert!(listed.stdout.contains("xxx…") && listed.stdout.len() < 2_000, "{} bytes", listed.stdout.len());
}
