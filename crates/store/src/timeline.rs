//! The timeline of all toolsets, newest first: one query over the tables of each.

use super::{Error, Millis, Store, pattern, read, row};

row! {
    /// One entry of the timeline.
    Entry {
        happened_at: Millis,
        /// Orders the entries of one instant; with the instant, the key of pages.
        place: String,
        /// The toolset's name, as in `config.toml`.
        toolset: String,
        /// The kind of entry, in the words of the toolset's rows.
        kind: String,
        /// The id of the task, question, notification, thread or audit entry.
        id: String,
        /// The actor: an agent, a client, a user or a model; may be empty.
        who: String,
        /// The beginning of its text.
        text: String,
    }
}

/// The filter of the timeline; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Found in the text, the actor, the kind or the id, in any case (beyond ASCII, as written); empty means all.
    pub text: String,
    /// One toolset; empty means all.
    pub toolset: String,
    /// Only entries older than this instant and place.
    pub before: Option<(Millis, String)>,
}

/// Selects the entries of one kind, from columns of that kind's table. Each part has its own limit, so that no more
/// rows are sorted than a page can show. Its order is that of an index on the columns themselves: the place begins with the
/// same letter in all rows of a part.
macro_rules! part {
    ($toolset:literal, $mark:literal, $at:literal, $kind:literal, $id:literal, $who:literal, $text:literal, $from:literal) => {
        concat!(
            "SELECT * FROM (SELECT ",
            $at,
            " AS happened_at, '",
            $mark,
            "' || ",
            $id,
            " AS place, '",
            $toolset,
            "' AS toolset, ",
            $kind,
            " AS kind, ",
            $id,
            " AS id, ",
            $who,
            " AS who, SUBSTR(",
            $text,
            ", 1, 300) AS text ",
            "FROM ",
            $from,
            " AND ($4 = '' OR $4 = '",
            $toolset,
            "') ",
            "AND (",
            $at,
            " < $1 OR (",
            $at,
            " = $1 AND '",
            $mark,
            "' || ",
            $id,
            " < $2)) ",
            "AND ($3 = '' OR LOWER(",
            $text,
            ") LIKE $3 ESCAPE '!' OR LOWER(",
            $who,
            ") LIKE $3 ESCAPE '!' ",
            "OR LOWER(",
            $kind,
            ") LIKE $3 ESCAPE '!' OR ",
            $id,
            " LIKE $3 ESCAPE '!') ",
            "ORDER BY ",
            $at,
            " DESC, ",
            $id,
            " DESC LIMIT $5) AS ",
            $mark
        )
    };
}

#[rustfmt::skip]
const READ: &str = concat!(
    "SELECT happened_at, place, toolset, \
     CASE WHEN EXISTS (SELECT 1 FROM task_results r WHERE r.task = e.id AND e.kind = 'succeeded' \
                       AND r.outcome LIKE '{\"status\":\"succeeded\",\"verdict\":\"refuted\"%') \
          THEN 'refuted' \
          WHEN EXISTS (SELECT 1 FROM questions q WHERE q.id = e.id AND e.kind = 'answered' \
                       AND q.outcome LIKE '%\"denied\":true,%') \
          THEN 'denied' ELSE kind END, id, who, text FROM (",
    part!("agents", "a", "t.created_at", "'delegated'", "t.id", "t.agent", "i.text",
        "tasks t JOIN task_inputs i ON i.task = t.id WHERE 1 = 1"),
    " UNION ALL ",
    part!("agents", "b", "t.ended_at", "t.state", "t.id", "t.agent", "i.text",
        "tasks t JOIN task_inputs i ON i.task = t.id WHERE t.ended_at IS NOT NULL"),
    " UNION ALL ",
    part!("questions", "c", "q.asked_at", "'asked'", "q.id", "q.client", "q.title", "questions q WHERE 1 = 1"),
    " UNION ALL ",
    part!("questions", "d", "q.decided_at", "q.kind", "q.id", "q.client", "q.title", "questions q WHERE q.state = 'decided'"),
    " UNION ALL ",
    part!("assistant", "e", "n.updated_at", "n.status", "n.id", "u.name", "e.title",
        "notifications n JOIN users u ON u.id = n.user_id JOIN events e ON e.id = n.event_id \
         WHERE n.status IN ('sent', 'simulated', 'failed', 'unknown', 'dead')"),
    " UNION ALL ",
    part!("assistant", "f", "l.at", "l.action", "l.id", "l.actor", "(l.subject || ' ' || l.detail)", "audit l WHERE 1 = 1"),
    " UNION ALL ",
    part!("codex", "g", "c.started_at", "'prompted'", "(c.thread || '/' || c.turn)", "h.model", "h.title",
        "codex_turns c JOIN codex_threads h ON h.id = c.thread WHERE 1 = 1"),
    " UNION ALL ",
    part!("codex", "h", "c.ended_at", "c.ended", "(c.thread || '/' || c.turn)", "h.model", "COALESCE(c.failure, h.title)",
        "codex_turns c JOIN codex_threads h ON h.id = c.thread WHERE c.ended IS NOT NULL"),
    " ORDER BY happened_at DESC, place DESC LIMIT $5) AS e ORDER BY happened_at DESC, place DESC",
);

/// Returns at most `limit` entries, the newest first.
pub async fn read(store: &Store, search: &Filter, limit: u32) -> Result<Vec<Entry>, Error> {
    let (at, place) = search.before.clone().unwrap_or((Millis::MAX, String::new()));
    let query = || {
        let query = sqlx::query_as(READ).bind(at).bind(&place).bind(pattern(&search.text));
        query.bind(&search.toolset).bind(i64::from(limit))
    };
    Ok(read!(store, query(), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[&[READ]];
