//! Several machines on one PostgreSQL: each has its tasks, its runs and its threads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use futures::future::join_all;
use sqlx::{AnyConnection, Connection as _};

use super::postgres::Postgres;
use super::{ROOMY, claim_of, file_store, new_task};
use crate::machines::{self, Machine};
use crate::tasks::{self, Ending, Filter, QueueLimits, Retention, State};
use crate::{Store, migrations};
use adjutant_base::config::Database;

async fn ids(claimed: impl Future<Output = Result<Vec<tasks::Task>, crate::Error>>) -> Vec<String> {
    claimed.await.unwrap().into_iter().map(|task| task.id).collect()
}

fn machine(id: &str, hub: &str, seen_at: i64) -> Machine {
    let name = format!("host-of-{id}");
    Machine { id: id.to_owned(), name, version: "1.2.3".to_owned(), hub: hub.to_owned(), seen_at }
}

#[tokio::test]
async fn a_task_stays_with_the_machine_that_has_its_folder() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.store("machines").await;
    let [ann, bob] = ["ann", "bob"].map(|machine| postgres.hub_of_machine("machines", machine));
    for id in ["a1", "a2", "a3"] {
        tasks::enqueue(&ann, new_task(id, "caller"), ROOMY).await.unwrap();
    }
    tasks::enqueue(&bob, new_task("b1", "caller"), ROOMY).await.unwrap();

    assert_eq!(
        ids(tasks::claim(&bob, claim_of("hub-b", 9))).await,
        ["b1"],
        "the others are not on this disk"
    );
    let claimed = tasks::claim(&ann, claim_of("hub-a", 2)).await.unwrap();
    assert_eq!(claimed.iter().map(|task| task.machine.as_str()).collect::<Vec<_>>(), ["ann", "ann"]);

    // The hub of `ann` has ended: its runs are for its next hub alone, although the others may look first.
    assert_eq!(ids(tasks::running(&bob, "hub-b", i64::MAX)).await, ["b1"], "its own");
    assert_eq!(ids(tasks::running(&ann, "hub-a2", i64::MAX)).await, ["a1", "a2"]);

    // And so are the files of its ended tasks.
    for task in claimed {
        assert!(tasks::finish(&ann, &task.lease(), Ending::Succeeded, None, "{}", 3_000).await.unwrap());
    }
    let all = Retention { delivered_since: i64::MAX, ended_since: i64::MAX, count: 0 };
    assert_eq!(tasks::prune(&bob, all).await.unwrap(), []);
    assert_eq!(tasks::prune(&ann, all).await.unwrap().len(), 2);
    assert_eq!(tasks::get(&bob, "a3").await.unwrap().unwrap().state, State::Queued);
}

#[tokio::test]
async fn a_task_of_an_earlier_version_has_no_machine_and_may_be_taken_by_any() {
    let Some(postgres) = Postgres::start() else { return };
    let earlier = postgres.store("earlier").await;
    tasks::enqueue(&earlier, new_task("old", "caller"), ROOMY).await.unwrap();
    let bob = postgres.hub_of_machine("earlier", "bob");
    assert_eq!(ids(tasks::claim(&bob, claim_of("hub-b", 9))).await, ["old"]);
    assert_eq!(ids(tasks::running(&bob, "hub-b2", i64::MAX)).await, ["old"]);
}

#[tokio::test]
async fn one_machine_with_a_file_has_no_use_for_ids() {
    let (folder, _) = file_store();
    let file = Database::File(folder.path().join("home/adjutant.db"));
    let [ann, bob] = ["ann", "bob"].map(|machine| Store::on_machine(file.clone(), machine.to_owned()));
    tasks::enqueue(&ann, new_task("a1", "caller"), ROOMY).await.unwrap();
    assert_eq!(ids(tasks::claim(&bob, claim_of("hub-b", 9))).await, ["a1"], "a home may get a new id");
}

#[tokio::test]
async fn eight_hubs_that_claim_at_the_same_time_all_get_a_task() {
    let Some(postgres) = Postgres::start() else { return };
    let first = postgres.store("races").await;
    let others = (1..8).map(|_| postgres.another_hub("races"));
    let hubs: Vec<Store> = [first].into_iter().chain(others).collect();
    for store in &hubs {
        store.open().await.unwrap();
    }
    let rounds = 10;
    for round in 0..rounds {
        // One caller, so that all hubs look at the same head first.
        for n in 0..hubs.len() {
            tasks::enqueue(&hubs[0], new_task(&format!("{round}-{n}"), "caller"), ROOMY).await.unwrap();
        }
        let claims = hubs.iter().enumerate().map(|(hub, store)| {
            ids(async move { tasks::claim(store, claim_of(&format!("hub-{hub}"), 1)).await })
        });
        let claimed = join_all(claims).await;
        assert!(claimed.iter().all(|ids| ids.len() == 1), "a hub lost a race: {claimed:?}");
    }
    let running = Filter { states: vec![State::Running], ..Filter::default() };
    assert_eq!(tasks::count(&hubs[0], &running).await.unwrap(), rounds * hubs.len() as u64);
}

#[tokio::test]
async fn a_claim_skips_a_task_that_another_hub_has_locked() {
    let Some(postgres) = Postgres::start() else { return };
    let store = postgres.store("locked").await;
    for id in ["one", "two"] {
        tasks::enqueue(&store, new_task(id, "caller"), ROOMY).await.unwrap();
    }
    let mut holder = postgres.another_hub("locked").read().await.unwrap();
    let lock = "BEGIN; SELECT pg_advisory_xact_lock(7437); SELECT 1 FROM tasks WHERE id = 'one' FOR UPDATE";
    sqlx::Executor::execute(&mut *holder, lock).await.unwrap();
    assert_eq!(ids(tasks::claim(&store, claim_of("hub", 9))).await, ["two"], "it waits for nobody");
    sqlx::Executor::execute(&mut *holder, "COMMIT").await.unwrap();
    assert_eq!(ids(tasks::claim(&store, claim_of("hub", 9))).await, ["one"]);
}

#[tokio::test]
async fn a_copied_home_is_noticed() {
    let Some(postgres) = Postgres::start() else { return };
    let store = postgres.store("copies").await;
    assert!(machines::record(&store, machine("ann", "hub-1", 1_000), i64::MAX).await.unwrap());
    // The next hub of the home replaces the one that has ended, and its heartbeats continue.
    assert!(machines::record(&store, machine("ann", "hub-2", 2_000), i64::MAX).await.unwrap());
    assert!(machines::record(&store, machine("ann", "hub-2", 3_000), 2_500).await.unwrap());
    assert!(!machines::record(&store, machine("ann", "hub-1", 3_100), 2_600).await.unwrap(), "both run");
    assert!(
        machines::record(&store, machine("ann", "hub-1", 9_000), 8_000).await.unwrap(),
        "the other ended"
    );
    assert!(machines::record(&store, machine("bob", "hub-3", 9_000), i64::MAX).await.unwrap());
    let listed = machines::list(&Database::Postgres(postgres.url("copies"))).await.unwrap();
    assert_eq!(listed, [machine("ann", "hub-1", 9_000), machine("bob", "hub-3", 9_000)]);

    tasks::enqueue(&postgres.hub_of_machine("copies", "bob"), new_task("b1", "caller"), ROOMY).await.unwrap();
    let task = tasks::get(&store, "b1").await.unwrap().unwrap();
    assert_eq!((task.machine.as_str(), task.machine_name.as_str()), ("bob", "host-of-bob"));
}

/// A database with the tables of the version before machines, a row in them, and the statements of its hub, which still
/// runs beside the one that migrates them.
#[tokio::test]
async fn the_previous_version_queues_in_the_tables_that_this_one_migrated() {
    let Some(postgres) = Postgres::start() else { return };
    // Makes the database, and does not open it.
    let store = postgres.store("previous").await;
    let mut earlier = AnyConnection::connect(&postgres.url("previous")).await.unwrap();
    migrations::once(&mut earlier, &migrations::FILES[..4]).await.unwrap();
    let asked = "INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, asked_at, \
                 deadline, seen_ms) VALUES ('q', 1, 'f', 'a', 'c', '/w', 't', 'normal', 'pending', 1, 2, 0)";
    sqlx::query(asked).execute(&mut earlier).await.unwrap();
    store.open().await.unwrap();
    let machine: String =
        sqlx::query_scalar("SELECT machine FROM questions").fetch_one(&mut earlier).await.unwrap();
    assert_eq!(machine, "");
    let queued: Result<(), _> = change!(store, (), |connection, ()| {
        for sql in [
            "INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, \
             attempt, fence, created_at) VALUES ('old', 1, 'c', 'a', 'codex', '/', 0, NULL, 'old', 0, 'queued', 0, 0, 1)",
            "INSERT INTO task_inputs (task, text, options) VALUES ('old', 'look', '{}')",
            "INSERT INTO task_lanes (caller, runner, turn) VALUES ('c', 'codex', 0)",
            "INSERT INTO codex_threads (id, backend, version, cwd, model, title, settings, parent, tokens, \
             created_at, updated_at) VALUES ('t', 'b', '1', '/', '', '', '{}', '', 0, 1, 1)",
        ] {
            sqlx::query(sql).execute(&mut *connection).await?;
        }
        Ok(())
    });
    queued.unwrap();
    assert_eq!(ids(tasks::claim(&store, claim_of("hub", 1))).await, ["old"]);
    let thread = crate::codex::thread(&store, "t").await.unwrap().unwrap();
    assert_eq!(thread.machine, "");
}

/// Prints on stderr how many tasks hubs that claim at the same time start and finish together in a second, with one,
/// three and eight of them; and how long one claim takes while 100,000 tasks of other machines are queued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_three_and_eight_hubs_claim_and_finish() {
    const TASKS: u32 = 600;
    let Some(postgres) = Postgres::start() else { return };
    let first = postgres.store("rates").await;
    let hubs: Vec<Store> = [first].into_iter().chain((1..8).map(|_| postgres.another_hub("rates"))).collect();
    let (mut rates, mut lost) = (Vec::new(), 0);
    for count in [1, 3, 8] {
        let entered = (0..TASKS).map(|n| {
            tasks::enqueue(&hubs[0], new_task(&format!("{count}-{n}"), &format!("caller-{}", n % 7)), ROOMY)
        });
        join_all(entered).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
        let left = AtomicU32::new(TASKS);
        let started = Instant::now();
        let works = hubs[..count].iter().enumerate().map(async |(hub, store)| {
            let mut empty = 0;
            while left.load(Ordering::SeqCst) > 0 {
                let claimed = tasks::claim(store, claim_of(&format!("hub-{hub}"), 1)).await.unwrap();
                // A hub that gets nothing although enough tasks for all hubs are queued has lost a race.
                empty += u32::from(claimed.is_empty() && left.load(Ordering::SeqCst) > 8);
                for task in claimed {
                    left.fetch_sub(1, Ordering::SeqCst);
                    assert!(
                        tasks::finish(store, &task.lease(), Ending::Succeeded, None, "{}", 3).await.unwrap()
                    );
                }
            }
            empty
        });
        lost += join_all(works).await.into_iter().sum::<u32>();
        rates.push(f64::from(TASKS) / started.elapsed().as_secs_f64());
    }
    assert_eq!(lost, 0);

    let queued: Result<(), crate::Error> = change!(hubs[0], (), |connection, ()| {
        let many = "INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, root, depth, state, \
                    attempt, fence, created_at, machine) \
                    SELECT 'm' || n, 1000000 + n, 'caller-1', 'a', 'codex', '/', 0, 'm' || n, 0, 'queued', 0, 0, 1, 'x' \
                    FROM generate_series(1, 100000) AS n";
        sqlx::query(many).execute(&mut *connection).await?;
        sqlx::query("ANALYZE tasks").execute(connection).await.map(drop)
    });
    queued.unwrap();
    let mut took = Vec::new();
    for n in 0..20 {
        tasks::enqueue(
            &hubs[0],
            new_task(&format!("own-{n}"), "caller-1"),
            QueueLimits { each_caller: 1_000_000, total: 1_000_000 },
        )
        .await
        .unwrap();
        let started = Instant::now();
        assert_eq!(ids(tasks::claim(&hubs[1], claim_of("hub-1", 1))).await, [format!("own-{n}")]);
        took.push(started.elapsed());
    }
    took.sort();
    let [one, three, eight] = rates[..] else { panic!() };
    eprintln!(
        "claimed and finished by 1 hub {one:.0}/s, by 3 {three:.0}/s, by 8 {eight:.0}/s, lost {lost}; \
         a claim among 100000 took {:.1} ms",
        took[10].as_secs_f64() * 1_000.0
    );
}
