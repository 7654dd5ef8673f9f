//! Interface to workers on other machines, over NATS: the hub's side and the worker's side of one protocol.
//!
//! The database of the hub is the truth. `JetStream` keeps nothing but tickets, which a hub publishes again as long as its
//! database has the task as queued; everything else is a request to the hub and its reply.

mod account;
mod connection;
mod credentials;
mod files;
mod hub;
mod invitation_code;
mod join;
mod jwt;
mod protocol;
mod worker;

pub use account::Account;
pub use connection::{Login, connect, server_version, version_warning};
pub use credentials::Credentials;
pub use hub::{Arrivals, Hub};
pub use invitation_code::Code;
pub use join::join;
pub use worker::{AgentConnections, Ended, Worker, WorkerSettings};
