//! One story of users, events, plans and the outbox, on SQLite in a file, in memory, and on PostgreSQL.

use std::time::Instant;

use sqlx::{AssertSqlSafe, Row as _};

use super::file_store;
use super::postgres::Postgres;
use crate::Store;
use crate::assistant::audit::AuditRow;
use crate::assistant::calendars::{self, CalendarRow};
use crate::assistant::events::{self, Changed, EventChange, EventRow, OccurrenceRow, Window};
use crate::assistant::notifications::{self, NotificationFilter, NotificationRow};
use crate::assistant::outbox::{self, AttemptResult, Resolution};
use crate::assistant::plans::{self, Applied, NewPlan, PlanRow};
use crate::assistant::users::{self, UserRow};
use crate::assistant::{STATEMENTS, feeds, logins, rules};
use adjutant_base::config::Database;

fn line(id: &str) -> AuditRow {
    let text = |text: &str| text.to_owned();
    AuditRow {
        id: text(id),
        at: 5,
        actor: text("me"),
        action: text("did"),
        subject: text("ann"),
        detail: text(""),
    }
}

fn user(id: &str, email: Option<&str>) -> UserRow {
    UserRow {
        id: id.to_owned(),
        name: "Änn".to_owned(),
        email: email.map(str::to_owned),
        phone: None,
        preferences: "{}".to_owned(),
        revision: 1,
        created_at: 10,
        updated_at: 10,
    }
}

fn calendar() -> CalendarRow {
    CalendarRow {
        id: "cal".to_owned(),
        user_id: "ann".to_owned(),
        name: "Work".to_owned(),
        source: "file".to_owned(),
        place: "/work.ics".to_owned(),
        etag: None,
        sync_token: None,
        read_at: None,
        refresh: String::new(),
    }
}

fn change(uid: &str, digest: &str, starts_at: i64) -> EventChange {
    let event = EventRow {
        id: format!("event-{uid}"),
        user_id: "ann".to_owned(),
        calendar_id: "cal".to_owned(),
        uid: uid.to_owned(),
        recurrence_id: String::new(),
        // The title looks like a packed row, and has more bytes than characters.
        title: format!("12 Réview ☕ 3 of {uid} "),
        status: "confirmed".to_owned(),
        starts_at,
        ends_at: starts_at + 100,
        recurs: 0,
        details: "{}".to_owned(),
        digest: digest.to_owned(),
        etag: None,
        updated_at: 20,
    };
    let occurrence = OccurrenceRow {
        event_id: event.id.clone(),
        occurrence: "first".to_owned(),
        user_id: "ann".to_owned(),
        starts_at,
        ends_at: starts_at + 100,
        adjusted: 0,
    };
    EventChange {
        event,
        fresh: true,
        source: "BEGIN:VEVENT".to_owned(),
        occurrences: vec![occurrence],
        planned_from: String::new(),
        plans: Vec::new(),
    }
}

fn plan(id: &str, dues: &[i64]) -> NewPlan {
    let plan = PlanRow {
        id: id.to_owned(),
        user_id: "ann".to_owned(),
        event_id: "event-one".to_owned(),
        occurrence: "first".to_owned(),
        plan_key: format!("key of {id}"),
        source: "policy".to_owned(),
        reasons: "[]".to_owned(),
        made_at: 30,
    };
    let notification = |due_at: &i64| NotificationRow {
        id: format!("{id}-{due_at}"),
        plan_id: id.to_owned(),
        user_id: "ann".to_owned(),
        event_id: "event-one".to_owned(),
        occurrence: "first".to_owned(),
        channel: "email".to_owned(),
        due_at: *due_at,
        urgency: "normal".to_owned(),
        status: "planned".to_owned(),
        try_at: *due_at,
        attempts: 0,
        lease_owner: None,
        lease_until: None,
        sent_at: None,
        acknowledged_at: None,
        error: None,
        details: "{}".to_owned(),
        updated_at: 30,
    };
    NewPlan { plan, notifications: dues.iter().map(notification).collect(), replaces: true }
}

async fn status(store: &Store, id: &str) -> String {
    notifications::get(store, id).await.unwrap().unwrap().status
}

fn settled(id: &str, attempt: i64, status: &str) -> AttemptResult {
    AttemptResult {
        id: id.to_owned(),
        attempt,
        outcome: "sent".to_owned(),
        detail: "ok".to_owned(),
        status: status.to_owned(),
        try_at: 0,
        sent_at: Some(9),
        error: None,
        at: 9,
    }
}

/// Lists events one and two.
async fn window_story(store: &Store) {
    let window = |until, limit| Window { user: Some("ann".to_owned()), from: 0, until, limit };
    let found = events::window(store, &window(10_000_000, 10)).await.unwrap();
    assert_eq!(found.len(), 2);
    for (uid, one) in ["one", "two"].into_iter().zip(&found) {
        let id = format!("event-{uid}");
        assert_eq!(events::get(store, &id).await.unwrap().as_ref(), Some(&one.event), "by start, all of it");
        let occurrence = events::occurrence(store, &id, "first").await.unwrap();
        assert_eq!(occurrence.as_ref(), Some(&one.occurrence));
    }
    assert_eq!(events::window(store, &window(2_000_000, 10)).await.unwrap(), found[..1]);
    assert_eq!(events::window(store, &window(10_000_000, 1)).await.unwrap(), found[..1]);
    let of_all = Window { user: None, ..window(10_000_000, 10) };
    assert_eq!(events::window(store, &of_all).await.unwrap(), found);
    let of_none = Window { user: Some("bob".to_owned()), ..of_all };
    assert_eq!(events::window(store, &of_none).await.unwrap(), []);
}

/// Adds and cancels a series of Ann.
async fn series_story(store: &Store) {
    let mut weekly = change("weekly", "d1", 1_000_000);
    weekly.event.recurs = 1;
    events::put(store, vec![weekly]).await.unwrap();
    assert_eq!(events::series(store, "", 10).await.unwrap()[0].id, "event-weekly");
    events::remove(store, vec![("event-weekly".to_owned(), line("11"))], 70).await.unwrap();
    assert!(events::series(store, "", 10).await.unwrap().is_empty(), "what was called off does not go on");
}

async fn feeds_story(store: &Store) {
    let feed = |secret: &str| feeds::NewFeed {
        user: "ann".to_owned(),
        secret: secret.to_owned(),
        digest: format!("digest of {secret}"),
        at: 25,
        audit: line(&format!("feed {secret}")),
    };
    feeds::put(store, feed("old")).await.unwrap();
    feeds::put(store, feed("new")).await.unwrap();
    assert_eq!(feeds::secret(store, "ann").await.unwrap().as_deref(), Some("new"));
    assert_eq!(feeds::owner(store, "digest of old").await.unwrap(), None, "the old one is good for nothing");
    assert_eq!(feeds::owner(store, "digest of new").await.unwrap().as_deref(), Some("ann"));
}

#[expect(clippy::too_many_lines, reason = "one story: each step builds on those before it")]
async fn story(store: &Store) {
    assert!(users::put(store, user("ann", Some("a@x")), line("1")).await.unwrap());
    assert!(!users::put(store, user("bob", Some("a@x")), line("2")).await.unwrap(), "one address, one user");
    assert!(users::put(store, user("ann", Some("a@x")), line("3")).await.unwrap());
    assert!(users::put(store, user("cat", None), line("4")).await.unwrap());
    assert!(users::put(store, user("dog", None), line("5")).await.unwrap(), "none is no address");
    for (name, gives_login) in [("ann", false), ("nobody", true)] {
        let role = (name.to_owned(), "viewer".to_owned());
        assert!(
            !logins::set_role(store, role, gives_login, 5, line(name)).await.unwrap(),
            "{name} has no login"
        );
    }
    assert_eq!(users::get(store, "ann").await.unwrap().unwrap().revision, 2);
    assert_eq!(users::list(store, "ann", 10).await.unwrap().len(), 2);
    let mut connection = store.read().await.unwrap();
    let lines = sqlx::query_scalar("SELECT COUNT(*) FROM audit WHERE subject = 'ann'");
    let lines: i64 = lines.fetch_one(&mut *connection).await.unwrap();
    drop(connection);
    assert_eq!(lines, 4, "what was refused left no line");
    let rule = rules::RuleRow {
        id: "r".to_owned(),
        user_id: "ann".to_owned(),
        kind: "vip_organizer".to_owned(),
        terms: "{}".to_owned(),
        enabled: 1,
        priority: 5,
    };
    rules::put(store, rule.clone()).await.unwrap();
    assert_eq!(rules::list(store, "ann").await.unwrap(), [rule]);
    assert_eq!(users::get(store, "ann").await.unwrap().unwrap().revision, 3, "a rule changes plans");

    let first = calendars::put(store, calendar()).await.unwrap();
    let again = CalendarRow { id: "other".to_owned(), etag: Some("v2".to_owned()), ..calendar() };
    let again = calendars::put(store, again).await.unwrap();
    assert_eq!(
        (again.id, again.etag.as_deref()),
        (first.id, Some("v2")),
        "the same place is the same calendar"
    );
    assert_eq!(calendars::refreshed(store).await.unwrap(), []);
    calendars::set_refresh(store, "cal".to_owned(), "{}".to_owned()).await.unwrap();
    calendars::put(store, calendar()).await.unwrap();
    assert_eq!(calendars::refreshed(store).await.unwrap()[0].refresh, "{}", "an import keeps it");

    let put = |change| events::put(store, vec![change]);
    assert_eq!(put(change("one", "d1", 1_000_000)).await.unwrap(), [Changed::Added]);
    let mut again = change("one", "d1", 1_000_000);
    again.event.id = "event-again".to_owned();
    let both = vec![again, change("two", "d1", 9_000_000)];
    assert_eq!(events::put(store, both).await.unwrap(), [Changed::Same, Changed::Added]);
    assert_eq!(events::get(store, "event-again").await.unwrap(), None, "it keeps its id");
    window_story(store).await;
    let sources = events::sources(store, "ann", &(i64::MIN, String::new()), 10).await.unwrap();
    assert_eq!((sources.len(), sources[0].0.uid.as_str(), sources[0].1.as_str()), (2, "one", "BEGIN:VEVENT"));
    feeds_story(store).await;

    let apply = |plan| async move { plans::apply(store, vec![plan]).await.unwrap()[0] };
    assert_eq!(apply(plan("p1", &[100_000, 200_000])).await, Applied { planned: 2, kept: 0, superseded: 0 });
    assert_eq!(apply(plan("p2", &[200_000, 300_000])).await, Applied { planned: 1, kept: 1, superseded: 1 });
    assert_eq!(status(store, "p1-100000").await, "superseded");
    let kept = notifications::get(store, "p1-200000").await.unwrap().unwrap();
    assert_eq!((kept.status.as_str(), kept.plan_id.as_str()), ("planned", "p2"));
    assert_eq!(plans::keys(store, "ann", 0, 2_000_000).await.unwrap().len(), 1, "one plan stands");
    // Another process found no plan, and made the same one a moment later, when the first time had passed.
    let mut again = plan("p2b", &[300_000]);
    (again.plan.plan_key, again.replaces) = ("key of p2".to_owned(), false);
    assert_eq!(apply(again).await, Applied { planned: 0, kept: 2, superseded: 0 });
    assert_eq!(status(store, "p1-200000").await, "planned");

    let lease = async |owner: &str, is_idle| {
        let owner = owner.to_owned();
        let request = outbox::LeaseRequest { owner, now: 250_000, until: 260_000, limit: 10, is_idle };
        outbox::lease(store, request).await.unwrap()
    };
    let leased = lease("hub", true).await;
    assert_eq!(
        leased.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["p1-200000"],
        "only what is due"
    );
    assert!(lease("other", true).await.is_empty());
    assert!(lease("hub", false).await.is_empty(), "it is being sent");
    assert_eq!(lease("hub", true).await, leased, "the hub did not know of its lease");
    assert_eq!(
        outbox::attempts(store, "p1-200000").await.unwrap()[0].outcome,
        None,
        "on disk before the send"
    );
    assert!(outbox::expired_sendings(store, 255_000, 10).await.unwrap().is_empty());
    assert_eq!(outbox::expired_sendings(store, 270_000, 10).await.unwrap().len(), 1);
    assert!(
        !outbox::record_attempt(store, settled("p1-200000", 2, "sent")).await.unwrap(),
        "another attempt's word"
    );
    assert!(outbox::record_attempt(store, settled("p1-200000", 1, "sent")).await.unwrap());
    assert!(!outbox::record_attempt(store, settled("p1-200000", 1, "dead")).await.unwrap(), "once is enough");
    assert_eq!(outbox::next(store).await.unwrap(), Some(300_000));
    assert_eq!(apply(plan("p3", &[200_000])).await, Applied { planned: 0, kept: 1, superseded: 1 });
    assert_eq!(status(store, "p1-200000").await, "sent", "what was sent is never touched");

    assert_eq!(apply(plan("p4", &[400_000])).await.planned, 1);
    let mut later = plan("p4b", &[]);
    (later.plan.plan_key, later.plan.made_at) = ("key of p4".to_owned(), 450_000);
    assert_eq!(apply(later).await, Applied { planned: 0, kept: 1, superseded: 0 });
    assert_eq!(status(store, "p4-400000").await, "planned", "what is due is sent");
    let moved = EventChange {
        fresh: false,
        planned_from: "d1".to_owned(),
        plans: vec![plan("p5", &[500_000])],
        ..change("one", "d2", 1_500_000)
    };
    assert_eq!(put(moved).await.unwrap(), [Changed::Updated { withdrawn: 1 }]);
    assert_eq!(status(store, "p4-400000").await, "cancelled");
    assert_eq!(status(store, "p5-500000").await, "planned");
    let resolve = |to: &str| {
        let (id, from, to) = ("p5-500000".to_owned(), "planned".to_owned(), to.to_owned());
        outbox::resolve(store, Resolution { id, from, to, error: None, at: 40, audit: line("6") })
    };
    assert!(resolve("unknown").await.unwrap());
    assert!(!resolve("unknown").await.unwrap(), "it stands elsewhere by now");
    assert!(outbox::acknowledge(store, "p5-500000".to_owned(), 50, line("7")).await.unwrap());
    assert!(!outbox::acknowledge(store, "p5-500000".to_owned(), 51, line("8")).await.unwrap());
    let sent = notifications::get(store, "p1-200000").await.unwrap().unwrap();
    assert_eq!(sent.acknowledged_at, Some(50), "what was told about the same is seen too");

    assert_eq!(apply(plan("p6", &[600_000])).await.planned, 1);
    let gone = vec![("event-one".to_owned(), line("9"))];
    assert_eq!(events::remove(store, gone, 60).await.unwrap(), 1);
    assert_eq!(events::get(store, "event-one").await.unwrap().unwrap().status, "cancelled");
    let filter = NotificationFilter {
        user: Some("ann".to_owned()),
        status: "planned".to_owned(),
        from: 0,
        until: 1 << 40,
    };
    assert!(notifications::list(store, &filter, 10).await.unwrap().is_empty());

    series_story(store).await;

    assert!(users::remove(store, "ann".to_owned(), line("10")).await.unwrap());
    assert_eq!(feeds::secret(store, "ann").await.unwrap(), None);
    assert!(events::get(store, "event-two").await.unwrap().is_none(), "all that was theirs is gone");
}

#[tokio::test]
async fn the_assistants_story_holds_in_a_file() {
    let (_folder, store) = file_store();
    story(&store).await;
}

#[tokio::test]
async fn the_assistants_story_holds_in_memory() {
    story(&Store::new(Database::Memory)).await;
}

#[tokio::test]
async fn the_assistants_story_holds_on_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    story(&postgres.store("assistant").await).await;
}

/// Every query that a caller waits for is a seek in an index, never a scan of a table.
#[tokio::test]
async fn no_question_reads_a_whole_table() {
    let store = Store::new(Database::Memory);
    let mut connection = store.read().await.unwrap();
    for sql in STATEMENTS.iter().copied().flatten().filter(|sql| sql.starts_with("SELECT")) {
        let explained = format!("EXPLAIN QUERY PLAN {sql}");
        let steps = sqlx::query(AssertSqlSafe(explained)).fetch_all(&mut *connection).await.unwrap();
        for step in steps {
            let step: String = step.get(3);
            // The first row of an index, the rows of a subquery and an index of the wanted rows alone are called scans,
            // but read no table.
            let allowed = sql.contains("MIN(")
                || step == "SCAN found"
                || step.ends_with("USING INDEX calendars_refreshed");
            assert!(allowed || !step.starts_with("SCAN"), "{step}\n{sql}");
        }
    }
}

/// Prints on stderr how long queries take over 100,000 events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_over_many_events_is_read_in_a_moment() {
    const EVENTS: i64 = 100_000;
    let (_folder, store) = file_store();
    users::put(&store, user("ann", None), line("1")).await.unwrap();
    calendars::put(&store, calendar()).await.unwrap();
    let started = Instant::now();
    let all: Vec<i64> = (0..EVENTS).collect();
    for batch in all.chunks(2_000) {
        let changes = batch.iter().map(|n| change(&format!("e{n}"), "d", n * 60_000)).collect();
        events::put(&store, changes).await.unwrap();
    }
    let entered = started.elapsed();
    let mut took = Vec::new();
    for n in 0..200_i64 {
        let from = n * 20_000_000;
        let started = Instant::now();
        let window = Window { user: Some("ann".to_owned()), from, until: from + 32 * 86_400_000, limit: 100 };
        assert_eq!(events::window(&store, &window).await.unwrap().len(), 100);
        took.push(started.elapsed());
    }
    took.sort();
    // Events before a window cost nothing: an event late in the calendar is read as fast as an early one.
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for n in 1..100_i64 {
        for (from, took) in [(n * 60_000, &mut early), ((EVENTS - n) * 60_000, &mut late)] {
            let window = Window { user: Some("ann".to_owned()), from, until: i64::MAX, limit: 1 };
            let started = Instant::now();
            assert_eq!(events::window(&store, &window).await.unwrap()[0].occurrence.starts_at, from);
            took.push(started.elapsed());
        }
    }
    early.sort();
    late.sort();
    assert!(late[50] < early[50] * 4, "late {:?}, early {:?}", late[50], early[50]);
    let mut gets = Vec::new();
    for n in 0..200 {
        let started = Instant::now();
        assert!(events::get(&store, &format!("event-e{}", n * 400)).await.unwrap().is_some());
        gets.push(started.elapsed());
    }
    gets.sort();
    eprintln!("entered {EVENTS} in {entered:?}; window p99 {:?}, event p99 {:?}", took[197], gets[197]);
    assert!(took[197].as_millis() < 250 && gets[197].as_millis() < 50, "{:?} {:?}", took[197], gets[197]);
}
