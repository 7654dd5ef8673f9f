//! The first version that shares a database with its neighbours: this version keeps its rows, and its statements fit the tables of
//! this version, so that hubs of both run side by side. That version wrote the files in `former_version/`.

use std::collections::BTreeMap;

use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _, SqlSafeStr as _};

use super::file_store;
use super::postgres::Postgres;
use crate::{Store, questions, tasks};

const DATABASE: &str = include_str!("former_version/database.sql");
const STATEMENTS: &str = include_str!("former_version/statements.sql");
const OF_SQLITE: &str = include_str!("former_version/statements_of_sqlite.sql");
const OF_POSTGRES: &str = include_str!("former_version/statements_of_postgresql.sql");

/// Returns, for each table, the columns for which a new row must have a value.
async fn needed_columns(connection: &mut AnyConnection) -> BTreeMap<String, Vec<String>> {
    let columns = sqlx::query_as::<_, (String, String, i64)>(
        "SELECT t.name, c.name, c.\"notnull\" = 1 AND c.dflt_value IS NULL AND c.pk = 0 \
         FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.name",
    );
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, column, is_needed) in columns.fetch_all(connection).await.unwrap() {
        tables.entry(table).or_default().extend((is_needed != 0).then_some(column));
    }
    tables
}

async fn prepare(store: &Store, of_engine: &str) {
    let mut connection = store.read().await.unwrap();
    let statements = [STATEMENTS, of_engine].map(|text| text.split_terminator(";\n"));
    for sql in statements.into_iter().flatten() {
        let prepared = connection.prepare(AssertSqlSafe(sql).into_sql_str()).await;
        assert!(prepared.is_ok(), "{:?}\n{sql}", prepared.err());
    }
}

#[tokio::test]
async fn a_database_of_the_former_version_keeps_its_rows_and_takes_its_rows() {
    sqlx::any::install_default_drivers();
    let (folder, store) = file_store();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let url = format!("sqlite://{}?mode=rwc", home.join("adjutant.db").display());
    let mut connection = AnyConnection::connect(&url).await.unwrap();
    connection.execute(DATABASE).await.unwrap();
    let before = needed_columns(&mut connection).await;
    connection.close().await.unwrap();

    store.open().await.unwrap();
    for (id, state) in [("first", "running"), ("second", "succeeded"), ("third", "queued")] {
        let task = tasks::get(&store, id).await.unwrap().unwrap();
        assert_eq!((task.state.as_str(), &*task.text), (state, &*format!("look at {id}")));
    }
    let pending = questions::pending(&store, questions::ALL, None, 10).await.unwrap();
    assert_eq!(pending.iter().map(|question| &*question.id).collect::<Vec<_>>(), ["pending"]);
    let answered = questions::get(&store, "answered").await.unwrap().unwrap();
    assert!(answered.outcome.is_some(), "{answered:?}");

    let after = needed_columns(&mut store.read().await.unwrap()).await;
    for (table, columns) in before {
        assert_eq!(after[&table], columns, "the former version writes no other column of {table}");
    }
}

#[tokio::test]
async fn the_statements_of_the_former_version_fit_the_tables_of_sqlite() {
    let (_folder, store) = file_store();
    prepare(&store, OF_SQLITE).await;
}

#[tokio::test]
async fn the_statements_of_the_former_version_fit_the_tables_of_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    prepare(&postgres.store("former").await, OF_POSTGRES).await;
}
