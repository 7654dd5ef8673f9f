//! Every way out, with another side that takes it, refuses it, is slow, hangs up or is not there; and a database that
//! goes away in between.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::dispatch::{Hub, Sink, alter, desk_of, due, fill, mail_to, outcomes, run, told};
use super::eventually;
use crate::support::ntfy::Ntfy;
use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::{Home, Peer, TRACEPARENT, traced_meta};

/// A server of somebody's: a provider of calls, or a webhook.
#[derive(Clone, Default)]
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// The statuses of the next answers, 0 for hanging up instead; then it is always 200.
    answers: Arc<Mutex<VecDeque<u16>>>,
}

/// A request: its first line and headers as they came, and its body.
#[derive(Clone, Debug)]
struct Asked {
    head: String,
    body: String,
}

impl Server {
    fn start(answers: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect()));
        let server = Self { address, answers, ..Self::default() };
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let each = own.clone();
                std::thread::spawn(move || each.serve(stream));
            }
        });
        server
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        self.asked.lock().unwrap().push(Asked { head, body: String::from_utf8(body).unwrap() });
        let status = self.answers.lock().unwrap().pop_front().unwrap_or(200);
        if status > 0 {
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            writer.write_all(answer.as_bytes()).ok()?;
        }
        Some(())
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The settings of a provider of calls, with a voice that writes down what it is to say.
fn phone(home: &Home, provider: &Server) {
    let voice = home.write("speak", "#!/bin/sh\nprintf '%s|%s' \"$1\" \"$3\" > \"$2\"\n");
    std::fs::set_permissions(&voice, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "[notifications]\nspeech = [\"{}\", \"{{voice}}\"]\n[notifications.phone]\nbase_url = \"http://{}/api/\"\n\
         account = \"AC1\"\ntoken = \"secret\"\nfrom = \"+15550000000\"\n",
        voice.display(),
        provider.address
    );
    home.write(".adjutant/config.toml", config);
}

const CALLED: [&str; 6] = ["--channels", "call", "--phone", "+15550100200", "--voice", "de"];

fn call_desk(provider: &Server, title: &str) -> Home {
    let home = Home::new();
    phone(&home, provider);
    fill(&home, &CALLED, &[due(title)], &[]);
    home
}

/// Waits until the first thing that Ann is told stands so, and returns it.
fn first(home: &Home, status: &str) -> Value {
    eventually(status, || told(home, &[]).into_iter().find(|one| one["status"] == status))
}

fn sound(home: &Home, one: &Value) -> PathBuf {
    home.path().join(format!(".adjutant/spool/speech/{}.wav", one["id"].as_str().unwrap()))
}

#[test]
fn a_call_is_spoken_into_a_file_and_placed_by_the_provider() {
    let provider = Server::start(&[]);
    let home = call_desk(&provider, "Review <b>&</b> plan");
    let _hub = Hub::start(&home);
    let one = first(&home, "sent");
    assert_eq!(one["channel"], "call");
    let said = std::fs::read_to_string(sound(&home, &one)).unwrap();
    assert!(said.starts_with("de| ") && said.contains("Review"), "{said}");
    let asked = provider.asked();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].head.starts_with("POST /api/2010-04-01/Accounts/AC1/Calls.json HTTP/1.1\r\n"),
        "{asked:?}"
    );
    // AC1:secret
    assert!(asked[0].head.contains("authorization: Basic QUMxOnNlY3JldA==\r\n"), "{asked:?}");
    let body = &asked[0].body;
    assert!(
        body.starts_with("To=%2B15550100200&From=%2B15550000000&Twiml=%3CResponse%3E%3CSay%20"),
        "{body}"
    );
    assert!(
        !body.contains("%3Cb%3E") && body.contains("%26lt%3Bb%26gt%3B%26amp%3B"),
        "no markup of a title's: {body}"
    );
}

#[test]
fn a_call_with_an_unknown_outcome_is_not_repeated() {
    // A server's failure may come after the phone began to ring; so may a connection that breaks.
    for answer in [500, 0] {
        let provider = Server::start(&[answer]);
        let home = call_desk(&provider, "Review");
        let hub = Hub::start(&home);
        let one = first(&home, "unknown");
        drop(hub);
        let _again = Hub::start(&home);
        let id = one["id"].as_str().unwrap();
        run(&home, &["notifications", "resolve", id, "sent"]);
        let again = home.run(["notifications", "resolve", id, "sent"], "");
        assert_eq!(
            again.stderr,
            format!(
                "error: notification `{id}` is sent: there is nothing to settle\n\
                 hint: `adjutant notifications show {id}` shows its history\n"
            )
        );
        assert_eq!(first(&home, "sent")["id"], one["id"]);
        assert_eq!(provider.asked().len(), 1);
    }
}

#[test]
fn a_call_is_retried_after_a_busy_provider_and_not_after_a_rejection() {
    let provider = Server::start(&[429]);
    let home = call_desk(&provider, "Review");
    let hub = Hub::start(&home);
    let one = first(&home, "sent");
    assert_eq!(
        (provider.asked().len(), outcomes(&home, &one)),
        (2, vec!["failed".to_owned(), "sent".to_owned()])
    );
    drop(hub);
    let provider = Server::start(&[401]);
    let home = call_desk(&provider, "Review");
    let hub = Hub::start(&home);
    let one = first(&home, "failed");
    assert_eq!(one["error"], "the server refused with status 401");
    // A person who has put it right has it sent.
    drop(hub);
    run(&home, &["notifications", "retry", one["id"].as_str().unwrap()]);
    let _again = Hub::start(&home);
    eventually("the call", || (provider.asked().len() == 2).then_some(()));
}

#[test]
fn a_call_without_a_provider_is_simulated_with_a_real_voice() {
    let without = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
    if without.split(',').any(|name| name.trim() == "espeak-ng") {
        return;
    }
    let home = desk_of("", &["--channels", "call", "--phone", "+15550100200"], &[due("Review")]);
    let _hub = Hub::start(&home);
    let one = first(&home, "simulated");
    let name = sound(&home, &one);
    let why = format!(
        "no provider of calls is configured; what it would say is in {}",
        name.file_name().unwrap().display()
    );
    assert_eq!(
        one["error"], why,
        "the Debian package espeak-ng is needed, or ADJUTANT_TEST_WITHOUT=espeak-ng"
    );
    let sound = std::fs::read(name).unwrap();
    assert!(sound.starts_with(b"RIFF") && sound.len() > 20_000, "{} bytes", sound.len());
}

#[test]
fn an_unacknowledged_notification_escalates_through_every_channel() {
    let (sink, provider, hook, ntfy) =
        (Sink::start(), Server::start(&[]), Server::start(&[503]), Ntfy::start());
    let home = Home::new();
    phone(&home, &provider);
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    let config = config.replace("[notifications]\n", &mail_to(&sink.address));
    home.write(
        ".adjutant/config.toml",
        format!("{config}[ntfy]\nserver = \"{}\"\ntopic = \"usual\"\nbody = true\n", ntfy.url()),
    );
    let hook_url = format!("http://{}/hook", hook.address);
    let ladder = "popup,webhook,ntfy,desktop,email,call";
    let ways =
        ["--channels", "popup", "--email", "ann@example.org", "--phone", "+15550100200", "--ntfy", "anns"];
    fill(&home, &[&ways[..], &["--webhook", &hook_url, "--ladder", ladder]].concat(), &[due("Review")], &[]);
    let last = |count: usize, status: &str| {
        eventually(&format!("{count} with {status} as the last"), || {
            let told = told(&home, &[]);
            (told.len() == count && told[count - 1]["status"] == status).then(|| told[count - 1].clone())
        })
    };
    // As if minutes had passed: the next hub finds what it waited for too long.
    let later = |hub: Hub| {
        drop(hub);
        alter(&home, "UPDATE notifications SET sent_at = sent_at - 600000, due_at = due_at - 600000");
        Hub::start(&home)
    };
    let hub = Hub::start(&home);
    assert_eq!(last(1, "sent")["channel"], "popup");
    assert_eq!(told(&home, &[]).len(), 1, "there is time to answer");
    let hub = later(hub);
    // The webhook has no time at first, and is told under the same key.
    let webhook = last(2, "sent");
    assert_eq!(webhook["channel"], "webhook");
    assert!(webhook["reasons"].as_array().unwrap().iter().any(|one| one["by"] == "escalation"), "{webhook}");
    let asked = hook.asked();
    assert_eq!(asked.len(), 2);
    let key = format!("idempotency-key: {}\r\n", webhook["id"].as_str().unwrap());
    assert!(
        asked.iter().all(|one| one.head.starts_with("POST /hook ") && one.head.contains(&key)),
        "{asked:?}"
    );
    let body: Value = serde_json::from_str(&asked[1].body).unwrap();
    assert_eq!((&body["user_id"], &body["urgency"]), (&json!("ann"), &json!("urgent")));
    let hub = later(hub);
    // The popup may have rung the person's own phone before; this one goes to the user's topic.
    while ntfy.notice()["topic"] != "anns" {}
    assert_eq!(last(3, "sent")["channel"], "ntfy");
    let hub = later(hub);
    // There is no desktop here, and what cannot be told is not waited for.
    let mail = last(5, "sent");
    assert_eq!(mail["channel"], "email");
    let all = told(&home, &[]);
    assert_eq!((&all[3]["channel"], &all[3]["status"]), (&json!("desktop"), &json!("failed")), "{all:?}");
    assert_eq!(sink.counts().len(), 1);
    run(&home, &["notifications", "acknowledge", mail["id"].as_str().unwrap()]);
    let _hub = later(hub);
    eventually("a look of the hub", || home.run(["status"], "").status.success().then_some(()));
    assert!(
        told(&home, &[]).iter().all(|one| one["acknowledged_time"].is_string() || one["status"] == "failed")
    );
    assert_eq!((told(&home, &[]).len(), provider.asked().len()), (5, 0), "nobody is called any more");
}

#[test]
fn a_webhook_gets_the_trace_context_of_the_planning_call() {
    // The provider refuses the call, so it goes on by the webhook.
    let (provider, hook) = (Server::start(&[400]), Server::start(&[]));
    let home = Home::new();
    phone(&home, &provider);
    let url = format!("http://{}/hook", hook.address);
    fill(&home, &[&CALLED[..], &["--webhook", &url, "--ladder", "call,webhook"]].concat(), &[], &[]);
    let event = due("Review");
    home.write(
        "later.ics",
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{event}END:VCALENDAR\r\n"),
    );
    run(&home, &["events", "import", "ann", "later.ics"]);
    let _hub = Hub::start(&home);
    let mut peer = Peer::start(&mut home.adjutant(["connect", "assistant"]));
    peer.initialize("2025-11-25");
    let params =
        json!({"name": "planNotifications", "arguments": {"user_id": "ann"}, "_meta": traced_meta()});
    let planned = peer.call(1, "tools/call", params)["result"]["structuredContent"].clone();
    assert_eq!(planned["notifications_planned"], 1, "{planned}");
    let asked = eventually("the webhook is told", || hook.asked().into_iter().next());
    let trace = format!("traceparent: {TRACEPARENT}\r\ntracestate: vendor=1\r\n");
    assert!(asked.head.contains(&trace) && !asked.head.contains("baggage"), "{asked:?}");
}

#[test]
fn a_notification_question_is_acknowledged_at_a_later_hub() {
    let home = desk_of("[questions]\nundo_milliseconds = 0\n", &["--channels", "popup"], &[due("Review")]);
    let hub = Hub::start(&home);
    first(&home, "sent");
    drop(hub);
    let hub = Serving::socket_hub(&home);
    let question = crate::questions::user_acts::Person::pending(&home).remove(0);
    let value = question["fields"][0]["input"]["options"][0]["value"].as_str().unwrap().to_owned();
    crate::questions::user_acts::Person::enter(&home).choose(&question, &value);
    eventually("the acknowledgement", || told(&home, &[])[0]["acknowledged_time"].is_string().then_some(()));
    drop(hub);
}

#[test]
fn no_mail_is_lost_when_its_server_is_down_slow_or_refuses() {
    // Nobody listens there yet.
    let sink = Sink::start();
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let mail = ["--email", "ann@example.org"];
    let home = desk_of(&mail_to(&away), &mail, &[due("Review")]);
    let _hub = Hub::start(&home);
    eventually("the first try", || (outcomes(&home, &told(&home, &[])[0]) == ["failed"]).then_some(()));
    assert_eq!(told(&home, &[])[0]["status"], "planned");
    let back = Sink::listen(&away);
    first(&home, "sent");
    assert_eq!(back.counts().len(), 1);

    *sink.slow.lock().unwrap() = (0, Duration::from_secs(2));
    let home = desk_of(&mail_to(&sink.address), &mail, &[due("Slow"), due("Too")]);
    let _hub = Hub::start(&home);
    eventually("both", || told(&home, &[]).iter().all(|one| one["status"] == "sent").then_some(()));
    assert_eq!(sink.counts().values().copied().collect::<Vec<_>>(), [1, 1]);

    *sink.slow.lock().unwrap() = (0, Duration::ZERO);
    *sink.refuse.lock().unwrap() = (1, "550 no such box");
    let home =
        desk_of(&mail_to(&sink.address), &[&mail[..], &["--ladder", "popup"]].concat(), &[due("Refused")]);
    let _hub = Hub::start(&home);
    let refused = first(&home, "failed");
    assert!(refused["error"].as_str().unwrap().contains("no such box"), "{refused}");
    assert_eq!(
        outcomes(&home, &refused),
        ["failed"],
        "what is refused for good is not tried again by itself"
    );
    // It is urgent, so it goes on by what is left.
    assert_eq!(first(&home, "sent")["channel"], "popup");
}

#[test]
fn a_database_outage_during_sending_loses_and_repeats_no_mail() {
    const MAILS: usize = 24;
    let Some(mut server) = Postgres::start() else { return };
    let sink = Sink::start();
    // Longer than a database takes to end, and shorter than a hub waits for a mail server.
    *sink.slow.lock().unwrap() = (3, Duration::from_secs(18));
    let home = Home::new();
    home.write(".adjutant/config.toml", mail_to(&sink.address));
    let url = server.url("postgres");
    let place = ["--database", &url];
    let entries: Vec<String> = (0..MAILS).map(|n| due(&format!("event-{n}"))).collect();
    fill(&home, &["--email", "ann@example.org"], &entries, &place);
    let _hub = Hub::start_with(&home, &place);
    let under_way = || sink.counts().len() >= 3 && sink.thinking.load(Ordering::SeqCst) > 0;
    eventually("mails under way", || under_way().then_some(()));
    server.stop();
    // What was on its way arrives while there is nowhere to write that down.
    let before = sink.counts().len();
    *sink.slow.lock().unwrap() = (0, Duration::ZERO);
    eventually("mails without a database", || (sink.counts().len() > before).then_some(()));
    server.start_again();
    eventually("all of them", || {
        let told = told(&home, &place);
        told.iter().all(|one| one["status"] == "sent").then_some(())
    });
    let counts = sink.counts();
    assert_eq!(counts.len(), MAILS);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}
