//! Notifications on the desktop, with a notification service on a private bus that shows, refuses, hangs or ends.

use serde_json::Value;

use super::mail::{
    Hub, MailServer, alter_database, attempt_outcomes, due_event, home_with, mail_config, notifications,
};
use crate::support::desktop::{Behaviour, Call, Desktop};
use crate::support::{Home, wait_for};

/// A home where the mail server refuses for good, so that the desktop is next and a question the last channel.
fn desktop_home(mail_server: &MailServer) -> Home {
    *mail_server.refuse.lock().unwrap() = (usize::MAX, "550 no such box");
    let ways = ["--email", "ann@example.org", "--ladder", "email,desktop,popup"];
    home_with(&mail_config(&mail_server.address), &ways, &[due_event("Review <b>&</b> plan")])
}

/// Waits until the notification of this channel has this status.
fn by_channel(home: &Home, channel: &str, status: &str) -> Value {
    wait_for(&format!("{channel} {status}"), || {
        notifications(home, &[])
            .into_iter()
            .find(|notification| notification["channel"] == channel && notification["status"] == status)
    })
}

fn channels(home: &Home) -> Vec<String> {
    notifications(home, &[])
        .iter()
        .map(|notification| notification["channel"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_desktop_shows_a_due_notification_once_and_the_store_records_it() {
    let mail_server = MailServer::start();
    let home = desktop_home(&mail_server);
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Answers) else { return };
    let hub = Hub::start_on(&home, &desktop);
    let notification = by_channel(&home, "desktop", "sent");
    let Call::Shown { replaces: 0, title, body, actions, .. } = desktop.next_call() else {
        panic!("a new notice")
    };
    assert_eq!(title, notification["subject"].as_str().unwrap());
    assert!(title.contains("Review <b>&</b> plan"), "a title is shown as plain text: {title}");
    assert!(body.contains("Review &lt;b&gt;&amp;&lt;/b&gt; plan"), "a body would be: {body}");
    assert!(actions.is_empty());
    assert!(notification["sent_time"].is_string() && notification["attempts"] == 1, "{notification}");
    assert_eq!(attempt_outcomes(&home, &notification), ["sent"]);
    let last = notification["reasons"].as_array().unwrap().last().unwrap();
    assert_eq!(last["why"], "it could not be sent by email, so it escalates to desktop");
    // Neither this hub nor the next one shows it again.
    drop(hub);
    let _again = Hub::start_on(&home, &desktop);
    wait_for("a look of the hub", || home.run(["status"], "").status.success().then_some(()));
    assert_eq!(
        (desktop.remaining_calls(), channels(&home)),
        (vec![], vec!["email".to_owned(), "desktop".to_owned()])
    );
}

#[test]
fn a_refusing_desktop_service_is_retried_until_the_last_attempt() {
    let mail_server = MailServer::start();
    let home = desktop_home(&mail_server);
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Refuses(1)) else { return };
    let hub = Hub::start_on(&home, &desktop);
    let notification = by_channel(&home, "desktop", "sent");
    assert_eq!(attempt_outcomes(&home, &notification), ["failed", "sent"]);
    assert!(matches!(
        (desktop.next_call(), desktop.next_call()),
        (Call::Shown { .. }, Call::Shown { replaces: 0, .. })
    ));
    drop(hub);

    let home = self::desktop_home(&mail_server);
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Refuses(usize::MAX)) else { return };
    let hub = Hub::start_on(&home, &desktop);
    wait_for("the first try", || {
        let notification = notifications(&home, &[])
            .into_iter()
            .find(|notification| notification["channel"] == "desktop")?;
        (attempt_outcomes(&home, &notification) == ["failed"]).then_some(())
    });
    drop(hub);
    // As if the attempts between had been made and the retries had lasted until the event began.
    alter_database(&home, "UPDATE occurrences SET starts_at = 0");
    alter_database(
        &home,
        "INSERT INTO attempts (notification_id, attempt, started_at, ended_at, outcome) \
         SELECT id, column1, 0, 0, 'failed' FROM notifications, (VALUES (2), (3), (4)) \
         WHERE channel = 'desktop' AND status = 'planned'",
    );
    alter_database(
        &home,
        "UPDATE notifications SET attempts = 4, try_at = 0 WHERE channel = 'desktop' AND status = 'planned'",
    );
    let _hub = Hub::start_on(&home, &desktop);
    let dead = by_channel(&home, "desktop", "dead");
    let why = dead["error"].as_str().unwrap();
    assert!(why.starts_with("the notification service rejected it: "), "{why}");
    by_channel(&home, "popup", "sent");
    assert_eq!(channels(&home), ["email", "desktop", "popup"]);
}

#[test]
fn a_desktop_service_that_dies_does_not_delay_the_next_channel() {
    let mail_server = MailServer::start();
    let home = desktop_home(&mail_server);
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Dies) else { return };
    let _hub = Hub::start_on(&home, &desktop);
    by_channel(&home, "popup", "sent");
    let failed = by_channel(&home, "desktop", "failed");
    let why = failed["error"].as_str().unwrap();
    assert!(why.starts_with("no notification service was found: "), "{why}");
    assert_eq!(attempt_outcomes(&home, &failed), ["failed"]);
    assert!(matches!(desktop.next_call(), Call::Shown { .. }));
    assert!(desktop.remaining_calls().is_empty());
}

#[test]
fn a_desktop_service_that_hangs_is_retried_later() {
    let mail_server = MailServer::start();
    let home = desktop_home(&mail_server);
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Hangs) else { return };
    let _hub = Hub::start_on(&home, &desktop);
    let waits = wait_for("the end of the first try", || {
        let notification = notifications(&home, &[])
            .into_iter()
            .find(|notification| notification["channel"] == "desktop")?;
        (notification["status"] == "planned" && notification["error"].is_string()).then_some(notification)
    });
    assert_eq!(waits["error"], "it did not answer in time");
    assert_eq!(attempt_outcomes(&home, &waits)[0], "failed");
    assert!(matches!(desktop.next_call(), Call::Shown { .. }));
}
