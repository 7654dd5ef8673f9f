//! What is planned for the desktop, with a notification service on a bus of its own that shows it, refuses it, hangs or
//! goes away.

use serde_json::Value;

use super::dispatch::{Hub, Sink, alter, desk_of, due, mail_to, outcomes, told};
use super::eventually;
use crate::support::Home;
use crate::support::desktop::{Call, Desktop, Manner};

/// A home where the mail is refused for good, so that the desktop is next and a popup the last way.
fn home(sink: &Sink) -> Home {
    *sink.refuse.lock().unwrap() = (usize::MAX, "550 no such box");
    let ways = ["--email", "ann@example.org", "--ladder", "email,desktop,popup"];
    desk_of(&mail_to(&sink.address), &ways, &[due("Review <b>&</b> plan")])
}

/// Waits until this way stands so.
fn by(home: &Home, channel: &str, status: &str) -> Value {
    eventually(&format!("{channel} {status}"), || {
        told(home, &[]).into_iter().find(|one| one["channel"] == channel && one["status"] == status)
    })
}

fn channels(home: &Home) -> Vec<String> {
    told(home, &[]).iter().map(|one| one["channel"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_desktop_shows_a_due_notification_once_and_the_store_records_it() {
    let sink = Sink::start();
    let home = home(&sink);
    let Some(desktop) = Desktop::start(home.path(), Manner::Answers) else { return };
    let hub = Hub::start_on(&home, &desktop);
    let one = by(&home, "desktop", "sent");
    let Call::Shown { replaces: 0, title, body, actions, .. } = desktop.call() else {
        panic!("a new notice")
    };
    assert_eq!(title, one["subject"].as_str().unwrap());
    assert!(title.contains("Review <b>&</b> plan"), "a title is no markup, and shown as it is: {title}");
    assert!(body.contains("Review &lt;b&gt;&amp;&lt;/b&gt; plan"), "a body would be: {body}");
    assert!(actions.is_empty());
    assert!(one["sent_time"].is_string() && one["attempts"] == 1, "{one}");
    assert_eq!(outcomes(&home, &one), ["sent"]);
    let last = one["reasons"].as_array().unwrap().last().unwrap();
    assert_eq!(last["why"], "it could not be sent by email, so it escalates to desktop");
    // Neither this hub nor the next one shows it again.
    drop(hub);
    let _again = Hub::start_on(&home, &desktop);
    eventually("a look of the hub", || home.run(["status"], "").status.success().then_some(()));
    assert_eq!((desktop.more(), channels(&home)), (vec![], vec!["email".to_owned(), "desktop".to_owned()]));
}

#[test]
fn a_refusing_desktop_service_is_retried_until_the_last_attempt() {
    let sink = Sink::start();
    let home = home(&sink);
    let Some(desktop) = Desktop::start(home.path(), Manner::Refuses(1)) else { return };
    let hub = Hub::start_on(&home, &desktop);
    let one = by(&home, "desktop", "sent");
    assert_eq!(outcomes(&home, &one), ["failed", "sent"]);
    assert!(matches!(
        (desktop.call(), desktop.call()),
        (Call::Shown { .. }, Call::Shown { replaces: 0, .. })
    ));
    drop(hub);

    let home = self::home(&sink);
    let Some(desktop) = Desktop::start(home.path(), Manner::Refuses(usize::MAX)) else { return };
    let hub = Hub::start_on(&home, &desktop);
    eventually("the first try", || {
        let one = told(&home, &[]).into_iter().find(|one| one["channel"] == "desktop")?;
        (outcomes(&home, &one) == ["failed"]).then_some(())
    });
    drop(hub);
    // As if the tries between had been made and had waited until the event began.
    alter(&home, "UPDATE occurrences SET starts_at = 0");
    alter(
        &home,
        "INSERT INTO attempts (notification_id, attempt, started_at, ended_at, outcome) \
         SELECT id, column1, 0, 0, 'failed' FROM notifications, (VALUES (2), (3), (4)) \
         WHERE channel = 'desktop' AND status = 'planned'",
    );
    alter(
        &home,
        "UPDATE notifications SET attempts = 4, try_at = 0 WHERE channel = 'desktop' AND status = 'planned'",
    );
    let _hub = Hub::start_on(&home, &desktop);
    let dead = by(&home, "desktop", "dead");
    let why = dead["error"].as_str().unwrap();
    assert!(why.starts_with("the notification service rejected it: "), "{why}");
    by(&home, "popup", "sent");
    assert_eq!(channels(&home), ["email", "desktop", "popup"]);
}

#[test]
fn a_desktop_service_that_dies_does_not_delay_the_next_channel() {
    let sink = Sink::start();
    let home = home(&sink);
    let Some(desktop) = Desktop::start(home.path(), Manner::Dies) else { return };
    let _hub = Hub::start_on(&home, &desktop);
    by(&home, "popup", "sent");
    let failed = by(&home, "desktop", "failed");
    let why = failed["error"].as_str().unwrap();
    assert!(why.starts_with("there is no notification service: "), "{why}");
    assert_eq!(outcomes(&home, &failed), ["failed"]);
    assert!(matches!(desktop.call(), Call::Shown { .. }));
    assert!(desktop.more().is_empty());
}

#[test]
fn a_desktop_service_that_hangs_is_retried_later() {
    let sink = Sink::start();
    let home = home(&sink);
    let Some(desktop) = Desktop::start(home.path(), Manner::Hangs) else { return };
    let _hub = Hub::start_on(&home, &desktop);
    let waits = eventually("the end of the first try", || {
        let one = told(&home, &[]).into_iter().find(|one| one["channel"] == "desktop")?;
        (one["status"] == "planned" && one["error"].is_string()).then_some(one)
    });
    assert_eq!(waits["error"], "it did not answer in time");
    assert_eq!(outcomes(&home, &waits)[0], "failed");
    assert!(matches!(desktop.call(), Call::Shown { .. }));
}
