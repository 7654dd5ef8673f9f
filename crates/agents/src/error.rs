//! Error of a delegation or of a request about a task.

use super::definition::Permission;
use super::runner::Rejection;
use super::task::Machine;
use adjutant_base::text::suggest::near_hint;
use adjutant_store as store;

/// A sentence fragment for the user or the model that made the request. It names no path but the one in the request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("unknown agent `{name}`{}", near_hint(.near))]
    UnknownAgent { name: String, near: Vec<String> },
    /// The file is there, but it cannot be served.
    #[error("agent `{name}` cannot be read: {reason}")]
    BrokenAgent { name: String, reason: String },
    #[error(
        "agent `{name}` came with a project and its current version is not trusted; the user can trust it with: adjutant agents trust {name}"
    )]
    Untrusted { name: String },
    #[error("the task is empty: say what the agent is to do")]
    EmptyTask,
    #[error("the task has {bytes} bytes, over the limit of {limit}")]
    LargeTask { bytes: usize, limit: usize },
    #[error("the {what} holds a NUL character, which no command line can carry")]
    Nul { what: &'static str },
    #[error("working_directory {0}")]
    Workdir(String),
    #[error(
        "isolation `worktree` needs a git repository with at least one commit, and the working directory is in none: {reason}"
    )]
    NoRepository { reason: String },
    #[error("`{text}` is not a command: {reason}")]
    Check { text: String, reason: String },
    #[error("{count} checks are more than the {limit} that one task may have")]
    ManyChecks { count: usize, limit: usize },
    #[error("output_schema is not a JSON Schema: {reason}")]
    Schema { reason: String },
    #[error("timeout_seconds must be between 1 and {limit}")]
    Timeout { limit: u64 },
    /// The request exceeds the level of the agent's definition or of the asking task.
    #[error("{who} allows `{}`, not `{}`", .allowed.name(), .asked.name())]
    Permission { who: String, allowed: Permission, asked: Permission },
    /// The agent of a task made the request.
    #[error(
        "a delegated agent may not ask for checks: the hub would run commands that the agent itself may not"
    )]
    ChecksFromWithin,
    #[error("a delegated agent may delegate writing below its own working directory only")]
    WorkdirFromWithin,
    /// The agent of a task on a worker made the request.
    #[error(
        "an agent on a worker may delegate tasks with isolation `worktree` only, because those travel: ask for it"
    )]
    IsolationFromWorker,
    #[error("the calling process has ended")]
    CallerExited,
    #[error("this task is {depth} delegations deep, and {limit} is the limit")]
    Depth { depth: u32, limit: u32 },
    #[error("the first task of this tree has {count} tasks below it already, which is the limit")]
    Descendants { count: u64 },
    #[error("no runner can run agent `{agent}`: {reason}")]
    NoRunner { agent: String, reason: String },
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// No task that the viewer may see has this id.
    #[error("unknown task `{id}`")]
    UnknownTask { id: String },
    #[error("task `{id}` has not ended yet")]
    NotEnded { id: String },
    #[error("the folder of task `{id}` is on the machine {machine}, which alone can run it again")]
    OtherMachine { id: String, machine: Machine },
    #[error("no task has an id that begins with `{start}`{}", near_hint(.near))]
    NoTask { start: String, near: Vec<String> },
    #[error("several tasks have ids that begin with `{start}`: {}", .among.join(", "))]
    SeveralTasks { start: String, among: Vec<String> },
    #[error("{waiting} tasks are waiting, which is the limit{}; ask again later", if *.own { " for one caller" } else { "" })]
    QueueFull { waiting: u32, own: bool },
    #[error(
        "agent `{agent}` has the label `{label}`, so a worker runs its tasks, and those work in a worktree: set `isolation: worktree`"
    )]
    LabelWithoutWorktree { agent: String, label: String },
    #[error(
        "agent `{agent}` needs a worker with the label `{label}`, and this hub has no NATS server: set `nats` in [workers]"
    )]
    LabelWithoutWorkers { agent: String, label: String },
    /// An order of a hub names it.
    #[error("the runner `{name}` is not configured on this worker")]
    MissingRunner { name: String },
    #[error("no worker is named `{name}`{}", near_hint(.near))]
    UnknownWorker { name: String, near: Vec<String> },
    #[error("several workers are named `{name}`: {}", .ids.join(", "))]
    SeveralWorkers { name: String, ids: Vec<String> },
    #[error("the worker `{name}` is revoked; it must join again")]
    RevokedWorker { name: String },
    #[error("the hub stops; ask again in a moment")]
    Stopping,
    /// The source is for the log only.
    #[error("the hub's store does not answer, and nothing was stored; try again")]
    Store(#[source] store::Error),
}

impl Error {
    /// Returns whether the store did not answer, and may answer later.
    pub fn is_store_away(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_away())
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::QueueFull { waiting, own } => Self::QueueFull { waiting, own },
            other => Self::Store(other),
        }
    }
}
