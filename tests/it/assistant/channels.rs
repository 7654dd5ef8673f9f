//! Every channel, with a counterpart that accepts, refuses, is slow, hangs up or is missing; and a database outage.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::mail::{
    Hub, MailServer, add_user_and_plan, alter_database, attempt_outcomes, due_event, home_with, mail_config,
    notifications, run, with_due_event,
};
use crate::support::http_server::HttpServer;
use crate::support::ntfy::Ntfy;
use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::{Home, Peer, TRACEPARENT, traced_meta, wait_for};

/// Configures a provider of calls, with a voice that writes its text to a file.
fn configure_phone(home: &Home, provider: &HttpServer) {
    let voice = home.write_program("speak", "#!/bin/sh\nprintf '%s|%s' \"$1\" \"$3\" > \"$2\"\n");
    let config = format!(
        "[notifications]\nspeech = [\"{}\", \"{{voice}}\"]\n[notifications.phone]\nbase_url = \"http://{}/api/\"\n\
         account = \"AC1\"\ntoken = \"secret\"\nfrom = \"+15550000000\"\n",
        voice.display(),
        provider.address
    );
    home.write(".adjutant/config.toml", config);
}

const CALL_PREFERENCES: [&str; 6] = ["--channels", "call", "--phone", "+15550100200", "--voice", "de"];

fn call_home(provider: &HttpServer, title: &str) -> Home {
    let home = Home::new();
    configure_phone(&home, provider);
    add_user_and_plan(&home, &CALL_PREFERENCES, &[due_event(title)], &[]);
    home
}

/// Waits for the first notification of Ann with this status, and returns it.
fn first_with_status(home: &Home, status: &str) -> Value {
    wait_for(status, || {
        notifications(home, &[]).into_iter().find(|notification| notification["status"] == status)
    })
}

fn speech_file(home: &Home, notification: &Value) -> PathBuf {
    home.path().join(format!(".adjutant/spool/speech/{}.wav", notification["id"].as_str().unwrap()))
}

#[test]
fn a_call_is_spoken_into_a_file_and_placed_by_the_provider() {
    let provider = HttpServer::start(&[]);
    let home = call_home(&provider, "Review <b>&</b> plan");
    let _hub = Hub::start(&home);
    let notification = first_with_status(&home, "sent");
    assert_eq!(notification["channel"], "call");
    let text = std::fs::read_to_string(speech_file(&home, &notification)).unwrap();
    assert!(text.starts_with("de| ") && text.contains("Review"), "{text}");
    let requests = provider.requests();
    assert_eq!(requests.len(), 1);
    assert!(
        requests[0].head.starts_with("POST /api/2010-04-01/Accounts/AC1/Calls.json HTTP/1.1\r\n"),
        "{requests:?}"
    );
    // AC1:secret
    assert!(requests[0].head.contains("authorization: Basic QUMxOnNlY3JldA==\r\n"), "{requests:?}");
    let body = &requests[0].body;
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
    // A server may fail after the phone began to ring, and so may the connection.
    for answer in [500, 0] {
        let provider = HttpServer::start(&[answer]);
        let home = call_home(&provider, "Review");
        let hub = Hub::start(&home);
        let notification = first_with_status(&home, "unknown");
        drop(hub);
        let _again = Hub::start(&home);
        let id = notification["id"].as_str().unwrap();
        run(&home, &["notifications", "resolve", id, "sent"]);
        let repeated = home.run(["notifications", "resolve", id, "sent"], "");
        assert_eq!(
            repeated.stderr,
            format!(
                "error: notification `{id}` is sent: there is nothing to resolve\n\
                 hint: `adjutant notifications show {id}` shows its history\n"
            )
        );
        assert_eq!(first_with_status(&home, "sent")["id"], notification["id"]);
        assert_eq!(provider.requests().len(), 1);
    }
}

#[test]
fn a_call_is_retried_after_a_busy_provider_and_not_after_a_rejection() {
    let provider = HttpServer::start(&[429]);
    let home = call_home(&provider, "Review");
    let hub = Hub::start(&home);
    let notification = first_with_status(&home, "sent");
    assert_eq!(
        (provider.requests().len(), attempt_outcomes(&home, &notification)),
        (2, vec!["failed".to_owned(), "sent".to_owned()])
    );
    drop(hub);
    let provider = HttpServer::start(&[401]);
    let home = call_home(&provider, "Review");
    let hub = Hub::start(&home);
    let notification = first_with_status(&home, "failed");
    assert_eq!(notification["error"], "the server refused with status 401");
    // After the repair the user retries the notification.
    drop(hub);
    run(&home, &["notifications", "retry", notification["id"].as_str().unwrap()]);
    let _again = Hub::start(&home);
    wait_for("the call", || (provider.requests().len() == 2).then_some(()));
}

#[test]
fn a_call_without_a_provider_is_simulated_with_a_real_voice() {
    let without = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
    if without.split(',').any(|name| name.trim() == "espeak-ng") {
        return;
    }
    let home = home_with("", &["--channels", "call", "--phone", "+15550100200"], &[due_event("Review")]);
    let _hub = Hub::start(&home);
    let notification = first_with_status(&home, "simulated");
    let name = speech_file(&home, &notification);
    let why = format!(
        "no provider of calls is configured; what it would say is in {}",
        name.file_name().unwrap().display()
    );
    assert_eq!(
        notification["error"], why,
        "the Debian package espeak-ng is needed, or ADJUTANT_TEST_WITHOUT=espeak-ng"
    );
    let sound = std::fs::read(name).unwrap();
    assert!(sound.starts_with(b"RIFF") && sound.len() > 20_000, "{} bytes", sound.len());
}

#[test]
fn an_unacknowledged_notification_escalates_through_every_channel() {
    let (mail_server, provider, hook, ntfy) =
        (MailServer::start(), HttpServer::start(&[]), HttpServer::start(&[503]), Ntfy::start());
    let home = Home::new();
    configure_phone(&home, &provider);
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    let config = config.replace("[notifications]\n", &mail_config(&mail_server.address));
    home.write(
        ".adjutant/config.toml",
        format!("{config}[ntfy]\nserver = \"{}\"\ntopic = \"usual\"\nbody = true\n", ntfy.url()),
    );
    let hook_url = format!("http://{}/hook", hook.address);
    let ladder = "popup,webhook,ntfy,desktop,email,call";
    let ways =
        ["--channels", "popup", "--email", "ann@example.org", "--phone", "+15550100200", "--ntfy", "anns"];
    add_user_and_plan(
        &home,
        &[&ways[..], &["--webhook", &hook_url, "--ladder", ladder]].concat(),
        &[due_event("Review")],
        &[],
    );
    let last = |count: usize, status: &str| {
        wait_for(&format!("{count} with {status} as the last"), || {
            let answer = notifications(&home, &[]);
            (answer.len() == count && answer[count - 1]["status"] == status)
                .then(|| answer[count - 1].clone())
        })
    };
    // As if minutes had passed: the next hub finds a notification that waited for too long.
    let later = |hub: Hub| {
        drop(hub);
        alter_database(
            &home,
            "UPDATE notifications SET sent_at = sent_at - 600000, due_at = due_at - 600000",
        );
        Hub::start(&home)
    };
    let hub = Hub::start(&home);
    assert_eq!(last(1, "sent")["channel"], "popup");
    assert_eq!(notifications(&home, &[]).len(), 1, "there is time to answer");
    let hub = later(hub);
    // The webhook is busy at first, and gets the same key in the next attempt.
    let webhook = last(2, "sent");
    assert_eq!(webhook["channel"], "webhook");
    assert!(
        webhook["reasons"].as_array().unwrap().iter().any(|reason| reason["by"] == "escalation"),
        "{webhook}"
    );
    let requests = hook.requests();
    assert_eq!(requests.len(), 2);
    let key = format!("idempotency-key: {}\r\n", webhook["id"].as_str().unwrap());
    assert!(
        requests.iter().all(|request| request.head.starts_with("POST /hook ") && request.head.contains(&key)),
        "{requests:?}"
    );
    let body: Value = serde_json::from_str(&requests[1].body).unwrap();
    assert_eq!((&body["user_id"], &body["urgency"]), (&json!("ann"), &json!("urgent")));
    let hub = later(hub);
    // A notification question may have rung the phone before; this one goes to the user's topic.
    while ntfy.next_notification()["topic"] != "anns" {}
    assert_eq!(last(3, "sent")["channel"], "ntfy");
    let hub = later(hub);
    // There is no desktop here, and the hub does not wait for a channel that cannot deliver.
    let mail = last(5, "sent");
    assert_eq!(mail["channel"], "email");
    let all = notifications(&home, &[]);
    assert_eq!((&all[3]["channel"], &all[3]["status"]), (&json!("desktop"), &json!("failed")), "{all:?}");
    assert_eq!(mail_server.counts().len(), 1);
    run(&home, &["notifications", "acknowledge", mail["id"].as_str().unwrap()]);
    let _hub = later(hub);
    wait_for("a look of the hub", || home.run(["status"], "").status.success().then_some(()));
    assert!(
        notifications(&home, &[]).iter().all(|notification| notification["acknowledged_time"].is_string()
            || notification["status"] == "failed")
    );
    assert_eq!(
        (notifications(&home, &[]).len(), provider.requests().len()),
        (5, 0),
        "no further call is placed"
    );
}

#[test]
fn a_webhook_gets_the_trace_context_of_the_planning_call() {
    // The provider rejects the call, so the webhook is next.
    let (provider, hook) = (HttpServer::start(&[400]), HttpServer::start(&[]));
    let home = Home::new();
    configure_phone(&home, &provider);
    let url = format!("http://{}/hook", hook.address);
    add_user_and_plan(
        &home,
        &[&CALL_PREFERENCES[..], &["--webhook", &url, "--ladder", "call,webhook"]].concat(),
        &[],
        &[],
    );
    with_due_event(&home, "Review");
    let forget_plans = || {
        alter_database(&home, "DELETE FROM notifications");
        alter_database(&home, "DELETE FROM plans");
    };
    forget_plans();
    let _hub = Hub::start(&home);
    wait_for("the hub's own plan", || notifications(&home, &[]).pop());
    forget_plans();
    let mut peer = Peer::start(&mut home.adjutant(["connect", "assistant"]));
    peer.initialize("2025-11-25");
    let params =
        json!({"name": "planNotifications", "arguments": {"user_id": "ann"}, "_meta": traced_meta()});
    let planned = peer.call(1, "tools/call", params)["result"]["structuredContent"].clone();
    assert_eq!(planned["notifications_planned"], 1, "{planned}");
    let request = wait_for("a request to the webhook", || hook.requests().into_iter().next());
    let trace = format!("traceparent: {TRACEPARENT}\r\ntracestate: vendor=1\r\n");
    assert!(request.head.contains(&trace) && !request.head.contains("baggage"), "{request:?}");
}

#[test]
fn a_notification_question_is_acknowledged_at_a_later_hub() {
    let home =
        home_with("[questions]\nundo_milliseconds = 0\n", &["--channels", "popup"], &[due_event("Review")]);
    let hub = Hub::start(&home);
    first_with_status(&home, "sent");
    drop(hub);
    let hub = Serving::socket_hub(&home);
    let question = crate::questions::fixtures::User::pending(&home).remove(0);
    let value = question["fields"][0]["input"]["options"][0]["value"].as_str().unwrap().to_owned();
    crate::questions::fixtures::User::connect(&home).choose(&question, &value);
    wait_for("the acknowledgement", || {
        notifications(&home, &[])[0]["acknowledged_time"].is_string().then_some(())
    });
    drop(hub);
}

#[test]
fn no_mail_is_lost_when_its_server_is_down_slow_or_refuses() {
    // No server listens there yet.
    let mail_server = MailServer::start();
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let mail = ["--email", "ann@example.org"];
    let home = home_with(&mail_config(&away), &mail, &[due_event("Review")]);
    let _hub = Hub::start(&home);
    wait_for("the first try", || {
        (attempt_outcomes(&home, &notifications(&home, &[])[0]) == ["failed"]).then_some(())
    });
    assert_eq!(notifications(&home, &[])[0]["status"], "planned");
    let back = MailServer::listen(&away);
    first_with_status(&home, "sent");
    assert_eq!(back.counts().len(), 1);

    *mail_server.slow.lock().unwrap() = (0, Duration::from_secs(2));
    let home = home_with(&mail_config(&mail_server.address), &mail, &[due_event("Slow"), due_event("Too")]);
    let _hub = Hub::start(&home);
    wait_for("both", || {
        notifications(&home, &[]).iter().all(|notification| notification["status"] == "sent").then_some(())
    });
    assert_eq!(mail_server.counts().values().copied().collect::<Vec<_>>(), [1, 1]);

    *mail_server.slow.lock().unwrap() = (0, Duration::ZERO);
    *mail_server.refuse.lock().unwrap() = (1, "550 no such box");
    let home = home_with(
        &mail_config(&mail_server.address),
        &[&mail[..], &["--ladder", "popup"]].concat(),
        &[due_event("Refused")],
    );
    let _hub = Hub::start(&home);
    let refused = first_with_status(&home, "failed");
    assert!(refused["error"].as_str().unwrap().contains("no such box"), "{refused}");
    assert_eq!(
        attempt_outcomes(&home, &refused),
        ["failed"],
        "what is refused for good is not tried again by itself"
    );
    // It is urgent, so it escalates to the remaining channels.
    assert_eq!(first_with_status(&home, "sent")["channel"], "popup");
}

#[test]
fn a_database_outage_during_sending_loses_and_repeats_no_mail() {
    const MAILS: usize = 24;
    let Some(mut server) = Postgres::start() else { return };
    let mail_server = MailServer::start();
    // Longer than a database takes to end, and shorter than a hub's timeout for a mail server.
    *mail_server.slow.lock().unwrap() = (3, Duration::from_secs(18));
    let home = Home::new();
    home.write(".adjutant/config.toml", mail_config(&mail_server.address));
    let url = server.url("postgres");
    let place = ["--database", &url];
    let entries: Vec<String> = (0..MAILS).map(|n| due_event(&format!("event-{n}"))).collect();
    add_user_and_plan(&home, &["--email", "ann@example.org"], &entries, &place);
    let _hub = Hub::start_with(&home, &place);
    let under_way = || mail_server.counts().len() >= 3 && mail_server.delayed.load(Ordering::SeqCst) > 0;
    wait_for("mails under way", || under_way().then_some(()));
    server.stop();
    // Mails in flight arrive while the database cannot record them.
    let before = mail_server.counts().len();
    *mail_server.slow.lock().unwrap() = (0, Duration::ZERO);
    wait_for("mails without a database", || (mail_server.counts().len() > before).then_some(()));
    server.start_again();
    wait_for("all of them", || {
        let answer = notifications(&home, &place);
        answer.iter().all(|notification| notification["status"] == "sent").then_some(())
    });
    let counts = mail_server.counts();
    assert_eq!(counts.len(), MAILS);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}
