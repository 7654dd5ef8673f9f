//! Every acknowledged change survives SIGKILL.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Postgres, ROOMY, claim_of, file_store, new_task};
use crate::questions::set_setting;
use crate::tasks::{Ending, State, claim, enqueue, finish, get, outcome};
use crate::{Error, Store};
use adjutant_base::config::Database;

const CHILD: &str = "ADJUTANT_TEST_STORE";

/// Enqueues and ends tasks in an endless loop, and prints each one that the store acknowledged.
async fn work(file: &Path) {
    let store = Store::new(Database::File(file.to_owned()));
    let say = |what: &str, id: &str| {
        let mut out = std::io::stdout().lock();
        write!(out, "\n{what} {id}\n").unwrap();
        out.flush().unwrap();
    };
    let workers = (0..8).map(|worker| {
        let store = store.clone();
        async move {
            for n in 0.. {
                let id = format!("{worker}-{n}");
                enqueue(&store, new_task(&id, &format!("caller-{worker}")), ROOMY).await.unwrap();
                say("entered", &id);
                for task in claim(&store, claim_of("hub", 1)).await.unwrap() {
                    assert!(finish(&store, &task.lease(), Ending::Succeeded, None, "{}", 3).await.unwrap());
                    say("ended", &task.id);
                }
            }
        }
    });
    futures::future::join_all(workers).await;
}

/// This test starts itself again as the process that is killed.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the child is this test, told by a variable of its own")]
async fn what_was_acknowledged_survives_a_kill() {
    if let Some(file) = std::env::var_os(CHILD) {
        return work(Path::new(&file)).await;
    }
    let (folder, _) = file_store();
    let file = folder.path().join("home/adjutant.db");
    for round in 0..3 {
        std::fs::remove_dir_all(folder.path().join("home")).ok();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::durability::what_was_acknowledged_survives_a_kill", "--nocapture"])
            .env(CHILD, &file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut said: Vec<String> =
            lines.by_ref().filter(|line| line.contains(' ')).take(200 + round).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(lines);

        let store = Store::new(Database::File(file.clone()));
        let mut ended = 0;
        for line in &said {
            match line.split_once(' ') {
                Some(("entered", id)) => assert!(get(&store, id).await.unwrap().is_some(), "lost {id}"),
                Some(("ended", id)) => {
                    let task = get(&store, id).await.unwrap().unwrap();
                    assert_eq!(task.state, State::Ended(Ending::Succeeded), "{id}");
                    assert!(outcome(&store, id).await.unwrap().is_some(), "{id} lost its outcome");
                    ended += 1;
                }
                _ => {}
            }
        }
        assert!(ended > 20, "the child did too little: {said:?}");
        store.close().await;
    }
}

/// Reads the row of a counter.
async fn read_counter(store: &Store, counter: i64) -> Result<i64, Error> {
    Ok(read!(store, sqlx::query_scalar("SELECT n FROM counters WHERE id = $1").bind(counter), fetch_one))
}

/// Adds one in the row of a counter and reads it, and again and again ends every connection of the database.
async fn count_while_connections_are_cut(store: &Store, cutter: &Store, counter: i64) {
    for n in 0..30 {
        let added: Result<(), Error> = change!(store, counter, |connection, counter| {
            let add = sqlx::query("UPDATE counters SET n = n + 1 WHERE id = $1").bind(*counter);
            add.execute(connection).await.map(drop)
        });
        added.unwrap();
        assert_eq!(read_counter(store, counter).await.unwrap(), n + 1);
        if n % 6 == counter % 6 {
            // The server may be about to restart.
            if let Ok(mut connection) = cutter.read().await {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'";
                drop(sqlx::query(cut).execute(&mut *connection).await);
            }
        }
    }
}

#[tokio::test]
async fn a_change_and_a_read_whose_connection_is_cut_are_made_once() {
    let Some(postgres) = Postgres::start() else { return };
    let (store, cutter) = (postgres.store("cut").await, postgres.another_hub("postgres"));
    let made: Result<(), Error> = change!(store, (), |connection, ()| {
        let make = "CREATE TABLE counters (id BIGINT PRIMARY KEY, n BIGINT NOT NULL); \
            INSERT INTO counters SELECT generate_series(0, 7), 0";
        sqlx::raw_sql(make).execute(connection).await.map(drop)
    });
    made.unwrap();
    let counting = (0..8).map(|counter| count_while_connections_are_cut(&store, &cutter, counter));
    let restart = async {
        let mut postgres = postgres;
        tokio::task::spawn_blocking(move || {
            postgres.restart();
            postgres
        })
        .await
        .unwrap()
    };
    let (_postgres, _) = tokio::join!(restart, futures::future::join_all(counting));
    let counters: Vec<i64> = sqlx::query_scalar("SELECT n FROM counters ORDER BY id")
        .fetch_all(&mut *store.read().await.unwrap())
        .await
        .unwrap();
    assert_eq!(counters, [30; 8]);
}

#[tokio::test]
async fn a_database_that_was_full_takes_changes_again() {
    let (_folder, store) = file_store();
    set_setting(&store, "before", "1").await.unwrap();
    // The limit belongs to the connection of the writer.
    let limited: Result<(), Error> = change!(store, (), |connection, ()| {
        sqlx::query("PRAGMA max_page_count = 1").execute(connection).await.map(drop)
    });
    limited.unwrap();
    assert!(set_setting(&store, "large", &"x".repeat(1_000_000)).await.is_err(), "the database is full");
    set_setting(&store, "after", "1").await.unwrap();
}
