//! Questions for the user: rows, their states, and the verbs that move them.
//!
//! pending → held → decided, held → pending while the answer may be taken back, pending → decided. Every change
//! repeats the state it starts from in its `WHERE`, so of those who would decide a question exactly one does.

/// Starts a statement that reads whole questions, in the order of [`Question`]'s `FromRow`.
macro_rules! select_questions {
    ($rest:literal) => {
        concat!(
            "SELECT q.id, q.seq, q.client, q.workspace, q.title, q.level, q.state, q.asked_at, q.deadline, ",
            "q.seen_at, q.seen_ms, q.snoozed_until, q.held_until, q.outcome, b.message, b.form, ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id), ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id AND c.disconnected_at IS NULL), ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id AND c.disconnected_at IS NULL ",
            "AND c.silent_at IS NULL) ",
            "FROM questions q JOIN question_bodies b ON b.question = q.id ",
            $rest
        )
    };
}

mod audit;
mod decide;
mod deliveries;
mod due;
mod insert;
mod prune;
mod read;
mod settings;
mod views;

pub use audit::{events, note};
pub use decide::{Decision, decide, leave, make_final, take_back, withdraw};
pub use deliveries::{
    Here, all_gone, asked_in, askers, back, delivered, due, gone, here, is_delivery, left, lets_go, sent,
    silent, undelivered,
};
pub use due::{due_now, next_due};
pub use insert::{Entered, Limits, NewQuestion, ask};
pub use prune::prune;
pub use read::{count_history, count_pending, get, history, next, pending, place};
pub use settings::{desk, set_desk};
pub use views::{Seen, seen, snooze, wake};

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row as _};

use super::Millis;

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    Held,
    Decided,
}

/// One row of `questions`, with its body and its deliveries counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub id: String,
    pub seq: i64,
    pub client: String,
    pub workspace: String,
    pub title: String,
    pub level: String,
    pub state: State,
    pub asked_at: Millis,
    pub deadline: Millis,
    pub seen_at: Option<Millis>,
    pub seen_ms: Millis,
    pub snoozed_until: Option<Millis>,
    pub held_until: Option<Millis>,
    /// JSON of the room's own.
    pub outcome: Option<String>,
    pub message: String,
    /// JSON of the room's own.
    pub form: String,
    pub deliveries: i64,
    /// Those of them whose client has not gone.
    pub present: i64,
    /// Those of them that did not fall silent either.
    pub heard: i64,
}

impl<'r> FromRow<'r, AnyRow> for Question {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let state: String = row.try_get(6)?;
        let state = match state.as_str() {
            "pending" => State::Pending,
            "held" => State::Held,
            "decided" => State::Decided,
            other => return Err(sqlx::Error::Decode(format!("`{other}` is no state of a question").into())),
        };
        Ok(Self {
            id: row.try_get(0)?,
            seq: row.try_get(1)?,
            client: row.try_get(2)?,
            workspace: row.try_get(3)?,
            title: row.try_get(4)?,
            level: row.try_get(5)?,
            state,
            asked_at: row.try_get(7)?,
            deadline: row.try_get(8)?,
            seen_at: row.try_get(9)?,
            seen_ms: row.try_get(10)?,
            snoozed_until: row.try_get(11)?,
            held_until: row.try_get(12)?,
            outcome: row.try_get(13)?,
            message: row.try_get(14)?,
            form: row.try_get(15)?,
            deliveries: row.try_get(16)?,
            present: row.try_get(17)?,
            heard: row.try_get(18)?,
        })
    }
}

/// Every statement of this folder, for the test that has both engines read them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    insert::STATEMENTS,
    audit::STATEMENTS,
    decide::STATEMENTS,
    deliveries::STATEMENTS,
    settings::STATEMENTS,
    due::STATEMENTS,
    prune::STATEMENTS,
    read::STATEMENTS,
    views::STATEMENTS,
];
