//! The guarantees of the store, tested on every engine.

mod assistant;
mod codex;
mod durability;
mod former_version;
mod machine;
mod machines;
mod postgres;
mod questions;
mod story;
mod tls;
mod workers;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _, SqlSafeStr as _};
use tempfile::TempDir;

use super::tasks::{Claim, NewTask, OF_POSTGRES, OF_SQLITE, QueueLimits, STATEMENTS, Slots};
use super::{Error, Store};
use adjutant_base::config::Database;
use postgres::Postgres;

const ROOMY: QueueLimits = QueueLimits { each_caller: 10_000, total: 10_000 };

fn new_task(id: &str, caller: &str) -> NewTask {
    NewTask {
        id: id.to_owned(),
        caller: caller.to_owned(),
        agent: "tester".to_owned(),
        runner: "codex".to_owned(),
        text: format!("look at {id}"),
        workdir: "/work".to_owned(),
        priority: 0,
        parent: None,
        root: id.to_owned(),
        depth: 0,
        options: "{}".to_owned(),
        created_at: 1_000,
    }
}

fn claim_of(hub: &str, at_most: u32) -> Claim {
    Claim {
        hub: hub.to_owned(),
        now: 2_000,
        lease_until: 3_000,
        total: 1_000,
        runners: vec![Slots { runner: "codex".to_owned(), slots: 1_000 }],
        at_most,
    }
}

fn file_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Database::File(folder.path().join("home/adjutant.db")));
    (folder, store)
}

async fn prepare_all(store: &Store, of_engine: &[&[&str]]) {
    let mut connection = store.read().await.unwrap();
    let rooms = super::assistant::STATEMENTS
        .iter()
        .chain(super::codex::STATEMENTS)
        .chain(super::questions::STATEMENTS)
        .chain(super::timeline::STATEMENTS);
    let others = [super::machines::STATEMENTS, super::workers::STATEMENTS];
    for sql in STATEMENTS.iter().chain(rooms).chain(&others).chain(of_engine).copied().flatten() {
        let prepared = connection.prepare(AssertSqlSafe(*sql).into_sql_str()).await;
        assert!(prepared.is_ok(), "{:?}\n{sql}", prepared.err());
    }
}

#[tokio::test]
async fn every_statement_is_sql_for_sqlite() {
    let of_engine = [OF_SQLITE, super::questions::OF_SQLITE].concat();
    prepare_all(&Store::new(Database::Memory), &of_engine).await;
}

#[tokio::test]
async fn every_statement_is_sql_for_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let of_engine = [OF_POSTGRES, super::questions::OF_POSTGRES].concat();
    prepare_all(&postgres.store("statements").await, &of_engine).await;
}

#[tokio::test]
async fn the_start_page_reads_tasks_and_questions_in_the_order_of_an_index() {
    let store = Store::new(Database::Memory);
    let mut connection = store.read().await.unwrap();
    let explained = format!("EXPLAIN QUERY PLAN {}", super::timeline::STATEMENTS[0][0]);
    let query = sqlx::query_as::<_, (i64, i64, i64, String)>(AssertSqlSafe(explained));
    let query = query.bind(i64::MAX).bind("").bind("").bind("").bind(16_i64);
    let plan = query.fetch_all(&mut *connection).await.unwrap();
    for index in [
        "t USING INDEX tasks_created",
        "t USING INDEX tasks_ended",
        "q USING INDEX questions_asked",
        "q USING INDEX questions_decided_at",
    ] {
        assert!(plan.iter().any(|(.., step)| step.contains(index)), "{index}: {plan:?}");
    }
    assert!(!plan.iter().any(|(.., step)| step.contains("RIGHT PART OF ORDER BY")), "{plan:?}");
    for sql in super::tasks::UNENDED {
        let explained = format!("EXPLAIN QUERY PLAN {}", sql.replace("$1", "8"));
        let query = sqlx::query_as::<_, (i64, i64, i64, String)>(AssertSqlSafe(explained));
        let plan = query.fetch_all(&mut *connection).await.unwrap();
        assert!(plan[0].3.ends_with("tasks_unended"), "{plan:?}");
        assert!(!plan.iter().any(|(.., step)| step.contains("TEMP B-TREE")), "{plan:?}");
    }
}

/// Enters 10,000 callers with a task each, and returns the plan of a claim.
async fn plan_of_claim(store: &Store, numbers: &str, explain: &str, claim: &str) -> String {
    let tasks = format!(
        "INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, root, depth, state, attempt, fence, created_at) \
         SELECT CAST(n AS TEXT), n, 'c' || n, 'a', 'fake', '/w', 0, CAST(n AS TEXT), 0, 'queued', 0, 0, 0 FROM {numbers}"
    );
    let lanes =
        format!("INSERT INTO task_lanes (caller, runner, turn) SELECT 'c' || n, 'fake', 0 FROM {numbers}");
    for sql in [tasks, lanes, "ANALYZE".to_owned()] {
        let entered = store.write(sql, |connection, sql| {
            Box::pin(
                async move { sqlx::query(AssertSqlSafe(sql.clone())).execute(connection).await.map(drop) },
            )
        });
        entered.await.unwrap();
    }
    let mut connection = store.read().await.unwrap();
    let explained = format!("{explain} {claim}");
    let mut query = sqlx::query(AssertSqlSafe(explained)).bind("hub").bind(0_i64).bind(0_i64).bind(9_i64);
    for runner in ["fake"].into_iter().chain([""; 15]) {
        query = query.bind(runner).bind(9_i64);
    }
    let steps = query.bind("").fetch_all(&mut *connection).await.unwrap();
    let step = |row: &sqlx::any::AnyRow| row.get::<String, _>(row.len() - 1);
    steps.iter().map(step).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_claim_reads_the_lanes_in_the_order_of_an_index() {
    let numbers = "(WITH RECURSIVE ns(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ns WHERE n < 10000) SELECT n FROM ns) AS ns";
    let store = Store::new(Database::Memory);
    let plan = plan_of_claim(&store, numbers, "EXPLAIN QUERY PLAN", OF_SQLITE[0][0]).await;
    assert!(plan.contains("SCAN l USING INDEX task_lanes_next"), "{plan}");
    assert!(plan.contains("TEMP B-TREE FOR") && !plan.contains("TEMP B-TREE FOR ORDER BY"), "{plan}");
    let Some(postgres) = Postgres::start() else { return };
    let store = postgres.store("lanes").await;
    let plan = plan_of_claim(&store, "generate_series(1, 10000) AS n", "EXPLAIN", OF_POSTGRES[0][0]).await;
    assert!(plan.contains("Index Scan using task_lanes_next") && plan.contains("Presorted Key"), "{plan}");
}

#[tokio::test]
async fn a_file_is_its_owners_alone_and_a_commit_waits_for_the_disk() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, store) = file_store();
    store.open().await.unwrap();
    super::tasks::enqueue(&store, new_task("one", "a"), ROOMY).await.unwrap();
    for entry in std::fs::read_dir(folder.path().join("home")).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
    for (pragma, wanted) in [("foreign_keys", "1"), ("synchronous", "2"), ("journal_mode", "wal")] {
        let value = store
            .write(pragma.to_owned(), |connection, pragma| {
                Box::pin(async move {
                    let sql = format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}");
                    sqlx::query_scalar::<_, String>(AssertSqlSafe(sql)).fetch_one(connection).await
                })
            })
            .await
            .unwrap();
        assert_eq!(value, wanted, "{pragma}");
    }
}

#[tokio::test]
async fn a_closed_store_has_kept_its_word_and_says_that_it_is_closed() {
    let (folder, store) = file_store();
    let entered: Vec<_> = (0..50)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                super::tasks::enqueue(&store, new_task(&format!("task-{n}"), "a"), ROOMY).await
            })
        })
        .collect();
    store.open().await.unwrap();
    super::tasks::enqueue(&store, new_task("first", "a"), ROOMY).await.unwrap();
    store.close().await;
    let mut kept = vec!["first".to_owned()];
    for task in entered {
        match task.await.unwrap() {
            Ok(task) => kept.push(task.id),
            Err(error) => assert!(matches!(error, Error::Closed), "{error:?}"),
        }
    }
    let refused = super::tasks::enqueue(&store, new_task("late", "a"), ROOMY).await;
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    assert!(matches!(super::tasks::get(&store, "first").await, Err(Error::Closed)));

    let again = Store::new(Database::File(folder.path().join("home/adjutant.db")));
    for id in kept {
        assert!(super::tasks::get(&again, &id).await.unwrap().is_some(), "{id}");
    }
}

#[tokio::test]
async fn a_fault_of_one_verb_costs_nobody_else() {
    let (_folder, store) = file_store();
    store.open().await.unwrap();
    let bad = |n: usize| {
        let store = store.clone();
        async move {
            // The row refers to a missing row: the statement fails, and the verb's earlier statement is rolled back.
            store
                .write(n, |connection, n| {
                    Box::pin(async move {
                        let lane = "INSERT INTO task_lanes (caller, runner, turn) VALUES ($1, 'x', 1)";
                        sqlx::query(lane).bind(format!("bad-{n}")).execute(&mut *connection).await?;
                        let orphan = "INSERT INTO task_inputs (task, text, options) VALUES ('none', '', '')";
                        sqlx::query(orphan).execute(connection).await.map(drop)
                    })
                })
                .await
        }
    };
    let good = |n: usize| {
        let store = store.clone();
        async move { super::tasks::enqueue(&store, new_task(&format!("task-{n}"), "a"), ROOMY).await }
    };
    let all = futures::future::join_all((0..40).map(|n| async move { (good(n).await, bad(n).await) }));
    for (entered, refused) in all.await {
        entered.unwrap();
        assert!(matches!(refused, Err(Error::Failed(_))), "{refused:?}");
    }
    let mut connection = store.read().await.unwrap();
    let lanes: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM task_lanes").fetch_one(&mut *connection).await.unwrap();
    assert_eq!(lanes, 1, "what a failed verb wrote was undone");
}

#[tokio::test]
async fn a_database_of_another_version_is_left_alone() {
    async fn tamper(store: &Store, sql: &'static str) {
        store
            .write(sql, |connection, sql| {
                Box::pin(async move { sqlx::query(*sql).execute(connection).await.map(drop) })
            })
            .await
            .unwrap();
        store.close().await;
    }
    let place = |folder: &TempDir| Store::new(Database::File(folder.path().join("home/adjutant.db")));

    let (folder, store) = file_store();
    tamper(&store, "UPDATE schema_compatibility SET oldest = 9999").await;
    assert!(place(&folder).open().await.is_ok(), "this version knows every migration in it");
    let store = place(&folder);
    tamper(
        &store,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', TRUE, X'00', 0)",
    )
    .await;
    assert!(matches!(place(&folder).open().await, Err(Error::Newer)));

    // The next version says that this one survives its migrations.
    let (folder, store) = file_store();
    tamper(
        &store,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', TRUE, X'00', 0)",
    )
    .await;
    place(&folder).open().await.unwrap();

    let (folder, store) = file_store();
    tamper(&store, "UPDATE _sqlx_migrations SET description = 'tasks'").await;
    assert!(matches!(place(&folder).open().await, Err(Error::BeforeFirstRelease)));

    let (folder, store) = file_store();
    tamper(&store, "UPDATE _sqlx_migrations SET checksum = X'00'").await;
    assert!(matches!(place(&folder).open().await, Err(Error::Foreign(_))));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_known_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("postgres://me@localhost/db?host={}", folder.path().display());
    let refused = Store::new(Database::Postgres(url)).open().await;
    assert!(matches!(refused, Err(Error::Unreachable(_))), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_comes_back_is_found_again() {
    let Some(mut postgres) = Postgres::start() else { return };
    let store = postgres.store("again").await;
    super::tasks::enqueue(&store, new_task("before", "a"), ROOMY).await.unwrap();
    assert!(super::tasks::get(&store, "before").await.unwrap().is_some());
    postgres.restart();
    assert!(super::tasks::get(&store, "before").await.unwrap().is_some());
    super::tasks::enqueue(&store, new_task("after", "a"), ROOMY).await.unwrap();
    assert!(super::tasks::get(&store, "after").await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_with_another_clock_is_rejected() {
    let Some(postgres) = Postgres::start() else { return };
    for (name, shift, said) in [
        ("ahead", "- interval '1 hour'", Some("1 h 0 min ahead of")),
        ("behind", "+ interval '1 hour'", Some("1 h 0 min behind")),
        ("near", "+ interval '5 seconds'", None),
    ] {
        // The function hides that of the server in the connections of the store.
        let made = format!(
            "CREATE SCHEMA odd; CREATE FUNCTION odd.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS \
             $$SELECT pg_catalog.clock_timestamp() {shift}$$; \
             ALTER DATABASE {name} SET search_path TO odd, pg_catalog"
        );
        let store = postgres.store(name).await;
        let mut connection = sqlx::AnyConnection::connect(&postgres.url(name)).await.unwrap();
        connection.execute(AssertSqlSafe(made)).await.unwrap();
        match (store.open().await, said) {
            (Ok(()), None) => {}
            (Err(error @ Error::Clock { .. }), Some(said)) => {
                assert!(
                    error.to_string().contains(&format!("this machine is {said} that of the database")),
                    "{error}"
                );
            }
            (opened, _) => panic!("{name}: {opened:?}"),
        }
    }
}

#[tokio::test]
async fn hubs_that_start_together_get_the_first_value_of_a_setting() {
    let store = Store::new(Database::Memory);
    for (value, kept) in [("\"a\"", "\"a\""), ("\"b\"", "\"a\"")] {
        assert_eq!(super::questions::set_first(&store, "key", value).await.unwrap(), kept);
    }
}
