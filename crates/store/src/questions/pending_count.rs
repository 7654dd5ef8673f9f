//! The number of pending questions, which every change of a question's state keeps.

use sqlx::AnyConnection;

pub(super) const COUNT: &str = "SELECT pending FROM question_counts";

const ADD: &str = "UPDATE question_counts SET pending = pending + $1";

/// Adds to the number, within the transaction of a verb.
pub(super) async fn add(connection: &mut AnyConnection, change: i64) -> Result<(), sqlx::Error> {
    sqlx::query(ADD).bind(change).execute(connection).await.map(drop)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[COUNT, ADD];
