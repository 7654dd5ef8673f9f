//! Calendars in and out from the command line, and what they would have somebody told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::support::{DEADLINE, Home};

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

const MEETING: &str =
    "UID:m@example.org\r\nDTSTART;TZID=Europe/Berlin:20301127T140000\r\nDURATION:PT1H\r\nSUMMARY:Budget";
const _B: &str = "UID:b@example.org\r\nDTSTART;TZID=Mars/Base:20301127T140000\r\nSUMMARY:Lost";

#[test]
fn a_month_is_played_before_anything_is_sent() {
    let home = home();
    let weekly = "UID:w\r\nDTSTART;TZID=Europe/Berlin:20301014T073000\r\nDURATION:PT15M\r\nSUMMARY:Stand-up\r\nRRULE:FREQ=WEEKLY;COUNT=6";
    // The horizon of what is kept begins now, so the month lies just ahead.
    let soon = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    let soon = soon.checked_add(jiff::ToSpan::days(1)).unwrap().strftime("%Y%m%dT073000").to_string();
    home.write("w.ics", calendar(&[&weekly.replace("20301014T073000", &soon)]));
    let imported = home.run(["events", "import", "ann", "w.ics"], "");
    assert!(imported.status.success(), "{}", imported.stderr);
    let played = home.run(["notifications", "simulate", "ann", "--days", "30", "--json"], "");
    assert!(played.status.success(), "{}", played.stderr);
    let played: Value = serde_json::from_str(&played.stdout).unwrap();
    assert_eq!(played["time_zone"], "Europe/Berlin");
    let events = played["events"].as_array().unwrap();
    assert!((4..=5).contains(&events.len()), "{played:#}");
    for event in events {
        // Half past six is quiet, so it is told at seven, or not at a weekend.
        for told in event["notifications"].as_array().unwrap() {
            assert_eq!(&told["due_at"].as_str().unwrap()[11..16], "07:00", "{event:#}");
            let by: Vec<_> =
                told["reasons"].as_array().unwrap().iter().map(|one| one["by"].as_str().unwrap()).collect();
            assert_eq!(by, ["policy", "quiet_hours"]);
        }
    }
    let text = home.run(["notifications", "simulate", "ann", "--why"], "");
    assert!(
        text.stdout.starts_with("WHEN") && text.stdout.contains("07:00  Stand-up — policy: "),
        "{}",
        text.stdout
    );
}

/// Answers requests with these, one each, and returns what was asked.
fn server(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/feed.ics", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let answer = |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while lines.read_line(&mut asked).unwrap() > 2 {}
            stream.write_all(answer.as_bytes()).unwrap();
            asked.to_lowercase()
        };
        answers.into_iter().map(answer).collect()
    });
    (url, asked)
}

#[test]
fn an_address_is_read_again_only_when_it_changed() {
    let answer = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nETag: \"v1\"\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let (url, asked) = server(vec![
        answer("200 OK", &calendar(&[MEETING])),
        answer("304 Not Modified", ""),
        answer("200 OK", &calendar(&[&MEETING.replace("m@", "other@")])),
        answer("503 Later", ""),
    ]);
    let home = home();
    let import = || home.run(["events", "import", "ann", &url], "");
    assert_eq!(import().stdout, "1 new, 0 changed, 0 as before, 0 gone, 0 left out\n");
    assert_eq!(import().stdout, "nothing has changed since the last time\n");
    // What a feed does not say any more was called off.
    assert_eq!(import().stdout, "1 new, 0 changed, 0 as before, 1 gone, 0 left out\n");
    assert_eq!(import().stderr, "error: the server answers with status 503\n");
    let asked = asked.join().unwrap();
    assert!(!asked[0].contains("if-none-match") && asked[1].contains("if-none-match: \"v1\""), "{asked:?}");
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
        answer.lines().next().unwrap().to_owned()
    }
}

impl Drop for Radicale {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_caldav_server_is_asked_for_what_changed() {
    let home = home();
    let Some(radicale) = Radicale::start(&home) else { return };
    assert!(radicale.ask("MKCALENDAR", "/ann/work/", "").contains(" 201 "));
    let put = |name: &str, event: &str| {
        let status = radicale.ask("PUT", &format!("/ann/work/{name}.ics"), &calendar(&[event]));
        assert!(status.contains(" 201 "), "{status}");
    };
    put("m", MEETING);
    put("n", &MEETING.replace("m@", "n@"));
    let secret = home.write("secret", "secret\n");
    let url = format!("http://{}/ann/work/", radicale.address);
    let pull = || {
        let password = secret.to_str().unwrap();
        home.run(
            ["events", "import", "ann", &url, "--caldav", "--login", "ann", "--password-file", password],
            "",
        )
    };
    let first = pull();
    assert_eq!(first.stdout, "2 new, 0 changed, 0 as before, 0 gone, 0 left out\n", "{}", first.stderr);
    assert_eq!(pull().stdout, "nothing has changed since the last time\n");
    put("m", &MEETING.replace("T140000", "T160000"));
    assert!(radicale.ask("DELETE", "/ann/work/n.ics", "").contains(" 200 "));
    assert_eq!(pull().stdout, "0 new, 1 changed, 0 as before, 1 gone, 0 left out\n");
    let refused = home.run(["events", "import", "ann", &url, "--caldav"], "");
    assert_eq!(refused.stderr, "error: the server answers with status 401: it wants a name and a password\n");
}
