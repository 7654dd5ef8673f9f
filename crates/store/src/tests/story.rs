//! One story of tasks on SQLite in a file, SQLite in memory and PostgreSQL; and several hubs on one database.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::postgres::Postgres;
use super::{ROOMY, claim_of, file_store, new_task};
use crate::tasks::{
    self, Cancelled, Ending, Filter, NewEvent, NewTask, QueueLimits, Retention, Slots, State, Task,
};
use crate::{Error, Store};
use adjutant_base::config::Database;

fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

fn event(kind: &str) -> NewEvent {
    NewEvent { at: 5, kind: kind.to_owned(), data: r#"{"text":"caf\u0000é"}"#.to_owned() }
}

async fn waiting(store: &Store) {
    for (id, caller, priority, runner) in [
        ("c1", "cat", 9, "codex"),
        ("a1", "ann", 0, "codex"),
        ("a2", "ann", 5, "codex"),
        ("a3", "ann", 0, "copilot"),
        ("b1", "bob", 0, "codex"),
    ] {
        let new = NewTask { priority, runner: runner.to_owned(), ..new_task(id, caller) };
        let row = tasks::enqueue(store, new, ROOMY).await.unwrap();
        assert_eq!(tasks::get(store, id).await.unwrap().unwrap(), row, "what is answered is what is kept");
    }
    let twice = tasks::enqueue(store, new_task("a1", "bob"), ROOMY).await;
    assert!(matches!(twice, Err(Error::Exists { .. })), "{twice:?}");
    let own = QueueLimits { each_caller: 3, total: 100 };
    let full = tasks::enqueue(store, new_task("a4", "ann"), own).await;
    assert!(matches!(full, Err(Error::QueueFull { waiting: 3, own: true })), "{full:?}");
    let all = QueueLimits { each_caller: 100, total: 5 };
    let full = tasks::enqueue(store, new_task("d1", "dan"), all).await;
    assert!(matches!(full, Err(Error::QueueFull { waiting: 5, own: false })), "{full:?}");

    // No caller has had a turn yet, so the first task of each caller comes first, in the order in which they joined.
    let mut places = Vec::new();
    for id in ["c1", "a2", "b1", "a1", "a3"] {
        places.push(tasks::position(store, id).await.unwrap().unwrap());
    }
    assert_eq!(places, [1, 2, 3, 4, 5]);
    assert_eq!(tasks::position(store, "none").await.unwrap(), None);
}

async fn claims(store: &Store) -> (Task, Task) {
    let none_free = tasks::Claim { total: 0, ..claim_of("hub-1", 9) };
    assert_eq!(ids(&tasks::claim(store, none_free).await.unwrap()), [""; 0]);
    let other_runner = tasks::Claim {
        runners: vec![Slots { runner: "gemini".to_owned(), slots: 9 }],
        ..claim_of("hub-1", 9)
    };
    assert_eq!(ids(&tasks::claim(store, other_runner).await.unwrap()), [""; 0]);

    let both = |codex, copilot| {
        let slots = |runner: &str, slots| Slots { runner: runner.to_owned(), slots };
        vec![slots("codex", codex), slots("copilot", copilot)]
    };
    let first =
        tasks::claim(store, tasks::Claim { runners: both(2, 0), ..claim_of("hub-1", 9) }).await.unwrap();
    assert_eq!(ids(&first), ["c1", "a2"], "codex has two slots and copilot none");
    assert_eq!(tasks::position(store, "b1").await.unwrap(), Some(1));
    let next = tasks::Claim { total: 3, runners: both(9, 9), ..claim_of("hub-1", 9) };
    assert_eq!(ids(&tasks::claim(store, next).await.unwrap()), ["b1"], "three at once, and it is bob's turn");
    let more = tasks::Claim { runners: both(3, 9), ..claim_of("hub-1", 9) };
    assert_eq!(ids(&tasks::claim(store, more).await.unwrap()), ["a3"], "a full runner holds up no other");
    let [c1, a2]: [Task; 2] = first.try_into().unwrap();
    assert_eq!((c1.state, c1.attempt, c1.hub.as_deref()), (State::Running, 1, Some("hub-1")));
    assert_eq!((c1.started_at, c1.lease_until, c1.text.as_str()), (Some(2_000), Some(3_000), "look at c1"));
    let counted: BTreeMap<_, _> = tasks::count_by_state(store).await.unwrap().into_iter().collect();
    assert_eq!(counted, BTreeMap::from([(State::Queued, 1), (State::Running, 4)]));
    let timings = store.timings();
    assert_eq!(timings.claims.counts().iter().sum::<u64>(), 3, "claims without a task are not timed");
    assert_eq!(timings.waits.sum(), Duration::from_secs(4), "each of four waited a second");
    assert!(timings.writes.counts().iter().sum::<u64>() >= 10);
    (c1, a2)
}

async fn runs(store: &Store, task: &Task) {
    let lease = task.lease();
    assert_eq!(tasks::extend(store, &lease, 4_000, Some("/spool/c1")).await.unwrap(), Some(false));
    assert_eq!(tasks::extend(store, &lease, 5_000, None).await.unwrap(), Some(false));
    let row = tasks::get(store, &task.id).await.unwrap().unwrap();
    assert_eq!((row.lease_until, row.spool.as_deref()), (Some(5_000), Some("/spool/c1")));
    assert!(tasks::move_to_runner(store, &lease, "copilot").await.unwrap());
    let row = tasks::get(store, &task.id).await.unwrap().unwrap();
    assert_eq!((row.runner.as_str(), row.attempt), ("copilot", 2));

    let appended = tasks::append_events(store, &lease, vec![event("one"), event("two")]).await.unwrap();
    assert_eq!(appended, Some(2));
    assert_eq!(tasks::append_events(store, &lease, vec![event("three")]).await.unwrap(), Some(3));
    let later = tasks::events(store, &task.id, 1, 10).await.unwrap();
    assert_eq!(
        later.iter().map(|event| (event.seq, event.kind.as_str())).collect::<Vec<_>>(),
        [(2, "two"), (3, "three")]
    );
    assert_eq!(later[0].data, r#"{"text":"caf\u0000é"}"#);

    assert_eq!(tasks::cancel(store, &task.id, "{}", 6_000).await.unwrap(), Cancelled::Asked);
    assert_eq!(tasks::extend(store, &lease, 6_000, None).await.unwrap(), Some(true));
}

async fn ends(store: &Store, c1: &Task, a2: &Task) {
    // A second hub takes over the tasks of the first; every verb rejects the leases of the first hub then.
    assert_eq!(ids(&tasks::running(store, "hub-1", 0).await.unwrap()), ["c1", "a2", "a3", "b1"]);
    assert_eq!(ids(&tasks::running(store, "hub-2", 3_000).await.unwrap()), [""; 0]);
    assert_eq!(ids(&tasks::running(store, "hub-2", 3_001).await.unwrap()), ["a2", "a3", "b1"]);
    let taken = tasks::take_over(store, &a2.lease(), "hub-2", 9_000).await.unwrap().unwrap();
    assert_eq!((taken.hub.as_deref(), taken.fence), (Some("hub-2"), a2.fence + 1));
    assert_eq!(tasks::take_over(store, &a2.lease(), "hub-3", 9_000).await.unwrap(), None);
    assert_eq!(tasks::extend(store, &a2.lease(), 9_000, None).await.unwrap(), None);
    assert_eq!(tasks::append_events(store, &a2.lease(), vec![event("late")]).await.unwrap(), None);
    assert!(!tasks::move_to_runner(store, &a2.lease(), "x").await.unwrap());
    let late = tasks::finish(store, &a2.lease(), Ending::Succeeded, None, "late", 7_000).await.unwrap();
    assert!(!late, "an old fence ends nothing");
    let done =
        tasks::finish(store, &taken.lease(), Ending::Failed, Some("crashed"), r#"{"m":"50%"}"#, 7_000).await;
    assert!(done.unwrap());
    let again = tasks::finish(store, &taken.lease(), Ending::Succeeded, None, "again", 7_001).await.unwrap();
    assert!(!again, "an end stays");

    assert!(tasks::finish(store, &c1.lease(), Ending::Cancelled, None, r#"{"m":1}"#, 8_000).await.unwrap());
    assert_eq!(tasks::cancel(store, "a1", r#"{"m":2}"#, 8_500).await.unwrap(), Cancelled::Waiting);
    let ended = State::Ended(Ending::Cancelled);
    assert_eq!(tasks::cancel(store, "a1", "{}", 8_600).await.unwrap(), Cancelled::Not(Some(ended)));
    assert_eq!(tasks::cancel(store, "none", "{}", 8_600).await.unwrap(), Cancelled::Not(None));
    let row = tasks::get(store, "a2").await.unwrap().unwrap();
    assert_eq!((row.state, row.failure.as_deref()), (State::Ended(Ending::Failed), Some("crashed")));
    assert_eq!((row.ended_at, row.lease_until), (Some(7_000), None));
}

async fn is_asked_about(store: &Store) {
    let found = async |filter: Filter| {
        let list = tasks::list(store, &filter, None, 10).await.unwrap();
        assert_eq!(tasks::count(store, &filter).await.unwrap(), list.len() as u64);
        list.into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(found(Filter::default()).await, ["b1", "a3", "a2", "a1", "c1"]);
    let ann = Filter { caller: Some("ann".to_owned()), ..Filter::default() };
    assert_eq!(found(ann.clone()).await, ["a3", "a2", "a1"]);
    assert_eq!(found(Filter { states: vec![State::Running], ..ann }).await, ["a3"]);
    let ended = vec![State::Ended(Ending::Failed), State::Ended(Ending::Cancelled)];
    assert_eq!(found(Filter { states: ended, ..Filter::default() }).await, ["a2", "a1", "c1"]);
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..Filter::default() };
    assert_eq!(found(text("LOOK at A")).await, ["a3", "a2", "a1"]);
    assert_eq!(found(text("50%")).await, ["a2"], "outcomes are searched, and a percent sign is one");
    assert_eq!(found(text("_")).await, [""; 0]);
    assert_eq!(found(text("TESTER")).await.len(), 5);
    assert_eq!(found(Filter { root: Some("b1".to_owned()), ..Filter::default() }).await, ["b1"]);
    let page = tasks::list(store, &Filter::default(), None, 2).await.unwrap();
    let next = tasks::list(store, &Filter::default(), Some(page[1].seq), 2).await.unwrap();
    assert_eq!((ids(&page), ids(&next)), (vec!["b1", "a3"], vec!["a2", "a1"]));
}

async fn is_delivered_and_goes(store: &Store) {
    assert_eq!(ids(&tasks::undelivered(store, "ann", 10).await.unwrap()), ["a1", "a2"]);
    assert_eq!(tasks::outcome(store, "a2").await.unwrap().as_deref(), Some(r#"{"m":"50%"}"#));
    assert_eq!(tasks::outcome(store, "a3").await.unwrap(), None);
    assert!(tasks::mark_delivered(store, "a2", 10_000).await.unwrap());
    assert!(!tasks::mark_delivered(store, "a2", 10_001).await.unwrap());
    assert!(!tasks::mark_delivered(store, "a3", 10_001).await.unwrap());
    assert_eq!(ids(&tasks::undelivered(store, "ann", 10).await.unwrap()), ["a1"]);

    let prune = async |delivered_since, ended_since, count| {
        let gone = tasks::prune(store, Retention { delivered_since, ended_since, count }).await.unwrap();
        gone.into_iter().map(|task| (task.id, task.spool)).collect::<Vec<_>>()
    };
    assert_eq!(prune(10_000, 7_000, 3).await, []);
    assert_eq!(prune(10_001, 7_000, 3).await, [("a2".to_owned(), None)]);
    assert_eq!(prune(0, 8_001, 3).await, [("c1".to_owned(), Some("/spool/c1".to_owned()))]);
    assert_eq!(tasks::events(store, "c1", 0, 10).await.unwrap(), []);
    assert_eq!(tasks::outcome(store, "c1").await.unwrap(), None);
    assert_eq!(prune(0, 0, 0).await, [("a1".to_owned(), None)]);
    assert_eq!(prune(i64::MAX, i64::MAX, 0).await, [], "what runs or waits never goes");
    assert_eq!(tasks::count(store, &Filter::default()).await.unwrap(), 2);
}

async fn tell(store: &Store) {
    waiting(store).await;
    let (c1, a2) = claims(store).await;
    runs(store, &c1).await;
    ends(store, &c1, &a2).await;
    is_asked_about(store).await;
    is_delivered_and_goes(store).await;
}

#[tokio::test]
async fn the_story_in_memory() {
    tell(&Store::new(Database::Memory)).await;
}

#[tokio::test]
async fn the_story_in_a_file() {
    let (_folder, store) = file_store();
    tell(&store).await;
}

#[tokio::test]
async fn the_story_in_postgresql_and_several_hubs() {
    let Some(postgres) = Postgres::start() else { return };
    tell(&postgres.store("story").await).await;
    let hubs = [postgres.store("hubs").await, postgres.another_hub("hubs"), postgres.another_hub("hubs")];
    contend(&hubs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file() {
    let (folder, store) = file_store();
    let other = Store::new(Database::File(folder.path().join("home/adjutant.db")));
    contend(&[store, other]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_file_that_many_open_at_the_same_moment() {
    for _ in 0..8 {
        let (folder, store) = file_store();
        let file = folder.path().join("home/adjutant.db");
        let others = (0..5).map(|_| Store::new(Database::File(file.clone())));
        let opened = others.chain([store]).map(|store| tokio::spawn(async move { store.open().await }));
        for opened in futures::future::join_all(opened).await {
            opened.unwrap().unwrap();
        }
    }
}

/// Hubs enqueue and claim at the same time: each task is claimed once, and none is left.
async fn contend(hubs: &[Store]) {
    const EACH: usize = 60;
    let opened = futures::future::join_all(hubs.iter().map(Store::open)).await;
    opened.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    let entered = hubs.iter().enumerate().flat_map(|(hub, store)| {
        (0..EACH).map(move |n| {
            tasks::enqueue(store, new_task(&format!("{hub}-{n}"), &format!("caller-{}", n % 5)), ROOMY)
        })
    });
    futures::future::join_all(entered).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();

    let wanted = hubs.len() * EACH;
    let mut won: Vec<String> = Vec::new();
    // A claim that lost each race returns nothing, so the hubs claim again until no task waits.
    while tasks::count(&hubs[0], &Filter { states: vec![State::Queued], ..Filter::default() }).await.unwrap()
        > 0
    {
        let claims = hubs.iter().enumerate().flat_map(|(hub, store)| {
            (0..4).map(move |_| tasks::claim(store, claim_of(&format!("hub-{hub}"), 7)))
        });
        for claimed in futures::future::join_all(claims).await {
            won.extend(claimed.unwrap().into_iter().map(|task| task.id));
        }
    }
    assert_eq!(won.len(), wanted, "a task was won twice");
    assert_eq!(won.iter().collect::<BTreeSet<_>>().len(), wanted);
}

/// Prints on stderr how many tasks a second go through an SQLite file when each verb waits for the disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_tasks_go_through_a_file() {
    const TASKS: u32 = 2_000;
    let (_folder, store) = file_store();
    store.open().await.unwrap();
    let started = Instant::now();
    let entered = (0..TASKS)
        .map(|n| tasks::enqueue(&store, new_task(&format!("task-{n}"), &format!("caller-{}", n % 7)), ROOMY));
    futures::future::join_all(entered).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    let entered = started.elapsed();

    let started = Instant::now();
    let workers = (0..64).map(|_| async {
        let mut done = 0;
        while let [task] = &tasks::claim(&store, claim_of("hub", 1)).await.unwrap()[..] {
            assert!(tasks::finish(&store, &task.lease(), Ending::Succeeded, None, "{}", 3).await.unwrap());
            done += 1;
        }
        done
    });
    let done: u32 = futures::future::join_all(workers).await.into_iter().sum();
    let ended = started.elapsed();
    assert_eq!(done, TASKS);
    let rate = |took: std::time::Duration| f64::from(TASKS) / took.as_secs_f64();
    eprintln!("entered {:.0}/s, claimed and finished {:.0}/s", rate(entered), rate(ended));
}
