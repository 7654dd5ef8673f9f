//! Example rows for `serve --demo`: the questions, tasks and one Codex session of a small shop.

use sqlx::AssertSqlSafe;

use super::{Error, Millis, Store, change};
use adjutant_base::config::env;

/// Statements, each ended by a line with a semicolon.
const ROWS: &str = include_str!("demo.sql");

const IS_EMPTY: &str = "\
    SELECT (SELECT COUNT(*) FROM questions) + (SELECT COUNT(*) FROM tasks) + (SELECT COUNT(*) FROM codex_threads)";

const COUNT_PENDING: &str =
    "UPDATE question_counts SET pending = (SELECT COUNT(*) FROM questions WHERE state = 'pending')";

/// The roots of the rows; what belongs to them goes with them. The user is the one of the assistant's example.
const REMOVE: [&str; 4] = [
    "DELETE FROM questions WHERE id LIKE 'qdem000000%'",
    "DELETE FROM tasks WHERE id LIKE 'dem000000%'",
    "DELETE FROM codex_threads WHERE id LIKE '0199dem0-%'",
    "DELETE FROM users WHERE id = 'demo' AND email = 'robin@example.org'",
];

/// The assistant audits that the user of its example was saved. Nobody did that, so the activity does not list it.
const REMOVE_AUDIT: &str = "DELETE FROM audit WHERE actor = 'demo'";

/// Adds the rows to a store without questions, tasks and threads; returns whether it did. `folder` is the folder of the shop.
pub async fn fill(store: &Store, folder: &str, now: Millis) -> Result<bool, Error> {
    let quoted = |text: &str| text.replace('\'', "''");
    let rows = ROWS
        .replace("@shop", &quoted(folder))
        .replace("@folder", &quoted(&env::with_tilde(folder.as_ref())))
        .replace("@now", &now.to_string());
    change!(store, rows, |connection, rows| {
        let there: i64 = sqlx::query_scalar(IS_EMPTY).fetch_one(&mut *connection).await?;
        if there > 0 {
            return Ok(false);
        }
        for statement in rows.split("\n;\n").filter(|statement| !statement.is_empty()) {
            sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await?;
        }
        sqlx::query(REMOVE_AUDIT).execute(&mut *connection).await?;
        sqlx::query(COUNT_PENDING).execute(connection).await?;
        Ok(true)
    })
}

/// Removes the rows that the example added, and returns the number of questions, tasks, threads and users among them.
pub async fn remove(store: &Store) -> Result<u64, Error> {
    change!(store, (), |connection, ()| {
        let mut removed = 0;
        for statement in REMOVE {
            removed += sqlx::query(statement).execute(&mut *connection).await?.rows_affected();
        }
        sqlx::query(REMOVE_AUDIT).execute(&mut *connection).await?;
        sqlx::query(COUNT_PENDING).execute(connection).await?;
        Ok(removed)
    })
}

#[cfg(test)]
mod tests {
    use adjutant_base::config::Database;

    use super::{Store, fill, remove};
    use crate::{codex, questions, tasks};

    #[tokio::test]
    async fn the_example_is_added_to_an_empty_store_once() {
        let store = Store::new(Database::Memory);
        let now = 1_800_000_000_000;
        assert!(fill(&store, "/home/o'hara/corner-shop", now).await.unwrap());
        assert!(!fill(&store, "/elsewhere", now).await.unwrap());
        assert_eq!(questions::count_pending(&store, questions::ALL).await.unwrap(), 4);
        let asked = questions::pending(&store, questions::ALL, None, 10).await.unwrap();
        assert!(asked.iter().all(|question| question.asked_at < now && question.deadline > now));
        assert!(asked.is_sorted_by_key(|question| question.asked_at), "the oldest first");
        assert_eq!(asked[0].workspace, "/home/o'hara/corner-shop");
        assert!(tasks::get(&store, "dem00000000000000003").await.unwrap().is_some());
        assert!(codex::thread(&store, "0199dem0-7a41-7c52-9b0e-c0de5e551011").await.unwrap().is_some());
        assert_eq!(remove(&store).await.unwrap(), 7 + 5 + 1);
        assert_eq!(questions::count_pending(&store, questions::ALL).await.unwrap(), 0);
        assert!(tasks::get(&store, "dem00000000000000003").await.unwrap().is_none());
        assert_eq!(remove(&store).await.unwrap(), 0);
        assert!(fill(&store, "/elsewhere", now).await.unwrap(), "nothing of it was left");
    }
}
