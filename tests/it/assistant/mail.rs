//! A due notification is sent once: to a mail server on loopback that counts, across crashes and refusals.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::event_in;
use crate::support::desktop::Desktop;
use crate::support::{Home, wait_for};

/// Instead of an answer the server ends the connection.
const HANG_UP: &str = "";

/// A mail server that accepts everything, or refuses the first mails temporarily.
#[derive(Clone)]
pub(crate) struct MailServer {
    pub(crate) address: String,
    pub(crate) mails: Arc<Mutex<Vec<String>>>,
    /// This many mails get this answer first.
    pub(crate) refuse: Arc<Mutex<(usize, &'static str)>>,
    /// After this many mails, the delay of each mail. Waiting mails continue when the delay becomes shorter.
    pub(crate) slow: Arc<Mutex<(usize, Duration)>>,
    /// The first word of each command.
    pub(crate) commands: Arc<Mutex<Vec<String>>>,
    /// Mails that are delayed now.
    pub(crate) delayed: Arc<AtomicUsize>,
}

impl MailServer {
    pub(crate) fn start() -> Self {
        Self::listen("127.0.0.1:0")
    }

    pub(crate) fn listen(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mail_server = Self {
            address,
            mails: Arc::default(),
            refuse: Arc::default(),
            slow: Arc::default(),
            commands: Arc::default(),
            delayed: Arc::default(),
        };
        let served = mail_server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mail_server = served.clone();
                std::thread::spawn(move || mail_server.serve(stream));
            }
        });
        mail_server
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
                    if self.delay() > Duration::ZERO {
                        self.delayed.fetch_add(1, Ordering::SeqCst);
                        let since = Instant::now();
                        while since.elapsed() < self.delay() {
                            std::thread::park_timeout(Duration::from_millis(5));
                        }
                        self.delayed.fetch_sub(1, Ordering::SeqCst);
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

    /// The delay of a mail now.
    fn delay(&self) -> Duration {
        let (quick, slow) = *self.slow.lock().unwrap();
        if self.mails.lock().unwrap().len() < quick { Duration::ZERO } else { slow }
    }

    /// How often each Message-ID was accepted.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
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
pub(crate) struct Hub(Child);

impl Hub {
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    pub(crate) fn start_with(home: &Home, more: &[&str]) -> Self {
        Self::of(home.adjutant([&["serve", "--http", "off"], more].concat()))
    }

    /// A hub that finds this desktop.
    pub(crate) fn start_on(home: &Home, desktop: &Desktop) -> Self {
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
        // SIGKILL: the hub cannot clean up.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A home whose hub mails to the server, with this many events whose mail is due soon.
fn mail_home(mail_server: &MailServer, events: usize) -> Home {
    let entries: Vec<String> = (0..events).map(|n| due_event(&format!("event-{n}"))).collect();
    home_with(&mail_config(&mail_server.address), &["--email", "ann@example.org"], &entries)
}

/// The settings of a hub that mails to this address.
pub(crate) fn mail_config(address: &str) -> String {
    format!("[notifications]\nmail = \"smtp://{address}\"\nmail_from = \"Adjutant <adjutant@example.org>\"\n")
}

/// An event whose notification is due soon, and later than a slow machine has planned it: within the last hour the
/// policy notifies a quarter of an hour before the start.
pub(crate) fn due_event(name: &str) -> String {
    event_in(name, 900 + 8)
}

/// A home with these settings, and a user with these preferences and events, without quiet hours.
pub(crate) fn home_with(config: &str, preferences: &[&str], entries: &[String]) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", config);
    add_user_and_plan(&home, preferences, entries, &[]);
    home
}

/// Adds the user and plans for the events, in this database.
pub(crate) fn add_user_and_plan(home: &Home, preferences: &[&str], entries: &[String], place: &[&str]) {
    let user = ["users", "add", "Ann", "--id", "ann", "--quiet-hours", "none", "--weekend", "both"];
    run(home, &[&user[..], preferences, place].concat());
    import(home, &entries.concat(), place);
}

/// Imports these events, which plans them, into this database.
pub(crate) fn import(home: &Home, entries: &str, place: &[&str]) {
    home.write(
        "work.ics",
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{entries}END:VCALENDAR\r\n"),
    );
    run(home, &[&["events", "import", "ann", "work.ics"], place].concat());
}

/// Imports an event whose notification is due soon.
pub(crate) fn with_due_event(home: &Home, name: &str) {
    import(home, &due_event(name), &[]);
}

pub(crate) fn run(home: &Home, arguments: &[&str]) -> String {
    let finished = home.run(arguments, "");
    assert!(finished.status.success(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

/// Returns the notifications of Ann, by the time they are due.
pub(crate) fn notifications(home: &Home, place: &[&str]) -> Vec<Value> {
    let listed = run(home, &[&["notifications", "list", "--user", "ann", "--json"], place].concat());
    serde_json::from_str::<Value>(&listed).unwrap()["items"].as_array().unwrap().clone()
}

/// Counts the notifications by status.
fn count_by_status(home: &Home) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for notification in notifications(home, &[]) {
        *counts.entry(notification["status"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// The outcomes of the attempts of a notification.
pub(crate) fn attempt_outcomes(home: &Home, notification: &Value) -> Vec<String> {
    let shown = run(home, &["notifications", "show", notification["id"].as_str().unwrap(), "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let outcome = |attempt: &Value| attempt["outcome"].as_str().unwrap_or("pending").to_owned();
    shown["attempts"].as_array().unwrap().iter().map(outcome).collect()
}

#[test]
fn a_due_notification_is_mailed_once() {
    let mail_server = MailServer::start();
    let home = mail_home(&mail_server, 30);
    let _hub = Hub::start(&home);
    wait_for("30 mails", || (mail_server.counts().len() == 30).then_some(()));
    wait_for("30 records", || (count_by_status(&home).get("sent") == Some(&30)).then_some(()));
    assert!(mail_server.counts().values().all(|count| *count == 1), "{:?}", mail_server.counts());
    let mail = mail_server.mails.lock().unwrap()[0].clone();
    assert!(
        mail.contains("From: Adjutant <adjutant@example.org>") && mail.contains("To: Ann <ann@example.org>"),
        "{mail}"
    );
    // Without these headers a mail client misreads characters outside ASCII.
    assert!(
        mail.contains("MIME-Version: 1.0") && mail.contains("Content-Type: text/plain; charset=utf-8"),
        "{mail}"
    );
}

#[test]
fn a_temporary_refusal_of_the_mail_server_is_retried() {
    let mail_server = MailServer::start();
    *mail_server.refuse.lock().unwrap() = (1, "451 not now");
    let home = mail_home(&mail_server, 1);
    let _hub = Hub::start(&home);
    wait_for("the second try", || (count_by_status(&home).get("sent") == Some(&1)).then_some(()));
    assert_eq!(attempt_outcomes(&home, &notifications(&home, &[])[0]), ["failed", "sent"]);
}

#[test]
fn a_connection_that_breaks_after_the_mail_text_leaves_the_outcome_unknown() {
    let mail_server = MailServer::start();
    *mail_server.refuse.lock().unwrap() = (1, HANG_UP);
    let home = mail_home(&mail_server, 1);
    let _hub = Hub::start(&home);
    wait_for("the outcome", || (count_by_status(&home).get("unknown") == Some(&1)).then_some(()));
    assert_eq!(attempt_outcomes(&home, &notifications(&home, &[])[0]), ["unknown"]);
    assert!(mail_server.mails.lock().unwrap().is_empty(), "nothing is sent again by itself");
}

#[test]
fn a_mail_password_is_sent_in_clear_text_only_to_a_url_that_allows_it() {
    let settings = |scheme: &str, mail_server: &MailServer| {
        format!("[notifications]\nmail = \"{scheme}://ann:sesame@{}\"\n", mail_server.address)
    };
    // This address is not a loopback address, although it leads to this machine.
    let mail_server = MailServer::listen("0.0.0.0:0");
    let home = home_with(&settings("smtp", &mail_server), &["--email", "ann@example.org"], &[due_event("a")]);
    let hub = Hub::start(&home);
    wait_for("a try", || {
        attempt_outcomes(&home, &notifications(&home, &[])[0]).contains(&"failed".to_owned()).then_some(())
    });
    drop(hub);
    let commands = mail_server.commands.lock().unwrap().clone();
    assert!(
        commands.iter().all(|command| ["EHLO", "STARTTLS", "QUIT"].contains(&&**command)),
        "{commands:?}"
    );
    let mail_server = MailServer::listen("0.0.0.0:0");
    let home = home_with(
        &settings("smtp+insecure", &mail_server),
        &["--email", "ann@example.org"],
        &[due_event("a")],
    );
    let _hub = Hub::start(&home);
    wait_for("the mail", || (count_by_status(&home).get("sent") == Some(&1)).then_some(()));
    assert!(mail_server.commands.lock().unwrap().contains(&"AUTH".to_owned()));
}

#[test]
fn mails_that_wait_for_a_slow_server_count_no_attempt() {
    const MAILS: usize = 40;
    const SENT_AT_ONCE: usize = 16;
    let mail_server = MailServer::start();
    *mail_server.slow.lock().unwrap() = (0, Duration::from_secs(50));
    let home = mail_home(&mail_server, MAILS);
    let _hub = Hub::start(&home);
    let delayed = || mail_server.delayed.load(Ordering::SeqCst);
    wait_for("mails in flight", || (delayed() == SENT_AT_ONCE).then_some(()));
    let tried = notifications(&home, &[]).iter().filter(|notification| notification["attempts"] != 0).count();
    assert_eq!(
        (delayed(), tried),
        (SENT_AT_ONCE, SENT_AT_ONCE),
        "the others wait for their turn without a try"
    );
    *mail_server.slow.lock().unwrap() = (0, Duration::ZERO);
    wait_for("all mails", || (count_by_status(&home).get("sent") == Some(&MAILS)).then_some(()));
    assert!(
        notifications(&home, &[]).iter().all(|notification| notification["attempts"] == 1)
            && mail_server.counts().len() == MAILS
    );
}

#[test]
fn a_hub_killed_while_sending_loses_no_mail_and_repeats_only_under_the_same_message_id() {
    const MAILS: usize = 60;
    /// Mails that a hub sends at the same time: this many may be repeated after each kill.
    const SENT_AT_ONCE: usize = 16;
    let mail_server = MailServer::start();
    *mail_server.slow.lock().unwrap() = (0, Duration::from_millis(40));
    let home = mail_home(&mail_server, MAILS);
    let mut kills = 0;
    for wanted in [5, 20, 35] {
        let hub = Hub::start(&home);
        wait_for("some mails", || (mail_server.counts().len() >= wanted).then_some(()));
        drop(hub);
        kills += 1;
    }
    let _hub = Hub::start(&home);
    wait_for("all mails", || (count_by_status(&home).get("sent") == Some(&MAILS)).then_some(()));
    let counts = mail_server.counts();
    assert_eq!(counts.len(), MAILS, "every notification has one name, and none is lost");
    let repeated: usize = counts.values().map(|count| count - 1).sum();
    assert!(repeated <= kills * SENT_AT_ONCE, "{repeated} repeated");
}

#[test]
fn missed_notifications_are_sent_as_one_summary() {
    let mail_server = MailServer::start();
    let home = mail_home(&mail_server, 12);
    // As if the machine had slept: the times of the attempts and of the notification are moved back.
    assert_eq!(notifications(&home, &[]).len(), 12);
    make_late(&home);
    let _hub = Hub::start(&home);
    wait_for("the one mail", || (count_by_status(&home).get("sent") == Some(&1)).then_some(()));
    assert_eq!(count_by_status(&home).get("merged"), Some(&11));
    let mails = mail_server.mails.lock().unwrap().clone();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].matches("\n- ").count(), 11, "{}", mails[0]);
    assert!(!mails[0].contains(" minutes"), "the time until the event is out of date: {}", mails[0]);
}

/// Makes every planned notification late by an hour.
fn make_late(home: &Home) {
    alter_database(home, "UPDATE notifications SET try_at = try_at - 3600000, due_at = due_at - 3600000");
}

/// Changes rows directly, while no hub runs.
#[expect(clippy::disallowed_methods, reason = "the test reaches into the database as nothing else may")]
pub(crate) fn alter_database(home: &Home, sql: &str) {
    let database = home.path().join(".adjutant/adjutant.db");
    let code = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute(sys.argv[2])\nc.commit()\n";
    let done =
        std::process::Command::new("python3").args(["-c", code]).arg(database).arg(sql).status().unwrap();
    assert!(done.success());
}
