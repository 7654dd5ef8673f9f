//! Queries of questions.

use super::{Question, pending_count};
use crate::{Error, Millis, Store, pattern, read};
use adjutant_base::named_enum;

/// The addressees of every question. Those of a user have the form `||ann|@team|`: the empty name of a question for all, the
/// user, and the user's groups.
pub const ALL: &str = "*";

/// The condition that a question is for one of the addressees in a parameter.
macro_rules! is_for {
    ($addressees:literal) => {
        concat!(
            "(CAST(",
            $addressees,
            " AS TEXT) = '*' OR REPLACE(CAST(",
            $addressees,
            " AS TEXT), '|' || q.addressee || '|', '') <> CAST(",
            $addressees,
            " AS TEXT))"
        )
    };
}

const GET: &str = select_questions!("WHERE q.id = $1");

const PENDING: &str = select_questions!(
    "WHERE q.state = 'pending' AND q.seq > $1 AND ",
    is_for!("$3"),
    " ORDER BY q.seq LIMIT $2"
);

/// The condition of a search of pending questions. `LIKE` of SQLite and `ILIKE` of PostgreSQL ignore the case of ASCII letters
/// without a copy of each text in lower case. `$2` is the name of a [`PendingKind`]. The member `"denials"` in quotes is found
/// only as a member of the form, because quotes in a text are escaped there.
macro_rules! found {
    ($like:literal) => {
        concat!(
            "WHERE q.state = 'pending' AND ($1 = '' OR q.title ",
            $like,
            " $1 ESCAPE '!' OR b.message ",
            $like,
            " $1 ESCAPE '!' OR q.workspace ",
            $like,
            " $1 ESCAPE '!' OR q.client ",
            $like,
            " $1 ESCAPE '!') AND ($2 = '' OR $2 = q.level OR ($2 = 'approval' AND b.form LIKE '%\"denials\":[%') \
              OR ($2 = 'snoozed' AND q.snoozed_until IS NOT NULL)) AND "
        )
    };
}

/// The condition of a search of decided questions.
macro_rules! decided {
    ($like:literal) => {
        concat!(
            "WHERE q.state = 'decided' AND ($1 = '' OR q.kind = $1) AND ($2 = '' OR q.title ",
            $like,
            " $2 ESCAPE '!' OR b.message ",
            $like,
            " $2 ESCAPE '!' OR q.workspace ",
            $like,
            " $2 ESCAPE '!' OR q.client ",
            $like,
            " $2 ESCAPE '!' OR q.outcome ",
            $like,
            " $2 ESCAPE '!') AND "
        )
    };
}

macro_rules! count {
    () => {
        "SELECT COUNT(*) FROM questions q JOIN question_bodies b ON b.question = q.id "
    };
}

/// Statements in the words of one engine.
struct Searches {
    found: &'static str,
    count_found: &'static str,
    history: &'static str,
    count_history: &'static str,
}

macro_rules! searches {
    ($like:literal) => {
        Searches {
            found: select_questions!(
                found!($like),
                "q.seq > $3 AND ",
                is_for!("$5"),
                " ORDER BY q.seq LIMIT $4"
            ),
            count_found: concat!(count!(), found!($like), is_for!("$3")),
            history: select_questions!(
                decided!($like),
                "q.seq < $3 AND ",
                is_for!("$5"),
                " ORDER BY q.seq DESC LIMIT $4"
            ),
            count_history: concat!(count!(), decided!($like), is_for!("$3")),
        }
    };
}

const SQLITE_SEARCHES: Searches = searches!("LIKE");
const POSTGRES_SEARCHES: Searches = searches!("ILIKE");

const NEWEST: &str =
    select_questions!("WHERE q.state = 'pending' AND ", is_for!("$2"), " ORDER BY q.seq DESC LIMIT $1");

const HELD: &str =
    select_questions!("WHERE q.state = 'held' AND ", is_for!("$2"), " ORDER BY q.held_until LIMIT $1");

const BY_PREFIX: &str =
    "SELECT id FROM questions WHERE SUBSTR(id, 1, LENGTH(CAST($1 AS TEXT))) = CAST($1 AS TEXT) LIMIT 2";

/// The number of pending questions that are as old as this one or older.
const PLACE: &str =
    concat!("SELECT COUNT(*) FROM questions q WHERE q.state = 'pending' AND q.seq <= $1 AND ", is_for!("$2"));

/// The number of pending questions that some users see; the number of all is kept.
const COUNT_SEEN: &str =
    concat!("SELECT COUNT(*) FROM questions q WHERE q.state = 'pending' AND ", is_for!("$1"));

/// The next question that is not snoozed: the next younger one, and after the youngest the oldest.
const NEXT: &str = concat!(
    "SELECT q.id FROM questions q \
    WHERE q.state = 'pending' AND q.seq <> $1 AND (q.snoozed_until IS NULL OR q.snoozed_until <= $2) AND ",
    is_for!("$3"),
    " ORDER BY CASE WHEN q.seq > $1 THEN 0 ELSE 1 END, q.seq LIMIT 1"
);

named_enum! {
    /// A kind of pending questions that a list can be limited to.
    PendingKind {
        Approval = "approval",
        HighRisk = "high",
        Snoozed = "snoozed",
    }
}

fn searches(store: &Store) -> Searches {
    if store.is_shared() { POSTGRES_SEARCHES } else { SQLITE_SEARCHES }
}

/// Returns one question.
pub async fn get(store: &Store, id: &str) -> Result<Option<Question>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(id), fetch_optional))
}

/// Returns at most `limit` pending questions, oldest first, after the `seq` of `after`.
pub async fn pending(
    store: &Store,
    addressees: &str,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<Question>, Error> {
    let query = || sqlx::query_as(PENDING).bind(after.unwrap_or(0)).bind(i64::from(limit)).bind(addressees);
    Ok(read!(store, query(), fetch_all))
}

/// Returns at most `limit` pending questions of `kind` that contain `text` (empty is all), oldest first, after the `seq` of
/// `after`.
pub async fn find_pending(
    store: &Store,
    addressees: &str,
    text: &str,
    kind: Option<PendingKind>,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<Question>, Error> {
    let query = || {
        let query = sqlx::query_as(searches(store).found).bind(pattern(text));
        let query = query.bind(kind.map_or("", PendingKind::name)).bind(after.unwrap_or(0));
        query.bind(i64::from(limit)).bind(addressees)
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the number of pending questions of `kind` that contain `text`.
pub async fn count_found(
    store: &Store,
    addressees: &str,
    text: &str,
    kind: Option<PendingKind>,
) -> Result<u64, Error> {
    let query = || {
        let query = sqlx::query_scalar(searches(store).count_found).bind(pattern(text));
        query.bind(kind.map_or("", PendingKind::name)).bind(addressees)
    };
    let count: i64 = read!(store, query(), fetch_one);
    Ok(count.cast_unsigned())
}

/// Returns at most `limit` pending questions, newest first.
pub async fn newest(store: &Store, addressees: &str, limit: u32) -> Result<Vec<Question>, Error> {
    Ok(read!(store, sqlx::query_as(NEWEST).bind(i64::from(limit)).bind(addressees), fetch_all))
}

/// Returns at most `limit` questions with a decision that can be undone.
pub async fn held(store: &Store, addressees: &str, limit: u32) -> Result<Vec<Question>, Error> {
    Ok(read!(store, sqlx::query_as(HELD).bind(i64::from(limit)).bind(addressees), fetch_all))
}

/// Returns the ids that begin with `prefix`, two at most.
pub async fn by_prefix(store: &Store, prefix: &str) -> Result<Vec<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(BY_PREFIX).bind(prefix), fetch_all))
}

/// Returns the number of pending questions.
pub async fn count_pending(store: &Store, addressees: &str) -> Result<u64, Error> {
    let count: i64 = if addressees == ALL {
        read!(store, sqlx::query_scalar(pending_count::COUNT), fetch_one)
    } else {
        read!(store, sqlx::query_scalar(COUNT_SEEN).bind(addressees), fetch_one)
    };
    Ok(count.cast_unsigned())
}

/// Returns the position of a pending question in the queue, 1 for the oldest.
pub async fn position(store: &Store, addressees: &str, seq: i64) -> Result<u64, Error> {
    let count: i64 = read!(store, sqlx::query_scalar(PLACE).bind(seq).bind(addressees), fetch_one);
    Ok(count.cast_unsigned())
}

/// Returns the pending question to show after the one of this `seq`, if there is any.
pub async fn next(store: &Store, addressees: &str, seq: i64, now: Millis) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(NEXT).bind(seq).bind(now).bind(addressees), fetch_optional))
}

/// Returns at most `limit` decided questions of `kind` (empty is all) that contain `text` (empty is all), newest
/// first, before the `seq` of `before`.
pub async fn history(
    store: &Store,
    addressees: &str,
    text: &str,
    kind: &str,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Question>, Error> {
    let query = || {
        let query = sqlx::query_as(searches(store).history).bind(kind).bind(pattern(text));
        query.bind(before.unwrap_or(i64::MAX)).bind(i64::from(limit)).bind(addressees)
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the number of decided questions of `kind` that contain `text`.
pub async fn count_history(store: &Store, addressees: &str, text: &str, kind: &str) -> Result<u64, Error> {
    let query =
        || sqlx::query_scalar(searches(store).count_history).bind(kind).bind(pattern(text)).bind(addressees);
    let count: i64 = read!(store, query(), fetch_one);
    Ok(count.cast_unsigned())
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, PENDING, NEWEST, HELD, BY_PREFIX, PLACE, COUNT_SEEN, NEXT];
#[cfg(test)]
pub(super) const OF_POSTGRES: &[&str] = &of_engine(&POSTGRES_SEARCHES);
#[cfg(test)]
pub(super) const OF_SQLITE: &[&str] = &of_engine(&SQLITE_SEARCHES);

#[cfg(test)]
const fn of_engine(searches: &Searches) -> [&'static str; 4] {
    [searches.found, searches.count_found, searches.history, searches.count_history]
}
