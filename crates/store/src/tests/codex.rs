//! The story of Codex threads on SQLite and PostgreSQL: started, continued, resumed, searched, paged.

use super::file_store;
use super::postgres::Postgres;
use crate::Store;
use crate::codex::turn_handles;
use crate::codex::turn_handles::Handle;
use crate::codex::{self, Change, NewItem, NewThread, Query};
use adjutant_base::config::Database;

fn thread(id: &str, title: &str, at: i64) -> Change {
    Change::Thread(NewThread {
        id: id.to_owned(),
        backend: "app-server".to_owned(),
        version: "0.169.0".to_owned(),
        cwd: "/code/100%_sure".to_owned(),
        model: "m".to_owned(),
        title: title.to_owned(),
        settings: "{}".to_owned(),
        parent: String::new(),
        at,
    })
}

fn began(thread: &str, turn: &str, at: i64) -> Change {
    Change::TurnStarted { thread: thread.to_owned(), turn: turn.to_owned(), at }
}

fn ended(thread: &str, turn: &str, end: &str, tokens: i64, at: i64) -> Change {
    let failure = (end == "failed").then(|| "401 Unauthorized".to_owned());
    let (thread, turn, end) = (thread.to_owned(), turn.to_owned(), end.to_owned());
    Change::TurnEnded {
        thread,
        turn,
        end,
        failure,
        tokens,
        context: (7, 100),
        diff: "-old\n+new".to_owned(),
        at,
    }
}

fn item(thread: &str, id: &str, text: &str, at: i64) -> Change {
    Change::Item(NewItem {
        thread: thread.to_owned(),
        id: id.to_owned(),
        turn: "0".to_owned(),
        kind: "agent".to_owned(),
        text: text.to_owned(),
        body: format!("{{\"text\":\"{text}\"}}"),
        at,
    })
}

fn query(text: &str, limit: u32) -> Query {
    Query { text: text.to_owned(), limit, ..Query::default() }
}

async fn names(store: &Store, text: &str, before: Option<(i64, &str)>, limit: u32) -> Vec<String> {
    let threads = codex::threads(store, &query(text, limit), before).await.unwrap();
    threads.into_iter().map(|thread| thread.id).collect()
}

async fn tell(store: &Store) {
    let changes = vec![
        thread("a", "Put the tides in order", 1_000),
        began("a", "0", 1_010),
        item("a", "i1", "The Low tide", 1_020),
        item("a", "i2", "50% done", 1_030),
        ended("a", "0", "completed", 24, 1_040),
        thread("b", "Another", 2_000),
        began("b", "0", 2_010),
        // This thread is unknown.
        item("nobody", "i1", "lost", 2_020),
        began("nobody", "0", 2_020),
    ];
    codex::record(store, changes).await.unwrap();
    let a = codex::thread(store, "a").await.unwrap().unwrap();
    assert_eq!((a.tokens, a.updated_at, a.last_end.as_deref()), (24, 1_040, Some("completed")));
    assert_eq!(codex::thread(store, "b").await.unwrap().unwrap().last_end, None, "it still runs");
    assert!(codex::thread(store, "nobody").await.unwrap().is_none());
    assert_eq!(names(store, "", None, 10).await, ["b", "a"]);

    // A new process resumes it: its title and age stay, names of turns start over, items are recorded again.
    let changes = vec![
        thread("a", "Go on", 3_000),
        began("a", "0", 3_010),
        item("a", "i2", "100% done", 3_020),
        ended("a", "0", "failed", 30, 3_030),
    ];
    codex::record(store, changes).await.unwrap();
    let a = codex::thread(store, "a").await.unwrap().unwrap();
    assert_eq!((a.title.as_str(), a.created_at, a.tokens), ("Put the tides in order", 1_000, 30));
    assert_eq!(a.last_failure.as_deref(), Some("401 Unauthorized"));
    assert_eq!((a.context, a.context_window), (7, 100));
    let items = codex::items(store, "a", &query("", 10), None).await.unwrap();
    let items: Vec<_> = items.iter().map(|item| (item.seq, item.id.as_str(), item.body.as_str())).collect();
    assert_eq!(items, [(2, "i2", "{\"text\":\"100% done\"}"), (1, "i1", "{\"text\":\"The Low tide\"}")]);

    // Searches treat no character as a pattern; a page continues after the last thread of the page before.
    assert_eq!(names(store, "low TIDE", None, 10).await, ["a"]);
    assert_eq!(names(store, "100%", None, 10).await, ["a", "b"]);
    assert_eq!(names(store, "100%_s", None, 10).await, ["a", "b"]);
    assert_eq!(names(store, "100__", None, 10).await, [""; 0]);
    assert_eq!(names(store, "", None, 1).await, ["a"]);
    assert_eq!(names(store, "", Some((3_030, "a")), 1).await, ["b"]);
    let older = codex::items(store, "a", &query("", 1), Some(2)).await.unwrap();
    assert_eq!(older.iter().map(|item| item.seq).collect::<Vec<_>>(), [1]);
    assert_eq!(codex::items(store, "a", &query("50%", 10), None).await.unwrap(), []);

    // Archived threads and those of agents have lists of their own; a deleted thread takes its items with it.
    let Change::Thread(of_agent) = thread("s", "Sub", 4_000) else { unreachable!() };
    let changes = vec![
        Change::Thread(NewThread { parent: "a".to_owned(), ..of_agent }),
        item("s", "i1", "ebb", 4_010),
        Change::Archived { thread: "b".to_owned(), archived: true },
        Change::Title { thread: "a".to_owned(), title: "Tides".to_owned() },
    ];
    codex::record(store, changes).await.unwrap();
    let listed = async |query: Query| {
        let threads = codex::threads(store, &query, None).await.unwrap();
        threads.into_iter().map(|thread| thread.title).collect::<Vec<_>>()
    };
    assert_eq!(listed(query("", 10)).await, ["Tides"]);
    assert_eq!(listed(query("ebb", 10)).await, ["Sub"]);
    assert_eq!(listed(Query { archived: true, ..query("", 10) }).await, ["Another"]);
    assert_eq!(listed(Query { parent: "a".to_owned(), ..query("", 10) }).await, ["Sub"]);
    let last = codex::last_of_kind(store, "a", "agent").await.unwrap();
    assert_eq!(last.map(|item| item.id).as_deref(), Some("i2"));
    assert_eq!(codex::diffs(store, "a").await.unwrap(), [("0".to_owned(), "-old\n+new".to_owned())]);
    // The threads of its agents are deleted with it.
    codex::record(store, vec![Change::Deleted { thread: "a".to_owned() }]).await.unwrap();
    assert_eq!(codex::items(store, "s", &query("", 10), None).await.unwrap(), []);
}

/// Orphaned turns are ended once, with an item at the place where they break off.
async fn cut_off(store: &Store) {
    let changes = vec![
        thread("a", "One", 1_000),
        began("a", "0", 1_010),
        item("a", "i1", "half", 1_020),
        thread("b", "Two", 1_000),
        began("b", "0", 1_010),
        ended("b", "0", "completed", 5, 1_020),
        began("b", "1", 1_030),
    ];
    codex::record(store, changes).await.unwrap();
    let silent = async |since| {
        let silent = codex::without_heartbeat(store, since).await.unwrap();
        silent.into_iter().map(|(thread, turn)| format!("{thread}/{turn}")).collect::<Vec<_>>()
    };
    assert_eq!(silent(1_010).await, [""; 0]);
    assert_eq!(silent(1_031).await, ["a/0", "b/1"]);
    codex::heartbeat(store, vec!["b".to_owned()], vec![], 2_000).await.unwrap();
    assert_eq!(silent(2_000).await, ["a/0"]);
    let Change::Item(word) = item("a", "cut", "the turn was cut off", 3_000) else { unreachable!() };
    let cut = codex::OrphanedTurn { failure: "its hub ended".to_owned(), item: word };
    codex::end_orphaned(store, vec![cut.clone()]).await.unwrap();
    let a = codex::thread(store, "a").await.unwrap().unwrap();
    let end = (a.last_end.as_deref(), a.last_failure.as_deref(), a.updated_at);
    assert_eq!(end, (Some("interrupted"), Some("its hub ended"), 1_000));
    // A second hub that found the turn too adds nothing.
    let again = NewItem { id: "again".to_owned(), ..cut.item.clone() };
    codex::end_orphaned(store, vec![codex::OrphanedTurn { item: again, ..cut }]).await.unwrap();
    let items = codex::items(store, "a", &query("", 10), None).await.unwrap();
    assert_eq!(items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["cut", "i1"]);
    // A turn that starts over under an old name counts from its new start.
    codex::record(store, vec![began("b", "1", 4_000)]).await.unwrap();
    assert_eq!(silent(4_000).await, [""; 0]);
}

#[tokio::test]
async fn left_turns_in_memory() {
    cut_off(&Store::new(Database::Memory)).await;
}

#[tokio::test]
async fn left_turns_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    cut_off(&postgres.store("left_turns").await).await;
}

/// Handles of turns: found by their owner alone, ended once, and the oldest deleted.
async fn hand_out(store: &Store) {
    let handle = |id: &str, at| Handle {
        id: id.to_owned(),
        owner: "ann".to_owned(),
        thread: "a".to_owned(),
        created_at: at,
        updated_at: at,
        ended: None,
        answer: None,
        failure: None,
    };
    let open = handle("codex-turn-1", 1_000);
    turn_handles::add(store, open.clone()).await.unwrap();
    assert!(turn_handles::add(store, open.clone()).await.is_err(), "a name is given once");
    assert_eq!(turn_handles::find(store, "bob", "codex-turn-1").await.unwrap(), None);
    codex::heartbeat(store, vec![], vec![open.id.clone()], 1_500).await.unwrap();
    let found = turn_handles::find(store, "ann", "codex-turn-1").await.unwrap().unwrap();
    assert_eq!(found, Handle { updated_at: 1_500, ..open.clone() });
    let ended = Handle {
        ended: Some("completed".to_owned()),
        answer: Some("done".to_owned()),
        updated_at: 2_000,
        ..open.clone()
    };
    turn_handles::end(store, ended.clone()).await.unwrap();
    turn_handles::end(store, Handle { ended: Some("lost".to_owned()), answer: None, ..ended.clone() })
        .await
        .unwrap();
    codex::heartbeat(store, vec![], vec![open.id.clone()], 9_000).await.unwrap();
    assert_eq!(turn_handles::find(store, "ann", "codex-turn-1").await.unwrap(), Some(ended));
    for at in 0..2_048 {
        turn_handles::add(store, handle(&format!("codex-turn-later-{at}"), 3_000 + at)).await.unwrap();
    }
    assert_eq!(turn_handles::find(store, "ann", "codex-turn-1").await.unwrap(), None);
    assert!(turn_handles::find(store, "ann", "codex-turn-later-0").await.unwrap().is_some());
}

#[tokio::test]
async fn handed_out_turns_in_memory() {
    hand_out(&Store::new(Database::Memory)).await;
}

#[tokio::test]
async fn handed_out_turns_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    hand_out(&postgres.store("handed_out").await).await;
}

#[tokio::test]
async fn threads_in_a_file() {
    let (_folder, store) = file_store();
    tell(&store).await;
}

#[tokio::test]
async fn threads_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    tell(&postgres.store("threads").await).await;
}
