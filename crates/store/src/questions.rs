//! Questions for the user: rows, their states, and the verbs that move them.
//!
//! pending → held → decided, held → pending while the answer may be taken back, pending → decided. Every change
//! repeats the state it starts from in its `WHERE`, so exactly one of several decisions of a question counts.

/// Starts a statement that reads whole questions, in the order of [`Question`]'s `FromRow`.
macro_rules! select_questions {
    ($($rest:tt)+) => {
        concat!(
            "SELECT q.id, q.seq, q.machine, q.client, q.workspace, q.title, q.level, q.state, q.asked_at, q.deadline, ",
            "q.seen_at, q.seen_ms, q.snoozed_until, q.held_until, q.outcome, b.message, b.form, ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id), ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id AND c.disconnected_at IS NULL), ",
            "(SELECT COUNT(*) FROM question_deliveries c WHERE c.question = q.id AND c.disconnected_at IS NULL ",
            "AND c.silent_at IS NULL), q.addressee ",
            "FROM questions q JOIN question_bodies b ON b.question = q.id ",
            $($rest)+
        )
    };
}

mod audit;
mod decide;
mod deliveries;
mod due;
mod files;
mod insert;
mod pending_count;
mod prune;
mod read;
mod settings;
mod views;

pub use audit::{append_event, append_ring, events};
pub use decide::{Decision, decide, end_abandoned, make_final, set_not_applied, undo, withdraw};
pub use deliveries::{
    WaitingAsker, abandon, adopt, asked_by, askers, disconnect_all, due_events, is_asker, mark_delivered,
    mark_sent, mark_silent, mark_waiting, questions_of_session, session_closed, session_resumed, start_lease,
    undelivered,
};
pub use due::{due_now, next_due};
pub use files::file;
pub use insert::{Asked, Identical, Limits, NewQuestion, ask, identical};
pub use pending_count::change_number;
pub use prune::prune;
pub use read::{
    ALL, PendingKind, by_prefix, count_found, count_history, count_pending, find_pending, get, held, history,
    newest, next, pending, position,
};
pub use settings::{set_first, set_setting, setting, settings};
pub use views::{View, end_snooze, mark_seen, snooze};

use adjutant_base::named_enum;

use super::{Millis, row, text_column};

named_enum! {
    /// The state of a question.
    State {
        Pending = "pending",
        Held = "held",
        Decided = "decided",
    }
}
text_column!(State);

row! {
    /// One row of `questions`, with its body and its deliveries counted.
    Question {
        id: String,
        seq: i64,
        /// The machine of the client; empty where no other machine has the database.
        machine: String,
        client: String,
        workspace: String,
        title: String,
        level: String,
        state: State,
        asked_at: Millis,
        deadline: Millis,
        seen_at: Option<Millis>,
        seen_ms: Millis,
        snoozed_until: Option<Millis>,
        held_until: Option<Millis>,
        /// JSON of the domain.
        outcome: Option<String>,
        message: String,
        /// JSON of the domain.
        form: String,
        deliveries: i64,
        /// The deliveries with a connected client.
        present: i64,
        /// The deliveries with a connected client that is not silent.
        listening: i64,
        /// The user or `@group` that it is for; empty for all.
        addressee: String,
    }
}

#[cfg(test)]
pub(super) const OF_POSTGRES: &[&[&str]] = &[read::OF_POSTGRES];
#[cfg(test)]
pub(super) const OF_SQLITE: &[&[&str]] = &[read::OF_SQLITE];

/// Every statement of this folder that both engines have, for the test that prepares them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    insert::STATEMENTS,
    audit::STATEMENTS,
    decide::STATEMENTS,
    deliveries::STATEMENTS,
    deliveries::PER_QUESTION,
    settings::STATEMENTS,
    due::STATEMENTS,
    files::STATEMENTS,
    pending_count::STATEMENTS,
    prune::STATEMENTS,
    read::STATEMENTS,
    views::STATEMENTS,
];

/// The statements that run for one question: asking, showing, deciding, delivering, its timers. None may read rows of all
/// others.
#[cfg(test)]
pub(super) const PER_QUESTION: &[&[&str]] = &[
    insert::STATEMENTS,
    audit::STATEMENTS,
    decide::STATEMENTS,
    deliveries::PER_QUESTION,
    due::STATEMENTS,
    files::STATEMENTS,
    pending_count::STATEMENTS,
    settings::PER_QUESTION,
    views::STATEMENTS,
];
