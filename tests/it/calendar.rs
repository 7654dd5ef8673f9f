//! Import and export of calendars on the command line, and the notifications for them.

mod caldav_series;
mod caldav_versions;
mod own_events;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, wait_for};

fn calendar(events: &[&str]) -> String {
    let events = events.iter().map(|event| format!("BEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\n"));
    let events = events.collect::<Vec<_>>().concat();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{events}END:VCALENDAR\r\n")
}

fn home() -> Home {
    let home = Home::new();
    let added = home.run(
        ["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--time-zone", "Europe/Berlin"],
        "",
    );
    assert!(added.status.success(), "{}", added.stderr);
    home
}

const SERIES: &str =
    "UID:m@example.org\r\nDTSTART;TZID=Europe/Berlin:20301127T140000\r\nDURATION:PT1H\r\nSUMMARY:Budget";

#[test]
fn a_simulation_shows_a_month_and_sends_nothing() {
    let home = home();
    let weekly = "UID:w\r\nDTSTART;TZID=Europe/Berlin:20301014T073000\r\nDURATION:PT15M\r\nSUMMARY:Stand-up\r\nRRULE:FREQ=WEEKLY;COUNT=6";
    // The stored horizon begins now, so the month is just ahead.
    let soon = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    let soon = soon.checked_add(jiff::ToSpan::days(1)).unwrap().strftime("%Y%m%dT073000").to_string();
    home.write("w.ics", calendar(&[&weekly.replace("20301014T073000", &soon)]));
    let imported = home.run(["events", "import", "ann", "w.ics"], "");
    assert!(imported.status.success(), "{}", imported.stderr);
    let simulated = home.run(["notifications", "simulate", "ann", "--days", "30", "--json"], "");
    assert!(simulated.status.success(), "{}", simulated.stderr);
    let simulated: Value = serde_json::from_str(&simulated.stdout).unwrap();
    assert_eq!(simulated["time_zone"], "Europe/Berlin");
    let events = simulated["items"].as_array().unwrap();
    assert!((4..=5).contains(&events.len()), "{simulated:#}");
    for event in events {
        // Half past six is in the quiet hours, so the notification is due at seven, or never at a weekend.
        for notification in event["notifications"].as_array().unwrap() {
            assert_eq!(&notification["due_at"].as_str().unwrap()[11..16], "07:00", "{event:#}");
            let by: Vec<_> = notification["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["by"].as_str().unwrap())
                .collect();
            assert_eq!(by, ["policy", "quiet_hours"]);
        }
    }
    let text = home.run(["notifications", "simulate", "ann", "--why"], "");
    assert!(
        text.stdout.starts_with("WHEN") && text.stdout.contains("07:00  Stand-up — policy: "),
        "{}",
        text.stdout
    );
    // The words of the page.
    let text = home.run(["notifications", "simulate", "ann"], "").stdout;
    let mut channels = text.lines().skip(1).map(|line| line.split_whitespace().last().unwrap());
    assert!(channels.all(|channel| ["mail", "question", "call"].contains(&channel)), "{text}");
}

/// Answers one request with each of these texts, and returns the requests.
fn server(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/feed.ics", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let answer = |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while lines.read_line(&mut asked).unwrap() > 2 {}
            let length = asked
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            lines.read_exact(&mut body).unwrap();
            asked.push_str(&String::from_utf8(body).unwrap());
            stream.write_all(answer.as_bytes()).unwrap();
            asked.to_lowercase()
        };
        answers.into_iter().map(answer).collect()
    });
    (url, asked)
}

#[test]
fn a_feed_is_parsed_again_only_after_it_changed() {
    let answer = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nETag: \"v1\"\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let (url, asked) = server(vec![
        answer("200 OK", &calendar(&[SERIES])),
        answer("304 Not Modified", ""),
        answer("200 OK", &calendar(&[&SERIES.replace("m@", "other@")])),
        answer("503 Later", ""),
        answer("200 OK", &calendar(&[SERIES])),
    ]);
    let home = home();
    let import = || home.run(["events", "import", "ann", &url], "");
    assert_eq!(import().stdout, "1 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(import().stdout, "nothing has changed since the last time\n");
    // An event that a feed no longer contains is cancelled.
    assert_eq!(import().stdout, "1 new, 0 changed, 0 as before, 1 removed, 0 left out\n");
    let away = "error: the server answers with status 503\nhint: the events of the last import are kept; try again later\n";
    assert_eq!(import().stderr, away);
    let forgotten = home.run(["events", "forget", "ann", &url], "");
    assert_eq!(forgotten.stdout, format!("{url}: 1 event removed, 0 notifications cancelled\n"));
    assert_eq!(import().stdout, "0 new, 1 changed, 0 as before, 0 removed, 0 left out\n");
    let asked = asked.join().unwrap();
    assert!(!asked[4].contains("if-none-match"), "{asked:?}");
    assert!(!asked[0].contains("if-none-match") && asked[1].contains("if-none-match: \"v1\""), "{asked:?}");
}

/// An HTTP response with a body and more headers.
fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A `multistatus` of these parts.
fn multistatus(parts: &[String]) -> String {
    let body = format!(
        "<multistatus xmlns=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\">{}</multistatus>",
        parts.concat()
    );
    response("207 Multi-Status", "", &body)
}

/// A resource of the calendar at `/feed.ics/`, with its version and with its event where there is one.
fn resource(name: &str, etag: &str, event: Option<&str>) -> String {
    let text = event.map(|event| format!("<c:calendar-data>{}</c:calendar-data>", calendar(&[event])));
    format!(
        "<response><href>/feed.ics/{name}</href><propstat><prop><getetag>{etag}</getetag>{}</prop>\
         <status>HTTP/1.1 200 OK</status></propstat></response>",
        text.unwrap_or_default()
    )
}

fn failed_resource(name: &str, status: &str) -> String {
    format!("<response><href>/feed.ics/{name}</href><status>HTTP/1.1 {status}</status></response>")
}

/// An event in three days, of this name and title.
fn soon(name: &str, title: &str) -> String {
    format!("UID:{name}\r\nDTSTART;TZID=Europe/Berlin:{}\r\nSUMMARY:{title}", berlin_time_in(3, "1400"))
}

fn titles(home: &Home) -> Vec<String> {
    let mut titles: Vec<_> = occurrences(home, "ann").into_iter().map(|(title, _)| title).collect();
    titles.sort();
    titles
}

#[test]
fn a_caldav_answer_that_is_cut_off_or_failed_changes_nothing() {
    let (a, b, changed) = (soon("a", "A"), soon("b", "B"), soon("b", "B later"));
    let whole = multistatus(&[resource("a", "1", None), resource("b", "2", None)]);
    let (_, body) = whole.split_once("\r\n\r\n").unwrap();
    let (url, asked) = server(vec![
        whole.clone(),
        multistatus(&[resource("a", "1", Some(&a)), resource("b", "2", Some(&b))]),
        response("207 Multi-Status", "", &body[..body.len() / 2]),
        response("207 Multi-Status", "", "<multistatus xmlns=\"DAV:\"><response>"),
        multistatus(&[resource("a", "1", None), failed_resource("b", "503 Service Unavailable")]),
        // The new version of one resource is named as that of another.
        multistatus(&[resource("a", "1", None), resource("b", "1", None)]),
        multistatus(&[resource("b", "1", Some(&changed))]),
        // What was listed and is not answered stays.
        multistatus(&[resource("a", "3", None), resource("b", "1", None)]),
        multistatus(&[]),
        multistatus(&[]),
        multistatus(&[resource("b", "1", None)]),
    ]);
    let home = home();
    let import = || home.run(["events", "import", "ann", &format!("{url}/"), "--caldav"], "");
    assert_eq!(import().stdout, "2 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    let not_caldav = "error: the server sent no complete CalDAV answer from that address; nothing was changed\n\
                      hint: if the address is an `.ics` file, import it without `--caldav`\n";
    assert_eq!(import().stderr, not_caldav);
    assert_eq!(import().stderr, not_caldav);
    let failed = "error: the server answers with status 503 for `/feed.ics/b`; nothing was changed\n\
                  hint: the events of the last import are kept; try again later\n";
    assert_eq!(import().stderr, failed);
    assert_eq!(titles(&home), ["A", "B"]);
    assert_eq!(import().stdout, "0 new, 1 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(titles(&home), ["A", "B later"]);
    assert_eq!(import().stdout, "0 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(titles(&home), ["A", "B later"]);
    assert_eq!(import().stderr, not_caldav, "a collection lists at least itself");
    assert_eq!(titles(&home), ["A", "B later"]);
    assert_eq!(import().stdout, "0 new, 0 changed, 0 as before, 1 removed, 0 left out\n");
    assert_eq!(titles(&home), ["B later"]);
    let asked = asked.join().unwrap();
    assert!(asked[6].contains("<d:href>/feed.ics/b</d:href></c:calendar-multiget>"), "{}", asked[6]);
}

#[test]
fn a_caldav_calendar_is_asked_for_its_changes_since_the_last_import() {
    let (a, b, changed) = (soon("a", "A"), soon("b", "B"), soon("b", "B later"));
    let token = |name: &str| format!("<sync-token>{name}</sync-token>");
    let itself = "<response><href>/feed.ics/</href><propstat><prop><resourcetype><collection/></resourcetype>\
                  <sync-token>one&amp;</sync-token></prop><status>HTTP/1.1 200 OK</status></propstat></response>";
    let (url, asked) = server(vec![
        multistatus(&[itself.to_owned(), resource("a", "1", None), resource("b", "1", None)]),
        multistatus(&[resource("a", "1", Some(&a)), resource("b", "1", Some(&b))]),
        // The answer comes in two parts.
        multistatus(&[
            failed_resource("a", "404 Not Found"),
            failed_resource("", "507 Insufficient Storage"),
            token("two"),
        ]),
        multistatus(&[resource("b", "2", None), token("three")]),
        // The change is listed, and its text is missing.
        multistatus(&[]),
        multistatus(&[resource("b", "2", None), token("three")]),
        multistatus(&[resource("b", "2", Some(&changed))]),
        multistatus(&[token("three")]),
        // The server no longer knows the version.
        response("403 Forbidden", "", "<error xmlns=\"DAV:\"><valid-sync-token/></error>"),
        multistatus(&[resource("b", "2", None)]),
    ]);
    let home = home();
    let import = || home.run(["events", "import", "ann", &format!("{url}/"), "--caldav"], "").stdout;
    assert_eq!(import(), "2 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(import(), "0 new, 0 changed, 0 as before, 1 removed, 0 left out\n");
    assert_eq!(import(), "0 new, 1 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(titles(&home), ["B later"]);
    assert_eq!(import(), "nothing has changed since the last time\n");
    assert_eq!(import(), "nothing has changed since the last time\n");
    let asked = asked.join().unwrap();
    for (request, version) in [(2, "one&amp;"), (3, "two"), (5, "one&amp;"), (7, "three"), (8, "three")] {
        assert!(
            asked[request].contains(&format!("<sync-token>{version}</sync-token>")),
            "{}",
            asked[request]
        );
    }
    assert!(asked[9].starts_with("propfind "), "{}", asked[9]);
}

#[test]
fn an_address_with_a_password_is_refused_and_not_shown() {
    let home = home();
    for url in [
        "http://ann:topsecret@127.0.0.1:9/a.ics",
        "webcal://ann:topsecret@localhost?x",
        "https://ann@localhost",
    ] {
        let refused = home.run(["events", "import", "ann", url], "");
        let expected = "error: the address has a login in it\n\
                        hint: leave it out, and log in with `--login NAME --password-file FILE`\n";
        assert_eq!((refused.status.code(), refused.stderr.as_str()), (Some(2), expected), "{url}");
    }
    assert!(!home.run(["events", "calendars", "ann"], "").stdout.contains("topsecret"));
}

#[test]
fn a_hub_reads_an_imported_address_again_by_itself() {
    let file = |title: &str| {
        response(
            "200 OK",
            "Last-Modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n",
            &calendar(&[&soon("a", title)]),
        )
    };
    let (url, asked) = server(vec![
        file("A"),
        response("503 Later", "Retry-After: 2\r\n", ""),
        response("304 Not Modified", "", ""),
        file("A later"),
    ]);
    let home = home();
    let imported = home.run(["events", "import", "ann", &url, "--every", "1s"], "");
    assert!(imported.status.success(), "{}", imported.stderr);
    let calendars = || {
        let listed = home.run(["events", "calendars", "ann", "--json"], "");
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        listed["items"][0].clone()
    };
    assert_eq!(calendars()["every_seconds"], 1);
    let hub = Serving::open_hub(&home);
    wait_for("the feed is read again", || (titles(&home) == ["A later"]).then_some(()));
    assert_eq!(calendars()["failure"], Value::Null);
    let asked = asked.join().unwrap();
    assert!(asked[1].contains("if-modified-since: mon, 23 nov 2026 10:00:00 gmt"), "{}", asked[1]);
    // The server is gone.
    wait_for("the failure is shown", || calendars()["failure"].as_str().map(|_| ()));
    let page = hub.page("/calendar");
    for text in ["Imported calendars", "feed.ics", "Last read ", "127.0.0.1 cannot be reached"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let shown = home.run(["events", "calendars", "ann"], "").stdout;
    assert!(
        shown.starts_with("CALENDAR") && shown.contains("because 127.0.0.1 cannot be reached"),
        "{shown}"
    );
    assert!(home.run(["events", "forget", "ann", &url], "").status.success());
    assert_eq!(calendars()["next_at"], Value::Null);
    assert!(!hub.page("/calendar").contains("Imported calendars"));
}

#[test]
fn a_change_that_the_server_took_holds_when_the_calendar_cannot_be_read_again() {
    let event = "UID:a\r\nDTSTART:20310701T120000Z\r\nDURATION:PT1H\r\nSUMMARY:Budget";
    let away = || response("503 Later", "", "");
    let (plan, tea) = (event.replace("Budget", "Plan"), event.replace("UID:a\r\n", "UID:b\r\n"));
    let found =
        |etag: &str, event: &str| response("200 OK", &format!("ETag: {etag}\r\n"), &calendar(&[event]));
    let (url, asked) = server(vec![
        multistatus(&[resource("a", "1", None)]),
        multistatus(&[resource("a", "1", Some(event))]),
        response("201 Created", "ETag: 9\r\n", ""),
        away(),
        found("9", &tea),
        response("204 No Content", "", ""),
        away(),
        found("1", event),
        response("204 No Content", "", ""),
        away(),
        // Its version is not known, so that the calendar is read first.
        multistatus(&[resource("a", "2", None)]),
        multistatus(&[resource("a", "2", Some(&plan))]),
        found("2", &plan),
        response("204 No Content", "ETag: 3\r\n", ""),
        away(),
        found("3", &plan),
        response("204 No Content", "", ""),
        multistatus(&[]),
    ]);
    let home = home();
    let import = ["events", "import", "ann", &format!("{url}/"), "--caldav", "--write"];
    assert!(home.run(import, "").status.success());
    let listed = || home.run(["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"], "").stdout;
    let added = home.run(["events", "add", "Tea 3.7.2031 15:00", "--calendar", "feed.ics"], "");
    assert!(added.status.success() && listed().contains("Tea"), "{}", added.stderr);
    let id = |title: &str| {
        let listed = listed();
        let line = listed.lines().find(|line| line.contains(title)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    let edit = |old: &str, new: &str| {
        let edited = home.run(["events", "edit", &id(old), "--title", new], "");
        assert!(edited.status.success() && listed().contains(new), "{}", edited.stderr);
    };
    edit("Tea", "Green tea");
    edit("Budget", "Plan");
    edit("Plan", "Later plan");
    let cancelled = home.run(["events", "cancel", &id("Later plan")], "");
    assert!(cancelled.status.success() && !listed().contains("plan"), "{}", cancelled.stderr);
    let asked = asked.join().unwrap();
    assert!(asked[2].contains("summary:tea") && asked[8].contains("summary:plan"), "{asked:?}");
    let path = |at: usize| asked[at].split(' ').nth(1).unwrap();
    assert_eq!((path(2), path(2)), (path(4), path(5)));
    assert!(asked[13].contains("if-match: 2\r\n") && asked[16].starts_with("delete"), "{asked:?}");
    assert!(asked[16].contains("if-match: 3\r\n"), "{asked:?}");
}

#[test]
fn whether_a_server_took_a_new_event_may_be_unknown() {
    let (url, asked) = server(vec![
        multistatus(&[resource("a", "1", None)]),
        multistatus(&[resource("a", "1", Some(&soon("a", "A")))]),
        String::new(),
        multistatus(&[resource("a", "1", None)]),
    ]);
    let home = home();
    let import = ["events", "import", "ann", &format!("{url}/"), "--caldav", "--write"];
    assert!(home.run(import, "").status.success());
    let added = home.run(["events", "add", "Tea 3.7.2031 15:00", "--calendar", "feed.ics"], "");
    assert!(
        added.stderr.starts_with("error: it is unknown whether the server stored the event: ")
            && added.stderr.ends_with("hint: check the calendar before you add it again\n"),
        "{}",
        added.stderr
    );
    let asked = asked.join().unwrap();
    assert!(asked[2].starts_with("put ") && asked[3].starts_with("propfind "), "{asked:?}");
}

#[test]
fn an_event_that_is_added_again_after_a_lost_answer_is_the_same_one() {
    let (url, asked) = server(vec![
        multistatus(&[resource("a", "1", None)]),
        multistatus(&[resource("a", "1", Some(&soon("a", "A")))]),
        // Neither an answer nor a look at the calendar.
        String::new(),
        response("503 Later", "", ""),
        // The first try has stored it.
        response("412 Precondition Failed", "", ""),
        response("503 Later", "", ""),
        response("201 Created", "ETag: 9\r\n", ""),
        response("503 Later", "", ""),
    ]);
    let home = home();
    let import = ["events", "import", "ann", &format!("{url}/"), "--caldav", "--write"];
    assert!(home.run(import, "").status.success());
    let add = |title: &str| {
        home.run(["events", "add", &format!("{title} 3.7.2031 15:00"), "--calendar", "feed.ics"], "")
    };
    for _ in 0..2 {
        assert!(!add("Tea").status.success());
    }
    let other = add("Coffee");
    assert!(other.status.success(), "{}", other.stderr);
    // It is known by now, and is not sent again.
    assert_eq!(add("Coffee").stdout, other.stdout);
    let asked = asked.join().unwrap();
    let put = |at: usize| asked[at].split(' ').take(2).collect::<Vec<_>>();
    assert!(put(2) == put(4) && put(4) != put(6) && put(6)[0] == "put", "{asked:?}");
    assert!([2, 4].iter().all(|at| asked[*at].contains("if-none-match: *\r\n")), "{asked:?}");
}

#[test]
fn a_collection_under_a_second_address_is_refused() {
    let list = || multistatus(&[resource("a", "1", None)]);
    let (url, asked) = server(vec![
        list(),
        multistatus(&[resource("a", "1", Some(&soon("a", "A")))]),
        list(),
        list(),
        multistatus(&[resource("a", "1", Some(&soon("a", "A")))]),
    ]);
    let home = home();
    let other = url.replace("127.0.0.1", "127.1");
    let import = |url: &str| home.run(["events", "import", "ann", &format!("{url}/"), "--caldav"], "");
    assert!(import(&url).status.success());
    let refused = import(&other).stderr;
    let expected = format!("error: the calendar at that address was already imported from {url}/\n");
    assert!(refused.starts_with(&expected), "{refused}");
    assert_eq!(titles(&home), ["A"]);
    assert!(home.run(["events", "forget", "ann", &url], "").status.success());
    let imported = import(&other);
    assert!(imported.status.success(), "{}", imported.stderr);
    asked.join().unwrap();
    assert_eq!(titles(&home), ["A"]);
}

#[test]
fn a_title_of_several_lines_is_imported_as_one() {
    let home = home();
    home.write("m.ics", calendar(&[&soon("a", "Hi\\nBcc: x\\n\\nthere")]));
    imported(&home, "ann", "m.ics");
    assert_eq!(titles(&home), ["Hi Bcc: x there"]);
}

#[test]
fn a_message_cancels_an_event_in_the_calendar_that_has_it() {
    let home = home();
    let zone = "TZID=Europe/Berlin";
    let [first, second, third] = [2, 3, 4].map(|day| berlin_time_in(day, "1000"));
    let series = format!(
        "UID:s\r\nSUMMARY:Stand-up\r\nSEQUENCE:1\r\nDTSTART;{zone}:{first}\r\nRRULE:FREQ=DAILY;COUNT=3"
    );
    let single = format!("UID:o\r\nSUMMARY:Tea\r\nDTSTART;{zone}:{third}");
    home.write("work.ics", calendar(&[&series]));
    imported(&home, "ann", "work.ics");
    home.run(["events", "import", "ann", "-"], calendar(&[&single]));
    assert_eq!(titles(&home), ["Stand-up", "Stand-up", "Stand-up", "Tea"]);
    let message = |lines: &str| {
        let text = calendar(&[lines]).replace("VERSION:2.0", "VERSION:2.0\r\nMETHOD:CANCEL");
        home.run(["events", "import", "ann", "-"], text).stdout
    };
    let one = format!("UID:s\r\nRECURRENCE-ID;{zone}:{second}\r\nDTSTART;{zone}:{second}");
    assert_eq!(
        message(&format!("{one}\r\nSEQUENCE:1")),
        "-: 0 new, 2 changed, 0 as before, 0 removed, 0 left out\n"
    );
    assert_eq!(titles(&home), ["Stand-up", "Stand-up", "Tea"]);
    message(&format!("UID:o\r\nDTSTART;{zone}:{third}"));
    assert_eq!(titles(&home), ["Stand-up", "Stand-up"]);
    // The series was changed since this message was sent.
    message(&format!("UID:s\r\nSEQUENCE:0\r\nDTSTART;{zone}:{first}"));
    assert_eq!(titles(&home), ["Stand-up", "Stand-up"]);
    // A calendar on a server has no say in the others.
    let whole = format!("UID:s\r\nSEQUENCE:2\r\nDTSTART;{zone}:{first}");
    let text = calendar(&[&whole]).replace("VERSION:2.0", "VERSION:2.0\r\nMETHOD:CANCEL");
    let (url, asked) = server(vec![response("200 OK", "", &text)]);
    home.run(["events", "import", "ann", &url], "");
    asked.join().unwrap();
    assert_eq!(titles(&home), ["Stand-up", "Stand-up"]);
    message(&whole);
    assert!(titles(&home).is_empty());
}

#[test]
fn an_older_version_of_an_event_changes_nothing_and_says_so() {
    let home = home();
    let message = |method: &str, title: &str, version: &str| {
        let start = berlin_time_in(3, "1000");
        let event = format!("UID:o\r\nSUMMARY:{title}\r\n{version}\r\nDTSTART;TZID=Europe/Berlin:{start}");
        let text = calendar(&[&event]).replace("VERSION:2.0", &format!("VERSION:2.0\r\nMETHOD:{method}"));
        home.run(["events", "import", "ann", "-"], text)
    };
    let stale = "-:5: ignored: the calendar has a later version of the event (`SEQUENCE` and `DTSTAMP`)\n";
    let nothing = "-: 0 new, 0 changed, 0 as before, 0 removed, 0 left out\n";
    let changed = "-: 0 new, 1 changed, 0 as before, 0 removed, 0 left out\n";
    let cancels_nothing = message("CANCEL", "Tea", "SEQUENCE:0");
    let unknown = "-:5: ignored: it cancels an event that is in no calendar of the user\n";
    assert_eq!((cancels_nothing.stdout.as_str(), cancels_nothing.stderr.as_str()), (nothing, unknown));
    message("REQUEST", "Tea at two", "SEQUENCE:2\r\nDTSTAMP:20261120T100000Z");
    for (method, version) in [
        ("REQUEST", "SEQUENCE:0\r\nDTSTAMP:20261123T100000Z"),
        ("REQUEST", "SEQUENCE:2\r\nDTSTAMP:20261119T100000Z"),
        ("CANCEL", "SEQUENCE:1"),
        ("CANCEL", "SEQUENCE:2\r\nDTSTAMP:20261101T100000Z"),
    ] {
        let ignored = message(method, "Tea at one", version);
        assert_eq!(
            (ignored.stdout.as_str(), ignored.stderr.as_str()),
            (nothing, stale),
            "{method} {version}"
        );
        assert_eq!(titles(&home), ["Tea at two"]);
    }
    assert_eq!(message("REQUEST", "Tea at three", "SEQUENCE:2\r\nDTSTAMP:20261121T100000Z").stdout, changed);
    assert_eq!(titles(&home), ["Tea at three"]);
    assert_eq!(message("CANCEL", "Tea", "SEQUENCE:3").stdout, changed);
    assert_eq!(message("REQUEST", "Tea", "SEQUENCE:2\r\nDTSTAMP:20261122T100000Z").stderr, stale);
    assert!(titles(&home).is_empty());
    assert_eq!(message("REQUEST", "Tea again", "SEQUENCE:4").stdout, changed);
    assert_eq!(titles(&home), ["Tea again"]);
}

/// Debian's CalDAV server, with its data in the home.
struct Radicale {
    child: Child,
    address: String,
}

impl Radicale {
    fn start(home: &Home) -> Option<Self> {
        let without = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
        if without.split(',').any(|name| name.trim() == "radicale") {
            return None;
        }
        let data = home.path().join("radicale");
        let config = format!(
            "[logging]\nlevel = info\n[server]\nhosts = 127.0.0.1:0\n[auth]\ntype = htpasswd\nhtpasswd_filename = {}\nhtpasswd_encryption = plain\n\
             [storage]\nfilesystem_folder = {}\n",
            home.write("passwords", "ann:secret\n").display(),
            data.display()
        );
        let config = home.write("radicale.conf", config);
        let child = Command::new("radicale")
            .arg("--config")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the Debian package radicale is needed, or ADJUTANT_TEST_WITHOUT=radicale");
        let mut radicale = Self { child, address: String::new() };
        let (send, lines) = channel();
        let log = BufReader::new(radicale.child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        loop {
            let line = lines.recv_timeout(DEADLINE).expect("radicale listens");
            if let Some((_, address)) = line.split_once("Listening on '") {
                radicale.address = address.trim_end_matches('\'').replace(['[', ']'], "");
                return Some(radicale);
            }
        }
    }

    /// Sends a request as ann and returns the status line.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        self.answer(method, path, body).lines().next().unwrap().to_owned()
    }

    /// Sends a request as ann and returns the whole answer.
    fn answer(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\nConnection: close\r\n\
             Content-Type: text/calendar\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Radicale {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn events_of_a_caldav_calendar_are_changed_on_its_server() {
    let home = home();
    let Some(radicale) = Radicale::start(&home) else { return };
    assert!(radicale.ask("MKCALENDAR", "/ann/team/", "").contains(" 201 "));
    let event = |title: &str| {
        format!("UID:m\r\nDTSTART:20310701T120000Z\r\nDURATION:PT1H\r\nX-COLOUR:red\r\nSUMMARY:{title}")
    };
    assert!(radicale.ask("PUT", "/ann/team/m%20x.ics", &calendar(&[&event("Budget")])).contains(" 201 "));
    let secret = home.write("secret", "secret\n").display().to_string();
    let url = format!("http://{}/ann/team/", radicale.address);
    let import = |more: &[&str]| {
        let login = ["--caldav", "--login", "ann", "--password-file", &secret];
        let output = home.run([&["events", "import", "ann", &url][..], &login, more].concat(), "");
        assert!(output.status.success(), "{}", output.stderr);
    };
    let id = |title: &str| {
        let listed = home.run(["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"], "").stdout;
        let line = listed.lines().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{listed}"));
        line.split_whitespace().last().unwrap().to_owned()
    };
    import(&[]);
    let m = id("Budget");
    let refused = home.run(["events", "edit", &m, "--title", "x"], "");
    assert!(
        refused.stderr.starts_with("error: event: it is imported from team; change it there"),
        "{}",
        refused.stderr
    );

    import(&["--write"]);
    let changed = home.run(["events", "edit", &m, "--title", "Plan", "--when", "2.7.2031 9:00"], "");
    assert_eq!(changed.stderr, "changed: Plan on Wednesday, 2031-07-02 09:00 to 10:00 (Europe/Berlin)\n");
    let there = radicale.answer("GET", "/ann/team/m%20x.ics", "");
    for line in ["SUMMARY:Plan", "DTSTART:20310702T070000Z", "X-COLOUR:red", "SEQUENCE:1"] {
        assert!(there.contains(&format!("{line}\r\n")), "{line}: {there}");
    }

    // Somebody else was quicker: nothing is overwritten, and the other version is read.
    for (title, act) in
        [("Other", &["events", "edit", &m, "--title", "Mine"][..]), ("Third", &["events", "cancel", &m])]
    {
        let put = radicale.ask("PUT", "/ann/team/m%20x.ics", &calendar(&[&event(title)]));
        assert!(put.contains(" 201 "), "{put}");
        let conflict = home.run(act, "");
        let message =
            format!("error: another program changed the event, which is now `{title}`; review it, ");
        assert!(conflict.stderr.starts_with(&message), "{act:?}: {}{}", conflict.stdout, conflict.stderr);
        let there = radicale.answer("GET", "/ann/team/m%20x.ics", "");
        assert!(there.contains(&format!("SUMMARY:{title}\r\n")), "{there}");
    }

    let lost = home.run(["events", "add", "Lost 4.7.2031 15:00", "--calendar", "team"], "").stdout;
    let shown: Value =
        serde_json::from_str(&home.run(["events", "show", lost.trim(), "--json"], "").stdout).unwrap();
    radicale.ask("DELETE", &format!("/ann/team/{}.ics", shown["uid"].as_str().unwrap()), "");
    let deleted = home.run(["events", "edit", lost.trim(), "--title", "Mine"], "");
    assert!(
        deleted.stderr.starts_with("error: another program has deleted the event\n"),
        "{}",
        deleted.stderr
    );

    let added = home.run(["events", "add", "Tea 3.7.2031 15:00", "--calendar", "team"], "");
    assert!(added.status.success(), "{}", added.stderr);
    let tea = id("Tea");
    let shown: Value =
        serde_json::from_str(&home.run(["events", "show", &tea, "--json"], "").stdout).unwrap();
    let path = format!("/ann/team/{}.ics", shown["uid"].as_str().unwrap());
    assert!(radicale.answer("GET", &path, "").contains("SUMMARY:Tea\r\n"));
    home.run(["events", "cancel", &tea], "");
    assert!(radicale.ask("GET", &path, "").contains(" 404 "), "it is deleted there");
    let unknown = home.run(["events", "add", "Tea 3.7.2031 15:00", "--calendar", "tam"], "");
    assert!(unknown.stderr.starts_with("error: no calendar `tam` may be changed\n"), "{}", unknown.stderr);
}

#[test]
fn a_caldav_calendar_is_synchronized_by_its_changes() {
    let home = home();
    let Some(radicale) = Radicale::start(&home) else { return };
    assert!(radicale.ask("MKCALENDAR", "/ann/team/", "").contains(" 201 "));
    let put = |name: &str, event: &str| {
        let status = radicale.ask("PUT", &format!("/ann/team/{name}.ics"), &calendar(&[event]));
        assert!(status.contains(" 201 "), "{status}");
    };
    put("m", SERIES);
    put("n", &SERIES.replace("m@", "n@"));
    let secret = home.write("secret", "secret\n");
    let url = format!("http://{}/ann/team/", radicale.address);
    let pull = || {
        let password = secret.to_str().unwrap();
        home.run(
            ["events", "import", "ann", &url, "--caldav", "--login", "ann", "--password-file", password],
            "",
        )
    };
    let first = pull();
    assert_eq!(first.stdout, "2 new, 0 changed, 0 as before, 0 removed, 0 left out\n", "{}", first.stderr);
    assert_eq!(pull().stdout, "nothing has changed since the last time\n");
    let at = |path: &str| {
        let (url, password) = (format!("http://{}{path}", radicale.address), secret.to_str().unwrap());
        let login = ["--caldav", "--login", "ann", "--password-file", password];
        home.run([&["events", "import", "ann", &url][..], &login].concat(), "")
    };
    assert_eq!(
        at("/ann/team").stdout,
        "nothing has changed since the last time\n",
        "it is the same calendar"
    );
    let outside = at("/ann/");
    assert!(!outside.status.success());
    assert_eq!(
        outside.stderr,
        "error: the address is a list of calendars without events; choose one of: /ann/team/\nhint: name one of these calendars\n"
    );
    assert!(radicale.ask("MKCALENDAR", "/ann/empty/", "").contains(" 201 "));
    assert_eq!(at("/ann/empty/").stdout, "0 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    put("m", &SERIES.replace("T140000", "T160000"));
    assert!(radicale.ask("DELETE", "/ann/team/n.ics", "").contains(" 200 "));
    assert_eq!(pull().stdout, "0 new, 1 changed, 0 as before, 1 removed, 0 left out\n");
    // An unreadable version is reported each time, and cancels nothing.
    put("m", &format!("{SERIES}\r\nRRULE:FREQ=MONTHLY;BYWEEKNO=2"));
    for _ in 0..2 {
        let broken = pull();
        assert_eq!(broken.stdout, "0 new, 0 changed, 0 as before, 0 removed, 1 left out\n");
        assert!(
            broken.stderr.contains("left out: the rule `FREQ=MONTHLY;BYWEEKNO=2` cannot be followed"),
            "{}",
            broken.stderr
        );
    }
    let refused = home.run(["events", "import", "ann", &url, "--caldav"], "");
    let who = "error: the server answers with status 401: it wants a name and a password\n\
               hint: log in with `--login NAME --password-file FILE`\n";
    assert_eq!(refused.stderr, who);
    home.write("secret", "another\n");
    let who = "error: the server answers with status 401: it does not accept the name and the password\n\
               hint: log in with `--login NAME --password-file FILE`\n";
    assert_eq!(pull().stderr, who);
}

fn imported(home: &Home, user: &str, file: &str) -> String {
    let done = home.run(["events", "import", user, file], "");
    assert!(done.status.success(), "{}", done.stderr);
    done.stdout
}

fn exported(home: &Home, user: &str) -> String {
    let done = home.run(["events", "export", user], "");
    assert!(done.status.success(), "{}", done.stderr);
    done.stdout
}

/// The occurrences of the next days, by title and instant.
fn occurrences(home: &Home, user: &str) -> Vec<(String, String)> {
    let listed = home.run(["events", "list", "--user", user, "--days-forward", "90", "--json"], "");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(item, "title"), text(item, "start_ts")))
        .collect()
}

/// The local time in Berlin, this many days from now.
fn berlin_time_in(days: i64, time: &str) -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    now.checked_add(jiff::ToSpan::days(days)).unwrap().strftime(&format!("%Y%m%dT{time}00")).to_string()
}

#[test]
fn a_changed_occurrence_replaces_its_original_in_any_import_order() {
    let home = home();
    let zone = "TZID=Europe/Berlin";
    let series = format!(
        "UID:s\r\nSUMMARY:Stand-up\r\nDTSTART;{zone}:{}\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3",
        berlin_time_in(2, "1000")
    );
    let moved = format!(
        "UID:s\r\nSUMMARY:Moved\r\nRECURRENCE-ID;{zone}:{}\r\nDTSTART;{zone}:{}\r\nDURATION:PT1H",
        berlin_time_in(3, "1000"),
        berlin_time_in(3, "1500")
    );
    let titles = || occurrences(&home, "ann").into_iter().map(|(title, _)| title).collect::<Vec<_>>();
    home.write("s.ics", calendar(&[&series]));
    imported(&home, "ann", "s.ics");
    assert_eq!(titles(), ["Stand-up", "Stand-up", "Stand-up"]);
    home.write("s.ics", calendar(&[&series, &moved]));
    imported(&home, "ann", "s.ics");
    assert_eq!(titles(), ["Stand-up", "Moved", "Stand-up"], "the start it replaces does not happen too");
    home.write("s.ics", calendar(&[&series, &format!("{moved}\r\nSTATUS:CANCELLED")]));
    imported(&home, "ann", "s.ics");
    assert_eq!(titles(), ["Stand-up", "Stand-up"]);
    // A cancelled occurrence stays cancelled in the export.
    home.run(["users", "add", "Bo", "--id", "bo", "--time-zone", "Europe/Berlin"], "");
    home.write("out.ics", exported(&home, "ann"));
    imported(&home, "bo", "out.ics");
    assert_eq!(occurrences(&home, "ann"), occurrences(&home, "bo"));
    home.write("s.ics", calendar(&[&series]));
    assert!(
        imported(&home, "ann", "s.ics").ends_with("0 new, 1 changed, 0 as before, 1 removed, 0 left out\n")
    );
    assert_eq!(titles(), ["Stand-up", "Stand-up", "Stand-up"], "and as it was when the change is undone");
}

#[test]
fn a_change_of_this_and_future_occurrences_holds_in_any_import_order() {
    let home = home();
    let zone = "TZID=Europe/Berlin";
    let series = format!(
        "UID:s\r\nSUMMARY:Stand-up\r\nDTSTART;{zone}:{}\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=4",
        berlin_time_in(2, "1000")
    );
    let later = format!(
        "UID:s\r\nSUMMARY:Later\r\nRECURRENCE-ID;RANGE=THISANDFUTURE;{zone}:{}\r\nDTSTART;{zone}:{}\r\nDURATION:PT1H",
        berlin_time_in(4, "1000"),
        berlin_time_in(4, "1500")
    );
    home.write("s.ics", calendar(&[&series, &later]));
    assert!(
        imported(&home, "ann", "s.ics").ends_with("2 new, 0 changed, 0 as before, 0 removed, 0 left out\n")
    );
    let found = occurrences(&home, "ann");
    let shown: Vec<_> = found.iter().map(|(title, start)| (title.as_str(), &start[11..16])).collect();
    assert_eq!(shown, [("Stand-up", "10:00"), ("Stand-up", "10:00"), ("Later", "15:00"), ("Later", "15:00")]);
    assert!(
        imported(&home, "ann", "s.ics").ends_with("0 new, 0 changed, 2 as before, 0 removed, 0 left out\n")
    );
    home.run(["users", "add", "Bo", "--id", "bo", "--time-zone", "Europe/Berlin"], "");
    home.write("out.ics", exported(&home, "ann"));
    imported(&home, "bo", "out.ics");
    assert_eq!(occurrences(&home, "bo"), found);
    // Without its series a change is reported, and applies to its own occurrence only.
    home.write("s.ics", calendar(&[&later]));
    let output = home.run(["events", "import", "ann", "s.ics"], "");
    assert!(
        output.status.success()
            && output.stdout.ends_with("0 new, 1 changed, 0 as before, 1 removed, 0 left out\n"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    assert!(
        output.stderr.contains("s.ics:4: imported, but: it changes the rest of a series"),
        "{}",
        output.stderr
    );
    assert_eq!(occurrences(&home, "ann"), found[2..3]);
}

#[test]
fn a_removed_event_is_cancelled_while_a_broken_one_keeps_its_last_state() {
    let home = home();
    let event = |uid: &str, length: &str| {
        let start = berlin_time_in(4, "1000");
        format!("UID:{uid}\r\nSUMMARY:{uid}\r\nDTSTART;TZID=Europe/Berlin:{start}\r\nDURATION:{length}")
    };
    let [item, two, three] = ["one", "two", "three"].map(|uid| event(uid, "PT1H"));
    home.write("s.ics", calendar(&[&item, &two, &three]));
    imported(&home, "ann", "s.ics");
    for (user, zone) in [(&["--user", "ann"][..], "Europe/Berlin"), (&[], "Europe/Berlin")] {
        let listed = home.run([&["events", "list"][..], user].concat(), "").stdout;
        assert!(listed.starts_with(&format!("START ({zone})")), "{listed}");
    }
    let standing = || {
        let listed = home.run(["events", "list", "--user", "ann", "--json"], "");
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let mut found: Vec<_> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect();
        found.sort();
        found
    };
    let repeated = |events: &[&str]| {
        home.write("s.ics", calendar(events));
        let output = home.run(["events", "import", "ann", "s.ics"], "");
        assert_eq!(output.status.code(), Some(1), "{}", output.stdout);
        output.stdout
    };
    let broken = event("two", "long");
    assert!(repeated(&[&broken, &three]).ends_with("0 new, 0 changed, 1 as before, 1 removed, 1 left out\n"));
    assert_eq!(standing(), ["three", "two"], "its last version that could be read stays");
    // A copy that was cut off says nothing of the others.
    let whole = calendar(&[&item]);
    home.write("s.ics", &whole[..whole.len() - "END:VCALENDAR\r\n".len()]);
    let cut = home.run(["events", "import", "ann", "s.ics"], "");
    assert_eq!(cut.status.code(), Some(1));
    assert!(cut.stderr.starts_with("error: s.ics: the calendar is cut off"), "{}", cut.stderr);
    assert_eq!(standing(), ["three", "two"]);
    // A broken event without a UID may be any of them.
    let nameless = broken.replace("UID:two\r\n", "");
    assert!(repeated(&[&nameless]).ends_with("0 new, 0 changed, 0 as before, 0 removed, 1 left out\n"));
    assert_eq!(standing(), ["three", "two"]);
}

#[test]
fn a_file_that_is_not_a_calendar_does_not_fail_the_import_of_its_folder() {
    let home = home();
    home.write("all/a.ics", "<html>Log in first</html>");
    home.write("all/b.ics", calendar(&[SERIES]));
    home.write("all/notes.txt", "no calendar, and does not say so");
    let output = home.run(["events", "import", "ann", "all"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, "all/b.ics: 1 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    assert!(output.stderr.contains("left out: all/a.ics: this is not a calendar"), "{}", output.stderr);
    let output = home.run(["events", "import", "nobody", "all"], "");
    assert!(output.stderr.starts_with("error: unknown user `nobody`"), "{}", output.stderr);
}

#[test]
fn events_of_a_deleted_file_are_cancelled() {
    let home = home();
    let event = |uid: &str| {
        calendar(&[&format!("UID:{uid}\r\nDTSTART:{}\r\nSUMMARY:Budget", berlin_time_in(5, "1400"))])
    };
    for (file, uid) in [("all/a.ics", "a"), ("all/b.ics", "b"), ("all/c.ics", "c"), ("d.ics", "d")] {
        home.write(file, event(uid));
    }
    for from in ["all", "d.ics"] {
        assert!(home.run(["events", "import", "ann", from], "").status.success());
    }
    let names = || {
        let exported = exported(&home, "ann");
        let names = exported.lines().filter_map(|line| line.strip_prefix("UID:"));
        // An alarm has a UID as well.
        let mut names: Vec<_> = names.filter(|name| name.len() == 1).map(str::to_owned).collect();
        names.sort();
        names
    };
    std::fs::remove_file(home.path().join("all/a.ics")).unwrap();
    std::fs::rename(home.path().join("all/b.ics"), home.path().join("all/b.bak")).unwrap();
    // An unreadable file still exists.
    home.write("all/c.ics", "<html>Log in first</html>");
    home.write("all/e.ics", event("e"));
    let output = home.run(["events", "import", "ann", "all/", "--json"], "");
    let output: Value = serde_json::from_str(&output.stdout).unwrap();
    let output: Vec<_> = output["items"].as_array().unwrap().iter().collect();
    let closed: Vec<_> = output.iter().filter(|item| item["removed"] == 1).collect();
    assert_eq!(closed.len(), 2, "{output:#?}");
    assert!(closed.iter().all(|item| item["cancelled"] == 1), "{closed:#?}");
    assert_eq!(names(), ["c", "d", "e"]);
    let repeated = home.run(["events", "import", "ann", "all"], "");
    assert!(!repeated.stdout.contains("1 removed"), "it is reported once: {}", repeated.stdout);
    // The file is back, and so is its event.
    std::fs::rename(home.path().join("all/b.bak"), home.path().join("all/b.ics")).unwrap();
    home.run(["events", "import", "ann", "all"], "");
    assert_eq!(names(), ["b", "c", "d", "e"]);
    // A folder without files may be a disk that is not mounted.
    for file in ["b", "c", "e"] {
        std::fs::remove_file(home.path().join(format!("all/{file}.ics"))).unwrap();
    }
    let empty = home.run(["events", "import", "ann", "all"], "");
    assert!(!empty.status.success() && empty.stderr.contains("its imported events stay"), "{}", empty.stderr);
    assert_eq!(names(), ["b", "c", "d", "e"]);
}

#[test]
fn a_mistaken_import_can_be_removed() {
    let home = home();
    let event = |uid: &str| {
        calendar(&[&format!("UID:{uid}\r\nDTSTART:{}\r\nSUMMARY:Budget", berlin_time_in(5, "1400"))])
    };
    for (file, uid) in [("all/a.ics", "a"), ("all/b.ics", "b"), ("c.ics", "c")] {
        home.write(file, event(uid));
    }
    let import = |from: &str| home.run(["events", "import", "ann", from], "").stdout;
    let forget = |from: &str| home.run(["events", "forget", "ann", from], "");
    let names = || -> Vec<_> {
        // Events come in the order of random ids.
        let exported = exported(&home, "ann");
        let lines = exported.lines().filter(|line| line.starts_with("UID:") && line.len() == 5);
        let mut names: Vec<_> = lines.map(str::to_owned).collect();
        names.sort();
        names
    };
    assert_eq!(
        forget("c.ics").stderr,
        "error: no event of `ann` came from c.ics\nhint: `adjutant events list` lists the events\n"
    );
    for from in ["all", "c.ics"] {
        import(from);
    }
    let place = home.path().join("all/b.ics");
    let output = home.run(["events", "forget", "ann", "all/b.ics", "--json"], "");
    let output: Value = serde_json::from_str(&output.stdout).unwrap();
    let output = &output["items"][0];
    assert_eq!((&output["from"], &output["removed"]), (&place.to_str().unwrap().into(), &1.into()));
    assert_eq!(output["cancelled"], 1, "{output}");
    assert_eq!(names(), ["UID:a", "UID:c"]);
    let repeated = forget("all/b.ics").stderr;
    assert!(repeated.contains("hint: they came from ") && repeated.contains("c.ics"), "{repeated}");
    // The folder can be removed after its files are gone, and removed calendars can be imported again.
    std::fs::remove_dir_all(home.path().join("all")).unwrap();
    let folder = forget("all/");
    assert!(folder.stdout.ends_with("/all/a.ics: 1 event removed, 1 notification cancelled\n"), "{folder}");
    assert_eq!(names(), ["UID:c"]);
    forget("c.ics");
    assert_eq!(import("c.ics"), "c.ics: 0 new, 1 changed, 0 as before, 0 removed, 0 left out\n");
    assert_eq!(names(), ["UID:c"]);
    let nobody = home.run(["events", "forget", "anne", "c.ics"], "");
    assert!(nobody.stderr.starts_with("error: unknown user `anne`"), "{nobody}");
}

#[test]
fn entries_that_are_not_events_are_named_and_skipped() {
    let home = home();
    let task = "BEGIN:VTODO\r\nUID:t\r\nSUMMARY:Buy nails\r\nBEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM\r\nEND:VTODO\r\n";
    let note = "BEGIN:VJOURNAL\r\nSUMMARY:A day\r\nEND:VJOURNAL\r\n";
    let alarmed = format!("{SERIES}\r\nBEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM");
    let text = calendar(&[&alarmed]).replace("END:VCALENDAR", &format!("{task}{note}{task}END:VCALENDAR"));
    home.write("w.ics", &text);
    let output = home.run(["events", "import", "ann", "w.ics"], "");
    assert!(output.status.success(), "{}", output.stderr);
    assert_eq!(output.stdout, "w.ics: 1 new, 0 changed, 0 as before, 0 removed, 0 left out\n");
    let line = |what: &str| text[..text.find(what).unwrap()].lines().count() + 1;
    assert_eq!(
        output.stderr,
        format!(
            "w.ics:{}: ignored: a `VTODO` is not an event; 1 more like it\n\
             w.ics:{}: ignored: a `VJOURNAL` is not an event\n",
            line("BEGIN:VTODO"),
            line("BEGIN:VJOURNAL")
        )
    );
    // A task without a UID is not an unnamed event: removed events are still cancelled.
    home.write("w.ics", calendar(&[]).replace("END:VCALENDAR", &format!("{note}END:VCALENDAR")));
    let output = home.run(["events", "import", "ann", "w.ics"], "");
    assert_eq!(output.stdout, "w.ics: 0 new, 0 changed, 0 as before, 1 removed, 0 left out\n");
}

#[test]
fn the_documentation_shows_how_broken_parts_are_named() {
    let home = home();
    let (first, second) = (berlin_time_in(2, "1000"), berlin_time_in(3, "1000"));
    let series =
        format!("UID:s\r\nSUMMARY:Daily\r\nDTSTART:{first}\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3");
    let zone = format!("UID:y\r\nDTSTART;TZID=Mars/Base:{first}");
    let change = format!(
        "UID:s\r\nRECURRENCE-ID;RANGE=THISANDPRIOR:{second}\r\nDTSTART:{second}\r\nDURATION:PT2H\r\nSUMMARY:Long\r\nX-A:b"
    );
    let task = "BEGIN:VTODO\r\nSUMMARY:Buy nails\r\nEND:VTODO\r\n".repeat(4);
    let text = calendar(&[&series, "UID:x\r\nDTSTART:tomorrow", &zone, &change]);
    home.write("work.ics", text.replace("END:VCALENDAR", &format!("{task}END:VCALENDAR")));
    let named = home.run(["events", "import", "ann", "work.ics"], "").stderr;
    let page = include_str!("../../docs/assistant.md");
    assert!(page.contains(&format!("\n```\n{named}```\n")), "{named}");
}

#[test]
fn another_import_of_an_export_gives_the_same_calendar() {
    let home = home();
    let event = |uid: &str, zone: &str, more: &str| {
        format!(
            "UID:{uid}\r\nSUMMARY:{uid}\r\nDTSTART;TZID={zone}:{}\r\nDURATION:PT1H{more}",
            berlin_time_in(4, "1000")
        )
    };
    let events = [
        event("plain", "Europe/Berlin", ""),
        event("weekly", "Australia/Lord_Howe", "\r\nRRULE:FREQ=WEEKLY"),
        event("windows", "Eastern Standard Time", "\r\nRRULE:FREQ=DAILY;COUNT=5"),
        format!("UID:day\r\nSUMMARY:day\r\nDTSTART;VALUE=DATE:{}", &berlin_time_in(5, "0000")[..8]),
        format!("UID:float\r\nSUMMARY:float\r\nDTSTART:{}", berlin_time_in(6, "0900")),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    home.write("all.ics", calendar(&events));
    imported(&home, "ann", "all.ics");
    let first = exported(&home, "ann");
    for zone in ["Europe/Berlin", "Australia/Lord_Howe", "Eastern Standard Time"] {
        assert_eq!(first.matches(&format!("TZID:{zone}\r\n")).count(), 1, "{first}");
    }
    let planned = home.run(["notifications", "list", "--user", "ann", "--days-forward", "30", "--json"], "");
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    let soonest = planned["items"][0]["id"].as_str().unwrap();
    assert!(first.contains(&format!("UID:{soonest}")) && first.contains("TRIGGER:-PT60M"), "{first}");
    home.run(["users", "add", "Bo", "--id", "bo", "--time-zone", "Europe/Berlin"], "");
    home.write("out.ics", &first);
    assert!(
        imported(&home, "bo", "out.ics").ends_with("5 new, 0 changed, 0 as before, 0 removed, 0 left out\n")
    );
    assert_eq!(occurrences(&home, "ann"), occurrences(&home, "bo"));
    // The imported reminders are Ann's, and are removed again; Bo has a plan of his own.
    let second = exported(&home, "bo");
    let reminders = |text: &str| text.matches("BEGIN:VALARM").count();
    assert!(!second.contains(soonest) && reminders(&second) == reminders(&first), "{second}");
    assert_eq!(second.matches("BEGIN:VTIMEZONE").count(), 3);
}

/// Reads a calendar's time zones with Python, and prints where its clocks differ from the system's.
const CLOCK_DIFFERENCES: &str = "
import datetime, io, re, sys, zoneinfo
from dateutil import tz
text = open(sys.argv[1]).read()
blocks = re.findall('BEGIN:VTIMEZONE.*?END:VTIMEZONE\\n', text, re.S)
read = tz.tzical(io.StringIO(''.join(blocks)))
assert len(blocks) == len(read.keys()) == int(sys.argv[2]), blocks
start = datetime.datetime(2026, 11, 21)
for name in read.keys():
    ours, world = read.get(name), zoneinfo.ZoneInfo(name)
    for hours in range(0, 12 * 366 * 24, 7):
        at = start + datetime.timedelta(hours=hours)
        shown, meant = ours.utcoffset(at), world.utcoffset(at)
        # Within the hours of a change both answers are right.
        around = {world.utcoffset(at + datetime.timedelta(hours=h)) for h in (-3, 3)}
        if shown != meant and len(around) == 1:
            sys.exit(f'{name} {at}: {shown} and not {meant}')
";

#[test]
fn python_reads_the_same_time_zones_from_an_export() {
    if std::env::var("ADJUTANT_TEST_WITHOUT")
        .is_ok_and(|without| without.split(',').any(|item| item == "radicale"))
    {
        return;
    }
    let home = home();
    let zones = [
        "America/New_York",
        "Europe/Berlin",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Casablanca",
        "America/Santiago",
        "Asia/Jerusalem",
        "Pacific/Chatham",
    ];
    let events = zones
        .map(|zone| format!("UID:{zone}\r\nSUMMARY:x\r\nDTSTART;TZID={zone}:{}", berlin_time_in(4, "1000")));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    home.write("all.ics", calendar(&events));
    imported(&home, "ann", "all.ics");
    let out = home.write("out.ics", exported(&home, "ann"));
    // Debian's radicale brings dateutil.
    let read = Command::new("/usr/bin/python3")
        .args(["-c", CLOCK_DIFFERENCES])
        .arg(out)
        .arg(zones.len().to_string())
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn an_exported_feed_needs_its_secret_address_only() {
    let home = home();
    home.write("m.ics", calendar(&[SERIES]));
    imported(&home, "ann", "m.ics");
    let hub = Serving::hub(&home);
    let address = |more: &[&str]| {
        let done = home.run([&["users", "feed", "ann"], more].concat(), "");
        assert!(done.status.success(), "{}", done.stderr);
        done.stdout.trim().to_owned()
    };
    let first = address(&[]);
    assert_eq!(address(&[]), first, "it stays as it is");
    assert!(first.starts_with(&hub.url("/feeds/")) && first.rsplit('.').next() == Some("ics"), "{first}");
    let get = |url: &str, headers: &str| {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = get(&first, "");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("UID:m@example.org\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/calendar; charset=utf-8\r\n"), "{answer}");
    let etag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let same = get(&first, &format!("If-None-Match: \"other\", W/{etag}\r\n"));
    assert!(same.starts_with("HTTP/1.1 304 ") && !same.contains("UID:"), "{same}");
    // The feed contains the plan, so planning changes its version.
    home.write("m.ics", calendar(&[&SERIES.replace("20301127T140000", &berlin_time_in(3, "1400"))]));
    imported(&home, "ann", "m.ics");
    let changed = get(&first, &format!("If-None-Match: {etag}\r\n"));
    assert!(changed.starts_with("HTTP/1.1 200 ") && changed.contains("BEGIN:VALARM"), "{changed}");
    // A program of this machine does not count as a page of another site.
    assert!(get(&first, "Origin: http://evil.example\r\n").starts_with("HTTP/1.1 403 "));
    for wrong in [
        format!("{}x", first.trim_end_matches(".ics")),
        first.replace("/feeds/", "/feeds/0"),
        hub.url("/feeds/.ics"),
    ] {
        let refused = get(&wrong, "");
        assert!(refused.starts_with("HTTP/1.1 404 ") && !refused.contains("UID:"), "{wrong}: {refused}");
    }
    assert!(get(&hub.url("/calendar"), "").starts_with("HTTP/1.1 401 "), "the console asks for its login");
    let second = address(&["--new"]);
    assert_ne!(second, first);
    assert!(get(&first, "").starts_with("HTTP/1.1 404 ") && get(&second, "").starts_with("HTTP/1.1 200 "));
    assert!(home.run(["users", "feed", "ann", "--off"], "").status.success());
    assert!(get(&second, "").starts_with("HTTP/1.1 404 "));
}

#[test]
fn an_event_with_an_extreme_duration_is_rejected_alone() {
    let home = home();
    let start = berlin_time_in(2, "1000");
    let lasting = |length: &str| {
        format!("UID:{length}\r\nSUMMARY:{length}\r\nDTSTART;TZID=Europe/Berlin:{start}\r\nDURATION:{length}")
    };
    let lengths = ["P9999999D", "P4294967295W", "PT4294967295H", "P99999999999999999999D", "PT1H"];
    let mut events: Vec<String> = lengths.map(lasting).to_vec();
    // An added start may have a duration too, and so may a series.
    events.push(format!("{}\r\nRRULE:FREQ=DAILY;INTERVAL=65535", lasting("P7304485D")));
    events.push(format!(
        "UID:p\r\nSUMMARY:p\r\nDTSTART;TZID=Europe/Berlin:{start}\r\nRDATE;VALUE=PERIOD:20301124T100000Z/P9999999D"
    ));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    home.write("long.ics", calendar(&events));
    let imported = home.run(["events", "import", "ann", "long.ics"], "");
    assert!(!imported.stderr.contains("panicked"), "{}", imported.stderr);
    let titles: Vec<String> = occurrences(&home, "ann").into_iter().map(|(title, _)| title).collect();
    assert!(titles.contains(&"PT1H".to_owned()), "{titles:?} {}", imported.stderr);
    let why = "left out: the event is outside of the years 1 to 9999";
    assert!(imported.stderr.matches(why).count() >= 2, "{}", imported.stderr);
}

#[test]
fn oversized_and_explosive_calendars_are_rejected_by_name_in_bounded_time() {
    let home = home();
    let large = "X".repeat(50 * 1024 * 1024);
    home.write("large.ics", format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-A:{large}\r\nEND:VCALENDAR\r\n"));
    let refused = home.run(["events", "import", "ann", "large.ics"], "");
    assert_eq!(refused.status.code(), Some(1));
    let why = "error: large.ics: the calendar has more than 41943040 bytes, which is the most that is read at once; split it\n\
               hint: name the folder to import all its `.ics` files\n";
    assert_eq!(refused.stderr, why);
    // Every second of the next centuries, dates that no year has, and a rule for each of many events.
    let start = berlin_time_in(2, "1000");
    let bomb = |uid: &str, rule: &str| {
        format!("UID:{uid}\r\nSUMMARY:{uid}\r\nDTSTART;TZID=Europe/Berlin:{start}\r\nRRULE:{rule}")
    };
    let mut events = vec![
        bomb("fine", "FREQ=WEEKLY;COUNT=3"),
        bomb("secondly", "FREQ=SECONDLY"),
        bomb("counted", "FREQ=SECONDLY;COUNT=2147483647"),
        bomb("never", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
    ];
    events.extend((0..300).map(|n| bomb(&format!("b{n}"), "FREQ=YEARLY;BYMONTH=1;BYYEARDAY=200")));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    home.write("bombs.ics", calendar(&events));
    // The run itself has a deadline.
    let output = home.run(["events", "import", "ann", "bombs.ics"], "");
    assert_eq!(
        output.stdout, "bombs.ics: 1 new, 0 changed, 0 as before, 0 removed, 303 left out\n",
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("bombs.ics:10: left out: the event repeats more than"),
        "{}",
        output.stderr
    );
    assert_eq!(occurrences(&home, "ann").len(), 3);
}
