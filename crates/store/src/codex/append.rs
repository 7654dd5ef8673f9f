//! Inserts of threads, turns and items.

use sqlx::AnyConnection;

use super::{Change, NewItem, NewThread};
use crate::{Error, Store, change};

/// A resumed thread keeps its title, its age and its settings.
const THREAD: &str = "\
    INSERT INTO codex_threads (id, backend, version, cwd, model, title, settings, parent, tokens, created_at, updated_at, \
                               machine) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $9, 0, $8, $8, $10) \
    ON CONFLICT (id) DO UPDATE SET backend = excluded.backend, version = excluded.version, updated_at = excluded.updated_at, \
    model = CASE WHEN excluded.model = '' THEN codex_threads.model ELSE excluded.model END";

/// Names of turns may start over when a new process resumes the thread.
const TURN: &str = "\
    INSERT INTO codex_turns (thread, turn, started_at) \
    SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT) \
    WHERE EXISTS (SELECT 1 FROM codex_threads WHERE id = $1) \
    ON CONFLICT (thread, turn) DO UPDATE \
    SET ended = NULL, failure = NULL, started_at = excluded.started_at, ended_at = NULL, heartbeat_at = NULL";

const END: &str = "\
    UPDATE codex_turns SET ended = $3, failure = $4, ended_at = $5, diff = $6 WHERE thread = $1 AND turn = $2";

const TOUCH: &str = "\
    UPDATE codex_threads SET updated_at = $2, tokens = $3, context = $4, context_window = $5 WHERE id = $1";

const TITLE: &str = "UPDATE codex_threads SET title = $2 WHERE id = $1";

const SETTINGS: &str = "UPDATE codex_threads SET model = $2, settings = $3 WHERE id = $1";

const ARCHIVED: &str = "UPDATE codex_threads SET archived = $2 WHERE id = $1";

const DELETED: &str = "DELETE FROM codex_threads WHERE id = $1 OR parent = $1";

const ITEM: &str = "\
    INSERT INTO codex_items (thread, seq, id, turn, kind, text, body, at) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(seq) FROM codex_items WHERE thread = $1), 0) + 1, \
           CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BIGINT) \
    WHERE EXISTS (SELECT 1 FROM codex_threads WHERE id = $1) \
    ON CONFLICT (thread, id) DO UPDATE SET text = excluded.text, body = excluded.body, kind = excluded.kind";

/// Records changes in order. A new thread is of this machine.
pub async fn record(store: &Store, changes: Vec<Change>) -> Result<(), Error> {
    change!(store, (changes, store.machine().to_owned()), |connection, (changes, machine)| {
        for change in changes {
            match change {
                Change::Thread(new) => begin(connection, new, machine).await?,
                Change::TurnStarted { thread, turn, at } => {
                    sqlx::query(TURN).bind(thread).bind(turn).bind(at).execute(&mut *connection).await?;
                }
                Change::TurnEnded { thread, turn, end, failure, tokens, context, diff, at } => {
                    let ended =
                        sqlx::query(END).bind(thread).bind(turn).bind(end).bind(failure).bind(at).bind(diff);
                    ended.execute(&mut *connection).await?;
                    let touched = sqlx::query(TOUCH).bind(thread).bind(at).bind(tokens);
                    touched.bind(context.0).bind(context.1).execute(&mut *connection).await?;
                }
                Change::Item(new) => add(connection, new).await?,
                Change::Title { thread, title } => {
                    sqlx::query(TITLE).bind(thread).bind(title).execute(&mut *connection).await?;
                }
                Change::Settings { thread, model, settings } => {
                    let query = sqlx::query(SETTINGS).bind(thread).bind(model).bind(settings);
                    query.execute(&mut *connection).await?;
                }
                Change::Archived { thread, archived } => {
                    let query = sqlx::query(ARCHIVED).bind(thread).bind(i64::from(*archived));
                    query.execute(&mut *connection).await?;
                }
                Change::Deleted { thread } => {
                    sqlx::query(DELETED).bind(thread).execute(&mut *connection).await?;
                }
            }
        }
        Ok(())
    })
}

async fn begin(connection: &mut AnyConnection, new: &NewThread, machine: &str) -> Result<(), sqlx::Error> {
    let query = sqlx::query(THREAD)
        .bind(&new.id)
        .bind(&new.backend)
        .bind(&new.version)
        .bind(&new.cwd)
        .bind(&new.model)
        .bind(&new.title)
        .bind(&new.settings)
        .bind(new.at)
        .bind(&new.parent)
        .bind(machine);
    query.execute(connection).await.map(drop)
}

/// Appends an item, or updates the one with the same id.
pub(super) async fn add(connection: &mut AnyConnection, new: &NewItem) -> Result<(), sqlx::Error> {
    let query = sqlx::query(ITEM)
        .bind(&new.thread)
        .bind(&new.id)
        .bind(&new.turn)
        .bind(&new.kind)
        .bind(&new.text)
        .bind(&new.body)
        .bind(new.at);
    query.execute(connection).await.map(drop)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[THREAD, TURN, END, TOUCH, ITEM, TITLE, SETTINGS, ARCHIVED, DELETED];
