//! Agents: personas that a coding-agent CLI runs for whoever delegates a task.

pub(crate) mod definition;
pub(crate) mod runner;
pub(crate) mod select;
