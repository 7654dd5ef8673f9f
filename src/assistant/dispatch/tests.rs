//! What is sent when, told with instants that are given.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use super::*;
use crate::assistant::event::CalendarSource;
use crate::assistant::import::Origin;
use crate::assistant::notices::{Due, Verdict};
use crate::assistant::planning::Which;
use crate::assistant::{Preferences, User, UserId, Zone};
use crate::config::Database;
use crate::config::delivery::Mail;
use crate::events::Events;
use crate::store::Store;

const CALENDAR: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:a@test\r\n\
    DTSTART:20300107T120000Z\r\nDTEND:20300107T130000Z\r\nSUMMARY:Review\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// A room with one event at noon of a Monday, planned ten minutes before its quarter of an hour.
async fn room() -> (Assistant, UserId, Timestamp) {
    let room = Assistant::new(Store::new(Database::Memory), Events::new());
    let now: Timestamp = "2030-01-07T11:20:00Z".parse().unwrap();
    let id = UserId::parse("ann").unwrap();
    let user = User {
        id: id.clone(),
        name: "Ann".to_owned(),
        email: Some("ann@example.org".to_owned()),
        phone: Some("+15550100200".to_owned()),
        preferences: Preferences {
            zone: Zone::utc(),
            quiet: None,
            ladder: vec![Channel::Popup, Channel::Email, Channel::Call],
            ladder_minutes: 5,
            ..Preferences::default()
        },
        revision: 1,
        created_at: now,
        updated_at: now,
    };
    room.put_user(&user, "test", now).await.unwrap();
    let origin = Origin {
        user: id.clone(),
        source: CalendarSource::File,
        place: "a".to_owned(),
        name: "a".to_owned(),
    };
    room.import(&origin, CALENDAR.to_owned(), "test", now).await.unwrap();
    let planning = room.plan(&id, None, Which::Unplanned, now).await.unwrap();
    assert_eq!(planning.planned, 1, "{planning:?}");
    (room, id, now)
}

async fn all(room: &Assistant, user: &UserId) -> Vec<Notification> {
    let due = Due { user: Some(user.clone()), status: None, from: Timestamp::MIN, until: Timestamp::MAX };
    room.notifications(&due, 100).await.unwrap().0
}

/// Leases what is due at an instant, and says how the sends ended.
async fn lease(room: &Assistant, now: Timestamp, outcome: Outcome) -> usize {
    let leased =
        outbox::lease(&room.store, "hub".to_owned(), millis(now), millis(now) + 1000, 10).await.unwrap();
    for row in &leased {
        outbox::settle(&room.store, settlement(&row.id, row.attempts, &outcome, now)).await.unwrap();
    }
    leased.len()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn what_nobody_acknowledges_climbs_the_ladder_until_somebody_does() {
    let (room, user, _) = room().await;
    assert_eq!(lease(&room, at("2030-01-07T11:46:00Z"), Outcome::Sent("ok".to_owned())).await, 1);
    room.escalate(at("2030-01-07T11:50:00Z")).await.unwrap();
    assert_eq!(all(&room, &user).await.len(), 1, "it waits for five minutes");
    for _ in 0..2 {
        room.escalate(at("2030-01-07T11:51:30Z")).await.unwrap();
    }
    let told = all(&room, &user).await;
    assert_eq!(told.len(), 2, "each step is planned once");
    assert_eq!(told[1].channel, Channel::Call);
    assert!(told[1].reasons.iter().any(|reason| reason.by == "escalation"), "{:?}", told[1].reasons);
    assert_eq!(lease(&room, at("2030-01-07T11:52:00Z"), Outcome::Sent("rang".to_owned())).await, 1);
    room.acknowledge(&told[1].id, "test", at("2030-01-07T11:53:00Z")).await.unwrap();
    assert!(all(&room, &user).await.iter().all(|one| one.acknowledged_at.is_some()));
    room.escalate(at("2030-01-07T12:30:00Z")).await.unwrap();
    assert_eq!(all(&room, &user).await.len(), 2, "nothing follows an acknowledgement");
}

#[tokio::test]
async fn a_call_is_never_placed_twice_by_itself_and_a_mail_is_sent_again() {
    let (room, user, _) = room().await;
    // Leased, and never settled: the hub went away in between.
    let vanish = async |now: Timestamp| {
        let until = millis(now) + 1000;
        assert_eq!(
            outbox::lease(&room.store, "gone".to_owned(), millis(now), until, 10).await.unwrap().len(),
            1
        );
        room.settle_lost(now, now).await.unwrap();
        assert_eq!(all(&room, &user).await.last().unwrap().status, Status::Sending, "the lease lasts");
        let later = rows::instant(until + 1);
        room.settle_lost(later, later).await.unwrap();
        all(&room, &user).await.pop().unwrap()
    };
    let mail = vanish(at("2030-01-07T11:46:00Z")).await;
    assert_eq!((mail.channel, mail.status), (Channel::Email, Status::Planned));
    assert_eq!(lease(&room, at("2030-01-07T11:46:05Z"), Outcome::Sent("ok".to_owned())).await, 1);
    let tries = room.attempts(&mail.id).await.unwrap();
    let outcomes: Vec<_> = tries.iter().map(|one| one.outcome.as_deref().unwrap()).collect();
    assert_eq!(outcomes, ["unknown", "sent"]);

    room.escalate(at("2030-01-07T11:52:00Z")).await.unwrap();
    let now = at("2030-01-07T11:52:30Z");
    let call = vanish(now).await;
    assert_eq!((call.channel, call.status), (Channel::Call, Status::Unknown));
    assert_eq!(lease(&room, at("2030-01-07T12:30:00Z"), Outcome::Sent("rang".to_owned())).await, 0);
    let settled = room.resolve(&call.id, Verdict::Sent, "test", now).await.unwrap();
    assert_eq!(settled.status, Status::Sent);
    assert!(room.retry(&call.id, "test", now).await.is_err(), "it was told");
}

#[tokio::test]
async fn nothing_goes_out_for_an_event_that_was_cancelled_behind_our_back() {
    let (room, user, now) = room().await;
    let notification = all(&room, &user).await.remove(0);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = told.clone();
    let show: Show = Arc::new(move |shown| {
        seen.lock().unwrap().push(shown.notification.wording.subject);
        Box::pin(async { Outcome::Sent("shown".to_owned()) })
    });
    let delivery = Delivery::default();
    let ways = Ways { mail: email::Mailer::new(&delivery), delivery, web: None, show };
    let popup = Notification { channel: Channel::Popup, ..notification.clone() };
    assert_eq!(room.send(&ways, popup.clone(), now).await.unwrap(), Outcome::Sent("shown".to_owned()));
    let mail = room.send(&ways, notification.clone(), now).await.unwrap();
    assert_eq!(mail, Outcome::Simulated("no mail server is configured".to_owned()));
    let call =
        room.send(&ways, Notification { channel: Channel::Call, ..notification.clone() }, now).await.unwrap();
    assert_eq!(call, Outcome::Simulated("no provider of calls is configured".to_owned()));
    room.cancel_events(std::slice::from_ref(&notification.event), "test", now).await.unwrap();
    let withdrawn = room.send(&ways, popup, now).await.unwrap();
    assert_eq!(withdrawn, Outcome::Withdrawn("the event does not take place".to_owned()));
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[test]
fn a_wait_grows_and_has_an_end() {
    for attempt in 0..40 {
        let wait = backoff(attempt);
        assert!((1000..=1000 + BACKOFF.1).contains(&wait), "{attempt}: {wait}");
    }
}

#[tokio::test]
async fn the_demo_shows_and_sends_something_whenever_it_is_looked_at() {
    // A Monday and a Saturday, at night too.
    for day in ["2030-01-07", "2030-01-12"] {
        for hour in [0, 3, 6, 9, 12, 15, 18, 21, 23] {
            let now = at(&format!("{day}T{hour:02}:30:00Z"));
            let room = Assistant::new(Store::new(Database::Memory), Events::new());
            room.fill_demo(now).await.unwrap();
            let user = UserId::parse("demo").unwrap();
            let told = all(&room, &user).await;
            assert!(told.len() >= 6, "{now}: {told:#?}");
            assert!(told.iter().all(|one| !one.reasons.is_empty() && !one.wording.subject.is_empty()));
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("spool/mail");
            let mail = Some(Mail::Folder(folder.clone()));
            let delivery = Delivery { mail, ..Delivery::default() };
            let show: Show = Arc::new(|_| Box::pin(async { Outcome::Sent("shown".to_owned()) }));
            let ways = Ways { mail: email::Mailer::new(&delivery), delivery, web: None, show };
            let soon = now + SignedDuration::from_secs(65);
            room.round(&ways, "hub", || soon, &CancellationToken::new()).await.unwrap();
            let mails = std::fs::read_dir(&folder).unwrap().count();
            for private in [&folder, &home.path().join("spool")] {
                let mode = std::fs::metadata(private).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "others may read {}", private.display());
            }
            let gone = all(&room, &user).await;
            let gone =
                gone.iter().filter(|one| matches!(one.status, Status::Sent | Status::Simulated)).count();
            assert!(mails >= 1 && gone == 2, "{now}: {mails} mails of {gone} that went out");
        }
    }
}
