//! What is due goes out once: to a mail server on loopback that counts, over crashes and refusals.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{entry, eventually};
use crate::support::Home;
use crate::support::desktop::Desktop;

/// In the place of an answer: the server ends the connection.
const HANG_UP: &str = "";

/// A mail server that takes everything, or refuses the first so many mails for now.
#[derive(Clone)]
pub(super) struct Sink {
    pub(super) address: String,
    pub(super) mails: Arc<Mutex<Vec<String>>>,
    /// So many mails are answered with this first.
    pub(super) refuse: Arc<Mutex<(usize, &'static str)>>,
    /// How long it thinks about each mail, once it took so many; it makes up its mind when this becomes less.
    pub(super) slow: Arc<Mutex<(usize, Duration)>>,
    /// The first words of all commands.
    pub(super) commands: Arc<Mutex<Vec<String>>>,
    /// Mails that it thinks about now.
    pub(super) thinking: Arc<AtomicUsize>,
}

impl Sink {
    pub(super) fn start() -> Self {
        Self::listen("127.0.0.1:0")
    }

    pub(super) fn listen(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sink = Self {
            address,
            mails: Arc::default(),
            refuse: Arc::default(),
            slow: Arc::default(),
            commands: Arc::default(),
            thinking: Arc::default(),
        };
        let served = sink.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sink = served.clone();
                std::thread::spawn(move || sink.serve(stream));
            }
        });
        sink
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut writer = stream.try_clone().ok()?;
        let mut lines = BufReader::new(stream).lines();
        writer.write_all(b"220 sink\r\n").ok()?;
        loop {
            let line = lines.next()?.ok()?.to_ascii_uppercase();
            let command = line.split(' ').next()?;
            self.commands.lock().unwrap().push(command.to_owned());
            let answer = match command {
                "EHLO" => "250-sink\r\n250-STARTTLS\r\n250 AUTH PLAIN",
                "MAIL" | "RCPT" | "NOOP" | "RSET" => "250 ok",
                "AUTH" => "235 welcome",
                "DATA" => {
                    writer.write_all(b"354 go on\r\n").ok()?;
                    let mut mail = String::new();
                    loop {
                        let line = lines.next()?.ok()?;
                        if line == "." {
                            break;
                        }
                        mail.push_str(&line);
                        mail.push('\n');
                    }
                    if self.thinks_for() > Duration::ZERO {
                        self.thinking.fetch_add(1, Ordering::SeqCst);
                        let since = Instant::now();
                        while since.elapsed() < self.thinks_for() {
                            std::thread::park_timeout(Duration::from_millis(5));
                        }
                        self.thinking.fetch_sub(1, Ordering::SeqCst);
                    }
                    let mut refuse = self.refuse.lock().unwrap();
                    if refuse.0 > 0 {
                        refuse.0 -= 1;
                        if refuse.1 == HANG_UP {
                            return None;
                        }
                        refuse.1
                    } else {
                        self.mails.lock().unwrap().push(mail);
                        "250 taken"
                    }
                }
                "QUIT" => {
                    writer.write_all(b"221 bye\r\n").ok()?;
                    return Some(());
                }
                _ => "502 what",
            };
            writer.write_all(format!("{answer}\r\n").as_bytes()).ok()?;
        }
    }

    /// How long it thinks about a mail now.
    fn thinks_for(&self) -> Duration {
        let (quick, slow) = *self.slow.lock().unwrap();
        if self.mails.lock().unwrap().len() < quick { Duration::ZERO } else { slow }
    }

    /// How often each Message-ID was taken.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for mail in self.mails.lock().unwrap().iter() {
            let id =
                mail.lines().find_map(|line| line.strip_prefix("Message-ID: ")).expect("an id").to_owned();
            *counts.entry(id).or_default() += 1;
        }
        counts
    }
}

/// A hub that ends with this value, at once.
pub(super) struct Hub(Child);

impl Hub {
    pub(super) fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    pub(super) fn start_with(home: &Home, more: &[&str]) -> Self {
        Self::of(home.adjutant([&["serve", "--http", "off"], more].concat()))
    }

    /// A hub that finds this desktop.
    pub(super) fn start_on(home: &Home, desktop: &Desktop) -> Self {
        let mut command = home.adjutant(["serve", "--http", "off"]);
        command.env("DBUS_SESSION_BUS_ADDRESS", desktop.address());
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // SIGKILL: no goodbye.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A home whose hub mails to the sink, with so many events whose mail is due soon.
fn desk(sink: &Sink, events: usize) -> Home {
    let entries: Vec<String> = (0..events).map(|n| due(&format!("event-{n}"))).collect();
    desk_of(&mail_to(&sink.address), &["--email", "ann@example.org"], &entries)
}

/// The settings of a hub that mails to this address.
pub(super) fn mail_to(address: &str) -> String {
    format!("[notifications]\nmail = \"smtp://{address}\"\nmail_from = \"Desk <desk@example.org>\"\n")
}

/// An event that is told soon, and later than a slow machine has planned it: within the hour the policy does so a
/// quarter of an hour before the start.
pub(super) fn due(name: &str) -> String {
    entry(name, 900 + 8)
}

/// A home with these settings, and a user with these wishes and events, who may be told at any time.
pub(super) fn desk_of(config: &str, wishes: &[&str], entries: &[String]) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", config);
    fill(&home, wishes, entries, &[]);
    home
}

/// Adds the user and plans for the events, in this place.
pub(super) fn fill(home: &Home, wishes: &[&str], entries: &[String], place: &[&str]) {
    let user = ["users", "add", "Ann", "--id", "ann", "--quiet-hours", "none", "--weekend", "both"];
    run(home, &[&user[..], wishes, place].concat());
    let entries = entries.concat();
    home.write(
        "work.ics",
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{entries}END:VCALENDAR\r\n"),
    );
    run(home, &[&["events", "import", "ann", "work.ics"], place].concat());
    run(home, &[&["notifications", "plan", "ann"], place].concat());
}

pub(super) fn run(home: &Home, arguments: &[&str]) -> String {
    let finished = home.run(arguments, "");
    assert!(finished.status.success(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

/// Everything that Ann is told, by the time it is due.
pub(super) fn told(home: &Home, place: &[&str]) -> Vec<Value> {
    let listed = run(home, &[&["notifications", "list", "--user", "ann", "--json"], place].concat());
    serde_json::from_str::<Value>(&listed).unwrap()["notifications"].as_array().unwrap().clone()
}

/// Counts the notifications by where they stand.
fn standing(home: &Home) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in told(home, &[]) {
        *counts.entry(one["status"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// How the tries of a notification ended.
pub(super) fn outcomes(home: &Home, one: &Value) -> Vec<String> {
    let shown = run(home, &["notifications", "show", one["id"].as_str().unwrap(), "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let outcome = |one: &Value| one["outcome"].as_str().unwrap_or("goes on").to_owned();
    shown["attempts"].as_array().unwrap().iter().map(outcome).collect()
}

#[test]
fn a_due_notification_is_mailed_once() {
    let sink = Sink::start();
    let home = desk(&sink, 30);
    let _hub = Hub::start(&home);
    eventually("30 mails", || (sink.counts().len() == 30).then_some(()));
    eventually("30 records", || (standing(&home).get("sent") == Some(&30)).then_some(()));
    assert!(sink.counts().values().all(|count| *count == 1), "{:?}", sink.counts());
    let mail = sink.mails.lock().unwrap()[0].clone();
    assert!(
        mail.contains("From: Desk <desk@example.org>") && mail.contains("To: Ann <ann@example.org>"),
        "{mail}"
    );
    // Without these a reader takes what is not ASCII for something else.
    assert!(
        mail.contains("MIME-Version: 1.0") && mail.contains("Content-Type: text/plain; charset=utf-8"),
        "{mail}"
    );
}

#[test]
fn a_temporary_refusal_of_the_mail_server_is_retried() {
    let sink = Sink::start();
    *sink.refuse.lock().unwrap() = (1, "451 not now");
    let home = desk(&sink, 1);
    let _hub = Hub::start(&home);
    eventually("the second try", || (standing(&home).get("sent") == Some(&1)).then_some(()));
    assert_eq!(outcomes(&home, &told(&home, &[])[0]), ["failed", "sent"]);
}

#[test]
fn a_connection_that_breaks_after_the_mail_text_leaves_the_outcome_unknown() {
    let sink = Sink::start();
    *sink.refuse.lock().unwrap() = (1, HANG_UP);
    let home = desk(&sink, 1);
    let _hub = Hub::start(&home);
    eventually("the outcome", || (standing(&home).get("unknown") == Some(&1)).then_some(()));
    assert_eq!(outcomes(&home, &told(&home, &[])[0]), ["unknown"]);
    assert!(sink.mails.lock().unwrap().is_empty(), "nothing is sent again by itself");
}

#[test]
fn a_mail_password_is_sent_in_clear_text_only_to_a_url_that_allows_it() {
    let settings = |scheme: &str, sink: &Sink| {
        format!("[notifications]\nmail = \"{scheme}://ann:sesame@{}\"\n", sink.address)
    };
    // This address is not a loopback address, although it leads to this machine.
    let sink = Sink::listen("0.0.0.0:0");
    let home = desk_of(&settings("smtp", &sink), &["--email", "ann@example.org"], &[due("a")]);
    let hub = Hub::start(&home);
    eventually("a try", || {
        outcomes(&home, &told(&home, &[])[0]).contains(&"failed".to_owned()).then_some(())
    });
    drop(hub);
    let commands = sink.commands.lock().unwrap().clone();
    assert!(
        commands.iter().all(|command| ["EHLO", "STARTTLS", "QUIT"].contains(&&**command)),
        "{commands:?}"
    );
    let sink = Sink::listen("0.0.0.0:0");
    let home = desk_of(&settings("smtp+insecure", &sink), &["--email", "ann@example.org"], &[due("a")]);
    let _hub = Hub::start(&home);
    eventually("the mail", || (standing(&home).get("sent") == Some(&1)).then_some(()));
    assert!(sink.commands.lock().unwrap().contains(&"AUTH".to_owned()));
}

#[test]
fn mails_that_wait_for_a_slow_server_count_no_attempt() {
    const MAILS: usize = 40;
    const TOGETHER: usize = 16;
    let sink = Sink::start();
    *sink.slow.lock().unwrap() = (0, Duration::from_secs(50));
    let home = desk(&sink, MAILS);
    let _hub = Hub::start(&home);
    let thinking = || sink.thinking.load(Ordering::SeqCst);
    eventually("mails in flight", || (thinking() == TOGETHER).then_some(()));
    let tried = told(&home, &[]).iter().filter(|one| one["attempts"] != 0).count();
    assert_eq!((thinking(), tried), (TOGETHER, TOGETHER), "the others wait for their turn without a try");
    *sink.slow.lock().unwrap() = (0, Duration::ZERO);
    eventually("all mails", || (standing(&home).get("sent") == Some(&MAILS)).then_some(()));
    assert!(told(&home, &[]).iter().all(|one| one["attempts"] == 1) && sink.counts().len() == MAILS);
}

#[test]
fn a_hub_killed_while_sending_loses_no_mail_and_repeats_only_under_the_same_message_id() {
    const MAILS: usize = 60;
    /// Mails that a hub sends at the same time: so many may be repeated after each kill.
    const TOGETHER: usize = 16;
    let sink = Sink::start();
    *sink.slow.lock().unwrap() = (0, Duration::from_millis(40));
    let home = desk(&sink, MAILS);
    let mut kills = 0;
    for wanted in [5, 20, 35] {
        let hub = Hub::start(&home);
        eventually("some mails", || (sink.counts().len() >= wanted).then_some(()));
        drop(hub);
        kills += 1;
    }
    let _hub = Hub::start(&home);
    eventually("all mails", || (standing(&home).get("sent") == Some(&MAILS)).then_some(()));
    let counts = sink.counts();
    assert_eq!(counts.len(), MAILS, "every notification has one name, and none is lost");
    let repeated: usize = counts.values().map(|count| count - 1).sum();
    assert!(repeated <= kills * TOGETHER, "{repeated} repeated");
}

#[test]
fn missed_notifications_are_sent_as_one_summary() {
    let sink = Sink::start();
    let home = desk(&sink, 12);
    // As if the machine had slept: the times to try, and when it was due, are moved back.
    assert_eq!(told(&home, &[]).len(), 12);
    age(&home);
    let _hub = Hub::start(&home);
    eventually("the one mail", || (standing(&home).get("sent") == Some(&1)).then_some(()));
    assert_eq!(standing(&home).get("merged"), Some(&11));
    let mails = sink.mails.lock().unwrap().clone();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].matches("\n- ").count(), 11, "{}", mails[0]);
    assert!(!mails[0].contains(" minutes"), "how long it is till then is not true any more: {}", mails[0]);
}

/// Makes everything that is planned late by an hour.
fn age(home: &Home) {
    alter(home, "UPDATE notifications SET try_at = try_at - 3600000, due_at = due_at - 3600000");
}

/// Changes rows behind the program's back, while no hub runs.
#[expect(clippy::disallowed_methods, reason = "the test reaches into the database as nothing else may")]
pub(super) fn alter(home: &Home, sql: &str) {
    let database = home.path().join(".adjutant/adjutant.db");
    let code = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute(sys.argv[2])\nc.commit()\n";
    let done =
        std::process::Command::new("python3").args(["-c", code]).arg(database).arg(sql).status().unwrap();
    assert!(done.success());
}
