//! Executor of delegated tasks: the queue, the runs of a task, and their checks and workspaces.

mod attempt;
mod checks;
pub(crate) mod context;
mod event_writer;
pub(crate) mod queue;
mod reattach;
mod recording;
pub(crate) mod rows;
mod sandboxed;
mod task_run;
mod workspace;
