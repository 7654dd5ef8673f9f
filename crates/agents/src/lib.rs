//! Agents: personas that a runner works as when a task is delegated to them.
//!
//! [`Agents`] is the entry point. A delegation is a row before it is acknowledged; [`Agents::run`] claims rows, runs
//! them below a supervisor and records in the run report what the hub saw.

mod agents;
pub mod bundled;
pub mod caller;
pub mod catalogue;
pub mod definition;
mod delegate;
pub mod error;
mod executor;
mod for_workers;
pub mod formats;
pub mod import;
pub mod lane;
pub mod lint;
mod loader;
mod on_worker;
mod output_schema;
mod query;
pub mod registry;
mod request;
pub mod run_report;
pub mod runner;
pub mod sandbox;
pub mod selector;
pub mod shell_words;
mod summary;
pub mod task;
mod tasks;
mod trust_store;
mod waiting_reason;
pub mod workdir;
pub mod worker_order;
pub mod worker_registry;
mod workspace_bundle;
pub mod worktrees;

pub use agents::{Agents, Drain};
pub use caller::{Caller, Origin, TcpConnection, Viewer};
pub use error::Error;
pub use query::Query;
pub use request::Request;
pub use runner::CommandVariant;
pub use selector::Selector;
pub use task::{Page, Task, TaskEvent, TaskId};
pub use workspace_bundle::{BUNDLE_FILE, INCLUDED_FILE, ORDER_FILE};
