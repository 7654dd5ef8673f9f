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

use adjutant_base::named_enum;

use super::{Millis, row, text_column};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Queued,
    Running,
    Ended(Ending),
}

named_enum! {
    /// The final state of a task.
    Ending {
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
        /// The hub that ran it has gone, and its progress is unknown.
        Lost = "lost",
    }
}
text_column!(State);

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

row! {
    /// One row of `tasks`.
    Task {
        id: String,
        /// Grows with every task of the store: the age, and the key of pages.
        seq: i64,
        caller: String,
        agent: String,
        /// The runner it waits for, then the one it runs on.
        runner: String,
        text: String,
        workdir: String,
        priority: i64,
        parent: Option<String>,
        root: String,
        depth: i64,
        options: String,
        state: State,
        /// 0 while queued; 1 from the claim on, one more for each runner after the first.
        attempt: i64,
        /// Grows with each claim and take-over; a verb with an older one is refused.
        fence: i64,
        /// The hub that holds or held it.
        hub: Option<String>,
        lease_until: Option<Millis>,
        /// The folder of its run, for the hub that takes it up again and for who removes it.
        spool: Option<String>,
        /// When somebody asked to cancel it while it ran.
        cancel_requested_at: Option<Millis>,
        /// The class of its failure, as the room names it.
        failure: Option<String>,
        created_at: Millis,
        started_at: Option<Millis>,
        ended_at: Option<Millis>,
    }
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

row! {
    /// One row of `task_events`; `seq` counts from 1 in each task, without a gap.
    TaskEvent {
        seq: i64,
        at: Millis,
        kind: String,
        data: String,
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

    /// Returns the name in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Ended(ending) => ending.name(),
        }
    }

    /// Returns the state of a name; `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether the state is final.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
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
