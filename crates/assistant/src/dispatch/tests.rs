//! Tests of dispatch, with given instants.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;

use super::*;
use crate::event::CalendarSource;
use crate::events::NO_PROGRESS;
use crate::import::Origin;
use crate::notification::Urgency;
use crate::notifications::{Due, ResolvedAs};
use crate::planner::quiet_hours::{Blocked, blocked_by};
use crate::user::{QuietHours, RuleKind, WeekendPolicy};
use crate::{Notification, Preferences, Rule, RuleId, User, UserId, Zone};
use adjutant_base::config::Database;
use adjutant_base::config::notification_delivery::Mail;
use adjutant_base::events::Events;
use adjutant_store::Store;

const CALENDAR: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:a@test\r\n\
    DTSTART:20300107T120000Z\r\nDTEND:20300107T130000Z\r\nSUMMARY:Review\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// An assistant with one event at noon of a Monday, planned ten minutes before its quarter of an hour.
async fn planned_assistant() -> (Assistant, UserId, Timestamp) {
    let assistant = Assistant::new(Store::new(Database::Memory), Events::new());
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
    assistant.put_user(&user, "test", now).await.unwrap();
    let origin = Origin {
        user: id.clone(),
        source: CalendarSource::File,
        place: "a".to_owned(),
        name: "a".to_owned(),
    };
    assistant.import(&origin, CALENDAR.to_owned(), "test", now, NO_PROGRESS).await.unwrap();
    assert_eq!(all(&assistant, &id).await.len(), 1, "the import plans");
    (assistant, id, now)
}

async fn all(assistant: &Assistant, user: &UserId) -> Vec<Notification> {
    let due = Due { user: Some(user.clone()), status: None, from: Timestamp::MIN, until: Timestamp::MAX };
    assistant.notifications(&due, 100).await.unwrap().0
}

/// Leases at most `limit` due notifications for a second.
async fn lease(assistant: &Assistant, now: Timestamp, limit: u32) -> Vec<NotificationRow> {
    let request = outbox::LeaseRequest {
        owner: "hub".to_owned(),
        now: millis(now),
        until: millis(now) + 1000,
        limit,
        is_idle: false,
    };
    outbox::lease(&assistant.store, request).await.unwrap()
}

/// Leases what is due at an instant, and records an outcome of each. Returns how many were due.
async fn lease_and_record(assistant: &Assistant, now: Timestamp, outcome: SendOutcome) -> usize {
    let leased = lease(assistant, now, 10).await;
    for row in &leased {
        outbox::record_attempt(&assistant.store, attempt_result(row, None, &outcome, now)).await.unwrap();
    }
    leased.len()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn who_sends_is_woken_by_a_plan() {
    let (assistant, _, _) = planned_assistant().await;
    assert!(
        assistant.wake.notified().now_or_never().is_some(),
        "what is due before the next look would be late"
    );
}

#[tokio::test]
async fn what_nobody_acknowledges_climbs_the_ladder_until_somebody_does() {
    let (assistant, user, _) = planned_assistant().await;
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T11:46:00Z"), SendOutcome::Sent("ok".to_owned())).await,
        1
    );
    assistant.escalate(at("2030-01-07T11:50:00Z")).await.unwrap();
    assert_eq!(all(&assistant, &user).await.len(), 1, "it waits for five minutes");
    for _ in 0..2 {
        assistant.escalate(at("2030-01-07T11:51:30Z")).await.unwrap();
    }
    let told = all(&assistant, &user).await;
    assert_eq!(told.len(), 2, "each step is planned once");
    assert_eq!(told[1].channel, Channel::Call);
    assert!(told[1].reasons.iter().any(|reason| reason.by == "escalation"), "{:?}", told[1].reasons);
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T11:52:00Z"), SendOutcome::Sent("rang".to_owned())).await,
        1
    );
    assistant.acknowledge(&told[1].id, "test", at("2030-01-07T11:53:00Z")).await.unwrap();
    assert!(all(&assistant, &user).await.iter().all(|one| one.acknowledged_at.is_some()));
    assistant.escalate(at("2030-01-07T12:30:00Z")).await.unwrap();
    assert_eq!(all(&assistant, &user).await.len(), 2, "nothing follows an acknowledgement");
}

/// Changes what a user prefers, with nothing planned anew.
async fn prefer(assistant: &Assistant, user: &UserId, change: impl FnOnce(&mut Preferences)) {
    let mut user = assistant.user(user).await.unwrap();
    change(&mut user.preferences);
    assistant.put_user(&user, "test", at("2030-01-07T11:20:00Z")).await.unwrap();
}

fn quiet(start: i8, end: i8) -> QuietHours {
    let time = |hour| jiff::civil::Time::constant(hour, 0, 0, 0);
    QuietHours { start: time(start), end: time(end) }
}

#[tokio::test]
async fn nothing_climbs_the_ladder_in_quiet_hours_nor_by_what_is_unwanted_or_barred() {
    // The quiet hours begin just after the mail, which waits for its acknowledgement until they end.
    let (assistant, user, _) = planned_assistant().await;
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T11:46:00Z"), SendOutcome::Sent("ok".to_owned())).await,
        1
    );
    prefer(&assistant, &user, |preferences| preferences.quiet = Some(quiet(11, 15))).await;
    for time in ["11:52:00", "12:30:00", "14:59:59"] {
        assistant.escalate(at(&format!("2030-01-07T{time}Z"))).await.unwrap();
        assert_eq!(all(&assistant, &user).await.len(), 1, "nobody is called at {time}, which is quiet");
    }
    assistant.escalate(at("2030-01-07T15:00:00Z")).await.unwrap();
    assert_eq!(all(&assistant, &user).await[1].channel, Channel::Call);

    // 2030-01-12 is a Saturday; by then no mail of Monday escalates, so the mail is of that day.
    for (weekend, calls) in [(WeekendPolicy::None, 0), (WeekendPolicy::Email, 0), (WeekendPolicy::Call, 1)] {
        let (assistant, user, _) = self::planned_assistant().await;
        assert_eq!(
            lease_and_record(&assistant, at("2030-01-12T11:46:00Z"), SendOutcome::Sent("ok".to_owned()))
                .await,
            1
        );
        prefer(&assistant, &user, |preferences| preferences.weekend = weekend).await;
        assistant.escalate(at("2030-01-12T11:52:00Z")).await.unwrap();
        assert_eq!(all(&assistant, &user).await.len(), 1 + calls, "{weekend:?}");
    }

    // A rule bars calls: it goes on by what comes after the call.
    let (assistant, user, now) = self::planned_assistant().await;
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T11:46:00Z"), SendOutcome::Sent("ok".to_owned())).await,
        1
    );
    prefer(&assistant, &user, |preferences| preferences.ladder.push(Channel::Desktop)).await;
    let attended = CALENDAR.replace("SUMMARY:", "ATTENDEE:mailto:kim@example.org\r\nSUMMARY:");
    let origin = Origin {
        user: user.clone(),
        source: CalendarSource::File,
        place: "a".to_owned(),
        name: "a".to_owned(),
    };
    assistant.import(&origin, attended, "test", now, NO_PROGRESS).await.unwrap();
    let terms = serde_json::json!({"domain": "example.org"}).as_object().unwrap().clone();
    let rule = Rule {
        id: RuleId::parse("internal").unwrap(),
        user: user.clone(),
        kind: RuleKind::InternalMeeting,
        terms,
        enabled: true,
        priority: 50,
    };
    assistant.put_rule(&rule).await.unwrap();
    assistant.escalate(at("2030-01-07T11:52:00Z")).await.unwrap();
    assert_eq!(all(&assistant, &user).await.pop().unwrap().channel, Channel::Desktop);
}

#[tokio::test]
async fn what_is_late_waits_for_the_end_of_the_quiet_hours_however_pressing_it_is() {
    let (assistant, user, _) = planned_assistant().await;
    let urgent = Notification { urgency: Urgency::Urgent, ..all(&assistant, &user).await.remove(0) };
    let present: PresentFn = Arc::new(|_| Box::pin(async { SendOutcome::Sent("shown".to_owned()) }));
    let delivery = Delivery::default();
    let senders = Senders { mail: email::Mailer::new(&delivery), delivery, http: None, present };
    let now = at("2030-01-07T11:46:00Z");
    let send = async |channel: Channel, now| {
        assistant.send(&senders, Notification { channel, ..urgent.clone() }, now).await.unwrap()
    };
    prefer(&assistant, &user, |preferences| preferences.quiet = Some(quiet(11, 12))).await;
    for channel in [Channel::Call, Channel::Email, Channel::Popup, Channel::Desktop] {
        assert_eq!(send(channel, now).await, SendOutcome::Held(at("2030-01-07T12:00:00Z")), "{channel:?}");
    }
    let saturday = at("2030-01-12T09:00:00Z");
    prefer(&assistant, &user, |preferences| preferences.quiet = None).await;
    assert!(matches!(send(Channel::Call, now).await, SendOutcome::Simulated(_)));
    // The round holds it as the send says, and tries again when the quiet hours are over.
    prefer(&assistant, &user, |preferences| preferences.quiet = Some(quiet(11, 12))).await;
    let next = assistant.dispatch_due(&senders, "hub", || now, &CancellationToken::new()).await.unwrap();
    assert_eq!(next, Some(millis(at("2030-01-07T12:00:00Z"))));
    let held = all(&assistant, &user).await.remove(0);
    assert_eq!((held.status, held.sent_at), (Status::Planned, None));
    assert_eq!(assistant.attempts(&held.id).await.unwrap()[0].outcome.as_deref(), Some("held"));
    let later = at("2030-01-07T12:00:30Z");
    assistant.dispatch_due(&senders, "hub", || later, &CancellationToken::new()).await.unwrap();
    assert_eq!(all(&assistant, &user).await.remove(0).status, Status::Simulated);
    assert_eq!(blocked_by(&Preferences::default(), Channel::Call, saturday), Some(Blocked::Weekend));
    assert_eq!(blocked_by(&Preferences::default(), Channel::Email, saturday), None);
}

/// Imports the calendar with more events like its own in it.
async fn take(assistant: &Assistant, user: &UserId, now: Timestamp, others: &[&str]) {
    let one = &CALENDAR[CALENDAR.find("BEGIN:VEVENT").unwrap()..CALENDAR.find("END:VCALENDAR").unwrap()];
    let more: String =
        others.iter().map(|name| one.replace("a@test", name).replace("Review", name)).collect();
    let place = "a".to_owned();
    let origin = Origin { user: user.clone(), source: CalendarSource::File, name: place.clone(), place };
    let text = CALENDAR.replace("END:VCALENDAR", &format!("{more}END:VCALENDAR"));
    assistant.import(&origin, text, "test", now, NO_PROGRESS).await.unwrap();
}

#[tokio::test]
async fn what_was_held_is_told_in_one_piece_without_what_was_called_off_meanwhile() {
    let (assistant, user, now) = planned_assistant().await;
    take(&assistant, &user, now, &["Lunch", "Walk", "Swim"]).await;
    let folder = tempfile::tempdir().unwrap();
    let mail = Some(Mail::Folder(folder.path().to_owned()));
    let delivery = Delivery { mail, ..Delivery::default() };
    let present: PresentFn = Arc::new(|_| Box::pin(async { SendOutcome::Sent("shown".to_owned()) }));
    let senders = Senders { mail: email::Mailer::new(&delivery), delivery, http: None, present };
    prefer(&assistant, &user, |preferences| preferences.quiet = Some(quiet(11, 12))).await;
    let round = async |text: &str| {
        assistant.dispatch_due(&senders, "hub", || at(text), &CancellationToken::new()).await.unwrap()
    };
    // Long after it was due, in the quiet hours: each is held for itself.
    assert_eq!(round("2030-01-07T11:59:00Z").await, Some(millis(at("2030-01-07T12:00:00Z"))));
    let standing =
        async |status| all(&assistant, &user).await.iter().filter(|one| one.status == status).count();
    assert_eq!((standing(Status::Planned).await, standing(Status::Merged).await), (4, 0));
    let noon = at("2030-01-07T12:00:00Z");
    assistant.merge_missed(noon).await.unwrap();
    assert_eq!((standing(Status::Planned).await, standing(Status::Merged).await), (1, 3));
    let off = all(&assistant, &user).await.into_iter().find(|one| one.status == Status::Merged).unwrap();
    assistant.cancel_events(std::slice::from_ref(&off.event), "test", noon).await.unwrap();
    round("2030-01-07T12:00:00Z").await;
    assert_eq!((standing(Status::Sent).await, standing(Status::Merged).await), (1, 3));
    let mails: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|mail| mail.unwrap().path()).collect();
    assert_eq!(mails.len(), 1);
    let mail = std::fs::read_to_string(&mails[0]).unwrap();
    let (_, kept) = mail.split_once("Kept until the quiet hours were over:\r\n").expect(&mail);
    assert_eq!(kept.trim_end().lines().count(), 2, "{mail}");
    let told = ["Review", "Lunch", "Walk", "Swim"].into_iter().filter(|title| mail.contains(title)).count();
    let (off, _) = off.wording.subject.split_once(" in ").unwrap();
    assert!(told == 3 && !mail.contains(off) && !mail.contains("Missed"), "{mail}");
    // The time until the event would be wrong.
    assert!(
        !mail.contains("15 minutes") && mail.matches("Monday, 7 January 2030, 12:00 (UTC)").count() == 4,
        "{mail}"
    );
}

#[tokio::test]
async fn to_be_held_is_no_try() {
    let (assistant, user, _) = planned_assistant().await;
    let one = async || all(&assistant, &user).await.remove(0);
    let end = async |outcome: SendOutcome| {
        let now = one().await.try_at;
        let leased = lease(&assistant, now, 10).await;
        assistant.record(&leased[0], &outcome, now).await.unwrap();
        one().await.status
    };
    let away = || SendOutcome::Failed("the server is away".to_owned());
    for _ in 1..MIN_TRIES {
        let later = one().await.try_at + SignedDuration::from_hours(8);
        assert_eq!(end(SendOutcome::Held(later)).await, Status::Planned);
        assert_eq!(one().await.try_at, later);
        assert_eq!(end(away()).await, Status::Planned);
    }
    assert_eq!(end(away()).await, Status::Dead, "five times it was tried");
}

#[tokio::test]
async fn a_call_is_never_placed_twice_by_itself_and_a_mail_is_sent_again() {
    let (assistant, user, _) = planned_assistant().await;
    // Leased, and never settled: the hub went away in between.
    let vanish = async |now: Timestamp| {
        let until = millis(now) + 1000;
        assert_eq!(lease(&assistant, now, 10).await.len(), 1);
        assistant.resolve_expired_leases(now, now).await.unwrap();
        assert_eq!(all(&assistant, &user).await.last().unwrap().status, Status::Sending, "the lease lasts");
        let later = rows::instant(until + 1);
        assistant.resolve_expired_leases(later, later).await.unwrap();
        all(&assistant, &user).await.pop().unwrap()
    };
    let mail = vanish(at("2030-01-07T11:46:00Z")).await;
    assert_eq!((mail.channel, mail.status), (Channel::Email, Status::Planned));
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T11:46:05Z"), SendOutcome::Sent("ok".to_owned())).await,
        1
    );
    let tries = assistant.attempts(&mail.id).await.unwrap();
    let outcomes: Vec<_> = tries.iter().map(|one| one.outcome.as_deref().unwrap()).collect();
    assert_eq!(outcomes, ["unknown", "sent"]);

    assistant.escalate(at("2030-01-07T11:52:00Z")).await.unwrap();
    let now = at("2030-01-07T11:52:30Z");
    let call = vanish(now).await;
    assert_eq!((call.channel, call.status), (Channel::Call, Status::Unknown));
    assert_eq!(
        lease_and_record(&assistant, at("2030-01-07T12:30:00Z"), SendOutcome::Sent("rang".to_owned())).await,
        0
    );
    let settled = assistant.resolve(&call.id, ResolvedAs::Sent, "test", now).await.unwrap();
    assert_eq!(settled.status, Status::Sent);
    assert!(assistant.retry(&call.id, "test", now).await.is_err(), "it was told");
}

#[tokio::test]
async fn a_lease_that_the_hub_does_not_know_of_is_sent_at_once() {
    let (assistant, user, _) = planned_assistant().await;
    let now = at("2030-01-07T11:46:00Z");
    // The database committed it, and the connection broke before the answer.
    assert_eq!(lease(&assistant, now, 10).await.len(), 1);
    let senders = Senders::new(Delivery::default(), Arc::new(|_| Box::pin(async { unreachable!("a mail") })));
    assistant.dispatch_due(&senders, "hub", || now, &CancellationToken::new()).await.unwrap();
    let mail = all(&assistant, &user).await.remove(0);
    assert_eq!((mail.status, mail.attempts), (Status::Simulated, 1));
}

#[tokio::test]
async fn nothing_goes_out_for_an_event_that_was_cancelled_behind_our_back() {
    let (assistant, user, now) = planned_assistant().await;
    let notification = all(&assistant, &user).await.remove(0);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = told.clone();
    let present: PresentFn = Arc::new(move |shown| {
        seen.lock().unwrap().push(shown.notification.wording.subject);
        Box::pin(async { SendOutcome::Sent("shown".to_owned()) })
    });
    let delivery = Delivery::default();
    let senders = Senders { mail: email::Mailer::new(&delivery), delivery, http: None, present };
    let popup = Notification { channel: Channel::Popup, ..notification.clone() };
    assert_eq!(
        assistant.send(&senders, popup.clone(), now).await.unwrap(),
        SendOutcome::Sent("shown".to_owned())
    );
    let mail = assistant.send(&senders, notification.clone(), now).await.unwrap();
    assert_eq!(mail, SendOutcome::Simulated("no mail server is configured".to_owned()));
    let call = assistant
        .send(&senders, Notification { channel: Channel::Call, ..notification.clone() }, now)
        .await
        .unwrap();
    assert_eq!(call, SendOutcome::Simulated("no provider of calls is configured".to_owned()));
    assistant.cancel_events(std::slice::from_ref(&notification.event), "test", now).await.unwrap();
    let withdrawn = assistant.send(&senders, popup, now).await.unwrap();
    assert_eq!(withdrawn, SendOutcome::Withdrawn("the event does not take place".to_owned()));
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_failed_mail_is_retried_until_its_event_starts_and_escalates_meanwhile() {
    let (assistant, user, _) = planned_assistant().await;
    let start = at("2030-01-07T12:00:00Z");
    let (mut tries, mut last) = (0, Timestamp::MIN);
    let mail = loop {
        let mail = all(&assistant, &user).await.remove(0);
        if mail.status != Status::Planned {
            break mail;
        }
        let now = mail.try_at;
        assert!(last < now && now < start, "try {tries} at {now}");
        let leased = lease(&assistant, now, 1).await;
        assert_eq!(leased[0].id, mail.id.as_str());
        assistant.record(&leased[0], &SendOutcome::Failed("greylisted".to_owned()), now).await.unwrap();
        assistant.escalate(now).await.unwrap();
        (tries, last) = (tries + 1, now);
        let escalated = all(&assistant, &user).await.len() > 1;
        assert_eq!(escalated, tries >= MIN_TRIES, "after {tries} tries");
        // What it escalates to is due too, and goes out.
        for row in lease(&assistant, now, 1).await {
            assistant.record(&row, &SendOutcome::Sent("rang".to_owned()), now).await.unwrap();
        }
    };
    assert_eq!(mail.status, Status::Dead);
    assert!(tries > 8 && start.duration_since(last) < SignedDuration::from_secs(30), "{tries} until {last}");
}

#[test]
fn a_wait_grows_and_has_an_end() {
    for attempt in 0..40 {
        let wait = backoff(attempt);
        assert!((1000..=1000 + BACKOFF_MS.1).contains(&wait), "{attempt}: {wait}");
    }
}

#[tokio::test]
async fn the_demo_shows_and_sends_something_whenever_it_is_looked_at() {
    // A Monday and a Saturday, at night too.
    for day in ["2030-01-07", "2030-01-12"] {
        for hour in [0, 3, 6, 9, 12, 15, 18, 21, 23] {
            let now = at(&format!("{day}T{hour:02}:30:00Z"));
            let assistant = Assistant::new(Store::new(Database::Memory), Events::new());
            assistant.fill_demo(now).await.unwrap();
            let user = UserId::parse("demo").unwrap();
            let told = all(&assistant, &user).await;
            assert!(told.len() >= 6, "{now}: {told:#?}");
            assert!(told.iter().all(|one| !one.reasons.is_empty() && !one.wording.subject.is_empty()));
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("spool/mail");
            let mail = Some(Mail::Folder(folder.clone()));
            let delivery = Delivery { mail, ..Delivery::default() };
            let present: PresentFn = Arc::new(|_| Box::pin(async { SendOutcome::Sent("shown".to_owned()) }));
            let senders = Senders { mail: email::Mailer::new(&delivery), delivery, http: None, present };
            let soon = now + SignedDuration::from_secs(65);
            assistant.dispatch_due(&senders, "hub", || soon, &CancellationToken::new()).await.unwrap();
            let mails = std::fs::read_dir(&folder).unwrap().count();
            for private in [&folder, &home.path().join("spool")] {
                let mode = std::fs::metadata(private).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "others may read {}", private.display());
            }
            let gone = all(&assistant, &user).await;
            let gone =
                gone.iter().filter(|one| matches!(one.status, Status::Sent | Status::Simulated)).count();
            assert!(mails >= 1 && gone == 2, "{now}: {mails} mails of {gone} that went out");
        }
    }
}
