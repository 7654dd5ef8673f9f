//! The story of questions on SQLite and PostgreSQL: exactly one of several decisions of a question counts.

use sqlx::{AssertSqlSafe, Row as _};

use super::file_store;
use super::postgres::Postgres;
use crate::Store;
use crate::questions;
use crate::questions::{Asked, Decision, Limits, NewQuestion, State, View};
use adjutant_base::config::Database;

const ROOMY: Limits = Limits { each_asker: 20_000, total: 20_000, attach_only: false };

fn question(id: &str, asker: &str) -> NewQuestion {
    NewQuestion {
        id: id.to_owned(),
        fingerprint: format!("print of {id}"),
        asker: asker.to_owned(),
        continues: true,
        client: "codex".to_owned(),
        session: format!("session of {asker}"),
        stream: String::new(),
        request: String::new(),
        workspace: "/work".to_owned(),
        title: format!("Title of {id}"),
        level: "normal".to_owned(),
        message: "50% sure?".to_owned(),
        form: "{}".to_owned(),
        asked_at: 1_000,
        deadline: 9_000,
        default_after: None,
        addressee: String::new(),
    }
}

fn decision(id: &str, who: &str, held_until: Option<i64>) -> Decision {
    Decision {
        id: id.to_owned(),
        kind: "answered".to_owned(),
        outcome: format!(r#"{{"who":"{who}"}}"#),
        event: "answered".to_owned(),
        who: who.to_owned(),
        now: 2_000,
        held_until,
        requests: None,
        files: Vec::new(),
    }
}

async fn tell(hubs: &[Store]) {
    let [first, .., last] = hubs else { panic!("a story of several hubs") };
    let new = |id: &str| Asked::New { id: id.to_owned() };
    assert_eq!(questions::ask(first, question("a", "ann"), ROOMY).await.unwrap(), new("a"));
    let same = NewQuestion { fingerprint: "print of a".to_owned(), ..question("other", "bob") };
    let apart = NewQuestion {
        fingerprint: same.fingerprint.clone(),
        title: "Apart".to_owned(),
        message: String::new(),
        ..question("apart", "cat")
    };
    assert_eq!(questions::ask(last, apart, ROOMY).await.unwrap(), new("apart"), "ann is connected");
    assert!(questions::withdraw(last, "apart", "cat", "{}", 1_000).await.unwrap());
    let own = Limits { each_asker: 1, ..ROOMY };
    let full = questions::ask(first, question("b", "ann"), own).await.unwrap();
    assert_eq!(full, Asked::Full { pending: 1, own: true });
    let closed = Limits { attach_only: true, ..ROOMY };
    assert_eq!(questions::ask(first, question("b", "ann"), closed).await.unwrap(), Asked::Closed);
    // The question of an ended session passes to the next session of its place.
    assert_eq!(questions::session_closed(first, "session of ann", 1_000).await.unwrap(), 1);
    let joined = questions::ask(last, same.clone(), ROOMY).await.unwrap();
    assert_eq!(joined, Asked::Joined { id: "a".to_owned() });

    for (now, seen_ms) in [(1_000, 0), (6_000, 5_000), (60_000, 5_000), (61_000, 6_000), (50_000, 6_000)] {
        let look = View { id: "a".to_owned(), now, gap: 15_000, who: "browser".to_owned() };
        assert_eq!(questions::mark_seen(first, look).await.unwrap(), now == 1_000);
        assert_eq!(questions::get(last, "a").await.unwrap().unwrap().seen_ms, seen_ms, "at {now}");
    }
    assert!(questions::snooze(first, "a", "browser", 2_000, 5_000).await.unwrap());
    assert_eq!(questions::get(last, "a").await.unwrap().unwrap().deadline, 12_000);
    assert!(!questions::end_snooze(last, "a", 4_999).await.unwrap());
    assert!(questions::end_snooze(last, "a", 5_000).await.unwrap());

    // Many decisions at the same moment, on every hub.
    let racing = (0..24).map(|n: usize| {
        let hub = hubs[n % hubs.len()].clone();
        async move { questions::decide(&hub, decision("a", &n.to_string(), Some(3_000))).await.unwrap() }
    });
    let won: Vec<bool> = futures::future::join_all(racing).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let row = questions::get(first, "a").await.unwrap().unwrap();
    assert_eq!((row.state, row.deliveries, row.present), (State::Held, 1, 1));
    assert!(!questions::make_final(last, "a", 2_999).await.unwrap());
    assert!(questions::undo(last, "a", "browser", 2_999).await.unwrap());
    assert!(!questions::undo(last, "a", "browser", 2_999).await.unwrap());
    assert!(questions::decide(first, decision("a", "again", Some(3_000))).await.unwrap());
    assert!(!questions::undo(last, "a", "browser", 3_000).await.unwrap(), "the window is over");
    let due = questions::due_now(last, 3_000, 0, 10).await.unwrap();
    assert_eq!((due.held.as_slice(), due.timed_out.as_slice()), (&["a".to_owned()][..], &[][..]));
    assert!(questions::make_final(last, "a", 3_000).await.unwrap());

    for (workspace, found) in [(None, 1), (Some("/work"), 1), (Some("/wor"), 0), (Some(""), 0)] {
        assert_eq!(questions::undelivered(first, "bob", workspace, 9).await.unwrap().len(), found);
    }
    let again = questions::ask(last, same, ROOMY).await.unwrap();
    assert_eq!(again, Asked::Joined { id: "a".to_owned() }, "an answer that nobody fetched is joined");
    assert!(questions::mark_delivered(first, "a", "bob", 4_000).await.unwrap());
    assert!(!questions::mark_delivered(last, "a", "bob", 4_000).await.unwrap());
    assert!(questions::undelivered(first, "bob", None, 9).await.unwrap().is_empty());
    assert!(questions::undelivered(first, "ann", None, 9).await.unwrap().is_empty());
    for (text, kind, found) in
        [("title OF", "", 1), ("50%", "answered", 1), ("5_%", "", 0), ("", "declined", 0)]
    {
        assert_eq!(
            questions::history(last, questions::ALL, text, kind, None, 9).await.unwrap().len(),
            found,
            "{text} {kind}"
        );
        assert_eq!(questions::count_history(last, questions::ALL, text, kind).await.unwrap(), found as u64);
    }

    streams(first, last).await;

    assert_eq!(questions::ask(first, question("g", "gus"), ROOMY).await.unwrap(), new("g"));
    assert_eq!(questions::session_closed(first, "session of gus", 5_000).await.unwrap(), 1);
    assert!(!questions::end_abandoned(last, "g", "{}", 4_999, 6_000).await.unwrap(), "within its grace");
    assert!(questions::end_abandoned(last, "g", "{}", 5_000, 6_000).await.unwrap());
    let kinds: Vec<String> =
        questions::events(first, "g").await.unwrap().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["asked", "client_gone"]);

    kept(first, last).await;
    let pending = questions::pending(first, questions::ALL, None, 1_000).await.unwrap().len() as u64;
    assert_eq!(
        questions::count_pending(last, questions::ALL).await.unwrap(),
        pending,
        "the count is that of the rows"
    );
}

/// Deletes old questions: a pending one and an undelivered answer stay, the others go with all their rows.
async fn kept(first: &Store, last: &Store) {
    for id in ["got", "late", "open", "over"] {
        questions::ask(first, question(id, &format!("asker of {id}")), ROOMY).await.unwrap();
    }
    let over = Decision { kind: "timed_out".to_owned(), ..decision("over", "x", None) };
    for decided in [decision("got", "x", None), decision("late", "x", None), over] {
        assert!(questions::decide(first, decided).await.unwrap());
    }
    assert!(questions::mark_delivered(first, "got", "asker of got", 3_000).await.unwrap());
    while questions::prune(last, 2_000).await.unwrap() > 0 {}
    assert!(questions::get(first, "got").await.unwrap().is_some(), "it was decided at that instant");
    let left = async |id: &str| {
        while questions::prune(last, 2_001).await.unwrap() > 0 {}
        let events = questions::events(first, id).await.unwrap().len();
        (questions::get(first, id).await.unwrap().is_some(), events > 0)
    };
    assert_eq!(left("got").await, (false, false));
    assert_eq!(left("over").await, (false, false), "its asker gets no answer");
    assert_eq!(left("open").await, (true, true));
    assert_eq!(left("late").await, (true, true), "nobody has this answer");
    assert!(questions::mark_delivered(first, "late", "asker of late", 9_000).await.unwrap());
    assert_eq!(left("late").await, (false, false));
}

/// Asks two questions on one stream and reads their events.
async fn streams(first: &Store, last: &Store) {
    for id in ["s1", "s2"] {
        let new = NewQuestion { stream: "s".to_owned(), request: format!("\"{id}\""), ..question(id, "sue") };
        questions::ask(first, new, ROOMY).await.unwrap();
    }
    let reused =
        NewQuestion { stream: "s".to_owned(), request: "\"s1\"".to_owned(), ..question("s3", "sue") };
    assert_eq!(questions::ask(last, reused, ROOMY).await.unwrap(), Asked::SameRequest);
    assert!(questions::due_events(first, "s", None).await.unwrap().is_empty());
    for id in ["s2", "s1"] {
        assert!(questions::decide(first, decision(id, "x", None)).await.unwrap());
    }
    let events = |due: Vec<(i64, String, questions::Question)>| -> Vec<(i64, String)> {
        due.into_iter().map(|(event, request, _)| (event, request)).collect()
    };
    let both = events(questions::due_events(last, "s", None).await.unwrap());
    assert_eq!(both, [(1, "\"s1\"".to_owned()), (2, "\"s2\"".to_owned())]);
    assert!(questions::mark_sent(first, "s", 1, Some(1), 5_000).await.unwrap());
    assert_eq!(events(questions::due_events(last, "s", None).await.unwrap()), both[1..]);
    assert!(questions::mark_sent(first, "s", 2, Some(2), 5_000).await.unwrap());
    assert!(questions::due_events(last, "s", None).await.unwrap().is_empty());
    assert_eq!(
        events(questions::due_events(last, "s", Some(1)).await.unwrap()),
        both[1..],
        "behind the last that was seen"
    );
    assert!(
        questions::due_events(last, "t", Some(0)).await.unwrap().is_empty(),
        "another stream sees nothing of it"
    );
}

#[tokio::test]
async fn questions_in_memory_and_in_a_file() {
    let memory = Store::new(Database::Memory);
    tell(&[memory.clone(), memory]).await;
    let (_folder, store) = file_store();
    tell(&[store.clone(), store]).await;
}

#[tokio::test]
async fn questions_in_postgresql_on_several_hubs() {
    let Some(postgres) = Postgres::start() else { return };
    tell(&[postgres.store("asked").await, postgres.another_hub("asked"), postgres.another_hub("asked")])
        .await;
}

#[tokio::test]
async fn a_deleted_question_leaves_no_text_in_the_file() {
    let (folder, store) = file_store();
    let secret = "the launch code is 4711-0815";
    let new = NewQuestion { message: secret.to_owned(), ..question("a", "ann") };
    questions::ask(&store, new, ROOMY).await.unwrap();
    questions::decide(&store, decision("a", secret, None)).await.unwrap();
    questions::mark_delivered(&store, "a", "ann", 3_000).await.unwrap();
    assert_eq!(questions::prune(&store, 9_000).await.unwrap(), 1);
    store.close().await;
    for entry in std::fs::read_dir(folder.path().join("home")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[tokio::test]
async fn no_statement_of_one_question_reads_all_the_others() {
    let store = Store::new(Database::Memory);
    let mut connection = store.read().await.unwrap();
    for sql in questions::PER_QUESTION.iter().copied().flatten() {
        let plan = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")));
        for step in plan.fetch_all(&mut *connection).await.unwrap() {
            let step: String = step.get(3);
            // Of questions with a default, the index holds those that were seen.
            let is_small = ["CONSTANT ROW", "question_counts", "questions_default"];
            let scans = step.starts_with("SCAN") && !is_small.iter().any(|small| step.contains(small));
            assert!(!scans, "{step}\n{sql}");
        }
    }
}

#[tokio::test]
async fn a_page_of_ten_thousand_is_read_at_once() {
    let (_folder, store) = file_store();
    let asked = (0..10_000).map(|n| {
        let store = store.clone();
        async move {
            questions::ask(&store, question(&format!("q{n}"), &format!("asker {}", n % 200)), ROOMY).await
        }
    });
    for entered in futures::future::join_all(asked).await {
        assert!(matches!(entered.unwrap(), Asked::New { .. }));
    }
    assert_eq!(questions::count_pending(&store, questions::ALL).await.unwrap(), 10_000);
    let start = std::time::Instant::now();
    let page = questions::pending(&store, questions::ALL, Some(9_000), 50).await.unwrap();
    assert_eq!((page.len(), page[0].seq), (50, 9_001));
    questions::due_now(&store, 2_000, 0, 100).await.unwrap();
    assert!(start.elapsed().as_millis() < 200, "{:?}", start.elapsed());
}
