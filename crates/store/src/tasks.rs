//! Delegated tasks: rows, their states, and the verbs that move them.
//!
//! queued → running → succeeded, failed, cancelled or lost; queued → cancelled. There is no way back: every change
//! repeats the state it starts from, and where a hub holds the task the fence of its lease, in its `WHERE`.

/// Starts a statement that reads whole tasks, in the order of [`Task`]'s `FromRow`; `$text` is the task's text or a
/// part of it.
macro_rules! select_tasks {
    ($text:literal, $rest:literal) => {
        concat!(
            "SELECT t.id, t.seq, t.caller, t.agent, t.runner, ",
            $text,
            " AS text, t.workdir, t.priority, t.parent, t.root, t.depth, i.options, t.state, t.attempt, t.fence, ",
            "t.hub, t.lease_until, t.spool, t.cancel_requested_at, t.failure, t.created_at, t.started_at, t.ended_at ",
            "FROM tasks t JOIN task_inputs i ON i.task = t.id ",
            $rest
        )
    };
}

mod claim;
mod enqueue;
mod events;
mod finish;
mod lease;
mod outcomes;
mod prune;
mod read;

pub use claim::{Claim, Slots, claim};
pub use enqueue::{QueueLimits, enqueue};
pub use events::{append_events, events, events_before};
pub use finish::{Cancelled, cancel, finish};
pub use lease::{expired_leases, extend, move_to_runner, take_over};
pub use outcomes::{mark_delivered, outcome, undelivered};
pub use prune::{Keep, prune};
pub use read::{Filter, count, get, ids, list, position};

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row as _};

use super::Millis;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Queued,
    Running,
    Ended(Ending),
}

/// How a task ended; it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    Succeeded,
    Failed,
    Cancelled,
    /// The hub that ran it is gone, and nobody knows how far it came.
    Lost,
}

/// A task that somebody asks for.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Unique, chosen by the caller of the store; no meaning is read from it.
    pub id: String,
    /// Who asks: the key of fairness and of ownership.
    pub caller: String,
    pub agent: String,
    /// The runner it waits for; limits are counted by it.
    pub runner: String,
    pub text: String,
    pub workdir: String,
    /// Higher goes first, among the tasks of one caller.
    pub priority: i64,
    /// The task whose agent asked for this one, if one did.
    pub parent: Option<String>,
    /// The first task of the tree; the task itself where there is no parent.
    pub root: String,
    /// 0 for a task of a client, one more for each delegation below it.
    pub depth: i64,
    /// JSON of the room's own: timeout, schema, checks, isolation, permission.
    pub options: String,
    pub created_at: Millis,
}

/// One row of `tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    /// Grows with every task of the store: the age, and the key of pages.
    pub seq: i64,
    pub caller: String,
    pub agent: String,
    /// The runner it waits for, then the one it runs on.
    pub runner: String,
    pub text: String,
    pub workdir: String,
    pub priority: i64,
    pub parent: Option<String>,
    pub root: String,
    pub depth: i64,
    pub options: String,
    pub state: State,
    /// 0 while queued; 1 from the claim on, one more for each runner after the first.
    pub attempt: i64,
    /// Grows with each claim and take-over; a verb with an older one is refused.
    pub fence: i64,
    /// The hub that holds or held it.
    pub hub: Option<String>,
    pub lease_until: Option<Millis>,
    /// The folder of its run, for the hub that takes it up again and for who removes it.
    pub spool: Option<String>,
    /// When somebody asked to cancel it while it ran.
    pub cancel_requested_at: Option<Millis>,
    /// The class of its failure, as the room names it.
    pub failure: Option<String>,
    pub created_at: Millis,
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

impl Task {
    /// Returns the lease with which the hub that claimed this row speaks for it.
    pub fn lease(&self) -> Lease {
        Lease { task: self.id.clone(), fence: self.fence }
    }
}

/// The right to speak for a running task, until another hub takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub task: String,
    pub fence: i64,
}

/// Something that happened in a task's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Millis,
    pub kind: String,
    /// JSON of the room's own.
    pub data: String,
}

/// One row of `task_events`; `seq` counts from 1 in each task, without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEvent {
    pub seq: i64,
    pub at: Millis,
    pub kind: String,
    pub data: String,
}

impl<'r> FromRow<'r, AnyRow> for Task {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let state: String = row.try_get(12)?;
        let state = State::from_name(&state)
            .ok_or_else(|| sqlx::Error::Decode(format!("`{state}` is no state of a task").into()))?;
        Ok(Self {
            id: row.try_get(0)?,
            seq: row.try_get(1)?,
            caller: row.try_get(2)?,
            agent: row.try_get(3)?,
            runner: row.try_get(4)?,
            text: row.try_get(5)?,
            workdir: row.try_get(6)?,
            priority: row.try_get(7)?,
            parent: row.try_get(8)?,
            root: row.try_get(9)?,
            depth: row.try_get(10)?,
            options: row.try_get(11)?,
            state,
            attempt: row.try_get(13)?,
            fence: row.try_get(14)?,
            hub: row.try_get(15)?,
            lease_until: row.try_get(16)?,
            spool: row.try_get(17)?,
            cancel_requested_at: row.try_get(18)?,
            failure: row.try_get(19)?,
            created_at: row.try_get(20)?,
            started_at: row.try_get(21)?,
            ended_at: row.try_get(22)?,
        })
    }
}

impl State {
    /// Every state, in the order of a task's life.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Ended(Ending::Succeeded),
        Self::Ended(Ending::Failed),
        Self::Ended(Ending::Cancelled),
        Self::Ended(Ending::Lost),
    ];

    /// Returns the word that stands in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Ended(ending) => ending.as_str(),
        }
    }

    /// Reads the word of a row; nothing for a word that is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Tells whether nothing can happen to it any more.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

impl Ending {
    /// Returns the word that stands in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

/// Every statement of this folder, for the test that has both engines read them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    claim::STATEMENTS,
    enqueue::STATEMENTS,
    events::STATEMENTS,
    finish::STATEMENTS,
    lease::STATEMENTS,
    prune::STATEMENTS,
    read::STATEMENTS,
    outcomes::STATEMENTS,
];
