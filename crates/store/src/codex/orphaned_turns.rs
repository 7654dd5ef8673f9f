//! Heartbeats of running turns, and the end of turns after their hub has ended.

use super::{NewItem, append};
use crate::{Error, Millis, Store, change, read};

const SILENT: &str = "\
    SELECT thread, turn FROM codex_turns WHERE ended IS NULL AND COALESCE(heartbeat_at, started_at) < $1 \
    ORDER BY started_at, thread, turn";

const RUNS: &str = "UPDATE codex_turns SET heartbeat_at = $2 WHERE thread = $1 AND ended IS NULL";

const IS_OPEN: &str = "UPDATE codex_handles SET updated_at = $2 WHERE id = $1 AND ended IS NULL";

/// Ends only an open turn: another hub may have found it too, or its own hub may have ended it after all.
const CUT: &str = "\
    UPDATE codex_turns SET ended = 'interrupted', failure = $3, ended_at = $4 \
    WHERE thread = $1 AND turn = $2 AND ended IS NULL";

/// The end of a turn that lost its hub.
#[derive(Clone, Debug)]
pub struct OrphanedTurn {
    pub failure: String,
    /// The item for its transcript; names the thread and the turn.
    pub item: NewItem,
}

/// Returns the thread and the name of each open turn without a heartbeat since `since`, oldest first.
pub async fn without_heartbeat(store: &Store, since: Millis) -> Result<Vec<(String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(SILENT).bind(since), fetch_all))
}

/// Records that this hub still runs a turn in each of these threads, and still has these handles.
pub async fn heartbeat(
    store: &Store,
    threads: Vec<String>,
    handles: Vec<String>,
    at: Millis,
) -> Result<(), Error> {
    let threads = threads.into_iter().map(|thread| (RUNS, thread));
    let names: Vec<(&'static str, String)> =
        threads.chain(handles.into_iter().map(|handle| (IS_OPEN, handle))).collect();
    change!(store, (names, at), |connection, (names, at)| {
        for (sql, name) in names {
            sqlx::query(*sql).bind(name).bind(at).execute(&mut *connection).await?;
        }
        Ok(())
    })
}

/// Ends turns and appends an item to each transcript; a turn that has ended already is left alone.
pub async fn end_orphaned(store: &Store, turns: Vec<OrphanedTurn>) -> Result<(), Error> {
    change!(store, turns, |connection, turns| {
        for OrphanedTurn { failure, item } in turns {
            let cut = sqlx::query(CUT).bind(&item.thread).bind(&item.turn).bind(failure).bind(item.at);
            if cut.execute(&mut *connection).await?.rows_affected() > 0 {
                append::add(connection, item).await?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SILENT, RUNS, IS_OPEN, CUT];
