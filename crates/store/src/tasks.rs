//! Delegated tasks: rows, their states, and the verbs that move them.
//!
//! queued → running → succeeded, failed, cancelled or lost; queued → cancelled; never back, except a task whose worker
//! was lost before it started the agent. Every change repeats in its `WHERE` the state it starts from, and the fence of
//! the lease when a hub holds the task.

/// Starts a statement that reads whole tasks, in the order of [`Task`]'s `FromRow`; `$text` is the task's text or a
/// part of it.
macro_rules! select_tasks {
    ($text:literal, $($rest:tt)+) => {
        concat!(
            "SELECT t.id, t.seq, t.caller, t.agent, t.runner, ",
            $text,
            " AS text, t.workdir, t.priority, t.parent, t.root, t.depth, i.options, t.state, t.attempt, t.fence, ",
            "t.hub, t.machine, COALESCE(m.name, ''), t.lease_until, t.spool, t.cancel_requested_at, t.failure, t.created_at, t.started_at, t.ended_at, ",
            "(SELECT SUBSTR(o.outcome, 1, 64) FROM task_results o WHERE o.task = t.id) ",
            "FROM tasks t JOIN task_inputs i ON i.task = t.id LEFT JOIN machines m ON m.id = t.machine ",
            $($rest)+
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
mod worker;

pub use claim::{Claim, Slots, claim};
pub use enqueue::{QueueLimits, enqueue};
pub use events::{append_events, events, events_before};
pub use finish::{Cancelled, cancel, finish};
pub use lease::{extend, move_to_runner, running, take_over};
pub use outcomes::{mark_delivered, outcome, undelivered};
pub use prune::{Retention, prune};
pub use read::{Filter, count, count_by_state, count_unended, get, ids, list, position, same_text, unended};
pub use worker::{claim_for_worker, expired, held_by, holder, offered, release};

use adjutant_base::named_enum;

use super::{Millis, row, text_column};

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Queued,
    Running,
    #[serde(untagged)]
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

/// A task to enqueue.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Unique and opaque, chosen by the caller of the store.
    pub id: String,
    /// The key of the caller, for fairness and ownership.
    pub caller: String,
    pub agent: String,
    /// The runner that the task waits for; limits count per runner.
    pub runner: String,
    pub text: String,
    pub workdir: String,
    /// Higher goes first, among the tasks of one caller.
    pub priority: i64,
    /// The parent task, if its agent delegated this one.
    pub parent: Option<String>,
    /// The first task of the tree; the task itself without a parent.
    pub root: String,
    /// 0 for a task of a client, one more for each delegation below it.
    pub depth: i64,
    /// JSON of the domain: timeout, schema, checks, isolation, permission.
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
        /// The runner that the task waits for, then the one it runs on.
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
        /// Grows with each claim, take-over and return to the queue; a verb with an older fence changes nothing.
        fence: i64,
        /// The hub that holds or held the task.
        hub: Option<String>,
        /// The machine that its folder is on; empty where no other machine has the database.
        machine: String,
        /// The host name of the machine; empty if it is unknown.
        machine_name: String,
        lease_until: Option<Millis>,
        /// The folder of its run, for the hub that resumes the run or removes the folder.
        spool: Option<String>,
        /// The time of the request to cancel the running task.
        cancel_requested_at: Option<Millis>,
        /// The class of its failure, as the domain names it.
        failure: Option<String>,
        created_at: Millis,
        started_at: Option<Millis>,
        ended_at: Option<Millis>,
        /// The first characters of its outcome: the members that the domain writes first.
        outcome_start: Option<String>,
    }
}

impl Task {
    /// Returns the lease of the hub that claimed this row.
    pub fn lease(&self) -> Lease {
        Lease { task: self.id.clone(), fence: self.fence }
    }
}

/// The right to change a running task, until another hub takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub task: String,
    pub fence: i64,
}

/// A new event of a task's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Millis,
    pub kind: String,
    /// JSON of the domain.
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

    /// Returns whether the state is final.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

#[cfg(test)]
pub(super) const OF_POSTGRES: &[&[&str]] = &[claim::OF_POSTGRES, read::OF_POSTGRES];
#[cfg(test)]
pub(super) const OF_SQLITE: &[&[&str]] = &[claim::OF_SQLITE, read::OF_SQLITE];

/// The statements that read queued and running tasks.
#[cfg(test)]
pub(super) const UNENDED: &[&str] = read::OF_UNENDED;

/// Every statement of this folder that both engines have, for the test that prepares them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] = &[
    enqueue::STATEMENTS,
    events::STATEMENTS,
    finish::STATEMENTS,
    lease::STATEMENTS,
    prune::STATEMENTS,
    read::STATEMENTS,
    UNENDED,
    outcomes::STATEMENTS,
    worker::STATEMENTS,
];
