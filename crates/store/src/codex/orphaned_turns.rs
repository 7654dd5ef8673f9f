//! Turns that run, and those whose hub went away before their end.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use super::{NewItem, record};
use crate::store::{Error, Millis, Store};

const SILENT: &str = "\
    SELECT thread, turn FROM codex_turns WHERE ended IS NULL AND COALESCE(alive_at, started_at) < $1 \
    ORDER BY started_at, thread, turn";

const RUNS: &str = "UPDATE codex_turns SET alive_at = $2 WHERE thread = $1 AND ended IS NULL";

const IS_OPEN: &str = "UPDATE codex_handles SET updated_at = $2 WHERE id = $1 AND ended IS NULL";

/// Another hub may have found it too, or its own may have ended it after all.
const CUT: &str = "\
    UPDATE codex_turns SET ended = 'interrupted', failure = $3, ended_at = $4 \
    WHERE thread = $1 AND turn = $2 AND ended IS NULL";

/// How a turn ends that no hub has any more.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) failure: String,
    /// What its transcript says of it; names the thread and the turn.
    pub(crate) item: NewItem,
}

/// Returns the thread and the name of each open turn of which no hub has spoken since `since`, the oldest first.
pub(crate) async fn silent(store: &Store, since: Millis) -> Result<Vec<(String, String)>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_as(SILENT).bind(since).fetch_all(&mut *connection).await?)
}

/// Says that this hub still runs a turn in each of these threads, and has these turns that were handed out.
pub(crate) async fn alive(
    store: &Store,
    threads: Vec<String>,
    handles: Vec<String>,
    at: Millis,
) -> Result<(), Error> {
    fn verb<'a>(
        connection: &'a mut AnyConnection,
        (names, at): &'a (Vec<(&'static str, String)>, Millis),
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            for (sql, name) in names {
                sqlx::query(*sql).bind(name).bind(at).execute(&mut *connection).await?;
            }
            Ok(())
        })
    }
    let threads = threads.into_iter().map(|thread| (RUNS, thread));
    let names = threads.chain(handles.into_iter().map(|handle| (IS_OPEN, handle))).collect();
    store.write((names, at), verb).await
}

/// Ends turns and appends what is said of it; one that has an end keeps it.
pub(crate) async fn cut_off(store: &Store, turns: Vec<Cut>) -> Result<(), Error> {
    fn verb<'a>(
        connection: &'a mut AnyConnection,
        turns: &'a Vec<Cut>,
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            for Cut { failure, item } in turns {
                let cut = sqlx::query(CUT).bind(&item.thread).bind(&item.turn).bind(failure).bind(item.at);
                if cut.execute(&mut *connection).await?.rows_affected() > 0 {
                    record::add(connection, item).await?;
                }
            }
            Ok(())
        })
    }
    store.write(turns, verb).await
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SILENT, RUNS, IS_OPEN, CUT];
