//! The files of an answer, stored with their question.

use sqlx::AnyConnection;

use crate::{Error, Store, read};

const REMOVE: &str = "DELETE FROM answer_files WHERE question = $1";

const ADD: &str = "INSERT INTO answer_files (question, number, contents) VALUES ($1, $2, $3)";

const ONE: &str = "SELECT contents FROM answer_files WHERE question = $1 AND number = $2";

/// Replaces the files of a question by these, which have the numbers from 0 on.
pub(super) async fn replace(
    connection: &mut AnyConnection,
    question: &str,
    files: &[String],
) -> Result<(), sqlx::Error> {
    sqlx::query(REMOVE).bind(question).execute(&mut *connection).await?;
    for (number, contents) in (0_i64..).zip(files) {
        let add = sqlx::query(ADD).bind(question).bind(number).bind(contents);
        add.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Returns the contents of a file of an answer, as base64.
pub async fn file(store: &Store, question: &str, number: i64) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(ONE).bind(question).bind(number), fetch_optional))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[REMOVE, ADD, ONE];
