//! The number of pending questions, which every change of a question's state keeps, and the number of changes.

use sqlx::AnyConnection;

use crate::{Error, POSTGRES, Store, read};

pub(super) const COUNT: &str = "SELECT pending FROM question_counts";

const ADD: &str = "UPDATE question_counts SET pending = pending + $1";

const CHANGE: &str = "UPDATE question_counts SET changes = changes + 1";

const CHANGES: &str = "SELECT changes FROM question_counts";

/// Adds to the number, within the transaction of a verb.
pub(super) async fn add(connection: &mut AnyConnection, change: i64) -> Result<(), sqlx::Error> {
    sqlx::query(ADD).bind(change).execute(connection).await.map(drop)
}

/// Counts a change, within the transaction of a verb, where other hubs need to notice it.
pub(super) async fn count_change(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    if connection.backend_name() == POSTGRES {
        sqlx::query(CHANGE).execute(connection).await?;
    }
    Ok(())
}

/// Returns a number that differs after every change of a question in a shared store.
pub async fn change_number(store: &Store) -> Result<i64, Error> {
    Ok(read!(store, sqlx::query_scalar(CHANGES), fetch_one))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[COUNT, ADD, CHANGE, CHANGES];
