//! Interface to workers on other machines, over NATS: the hub's side and the worker's side of one protocol.
//!
//! The database of the hub is the truth. `JetStream` keeps nothing but tickets, which a hub publishes again as long as its
//! database has the task as queued; everything else is a request to the hub and its reply.

mod connection;
mod files;
mod hub;
mod protocol;
mod worker;

pub use connection::connect;
pub use hub::Hub;
pub use worker::{Worker, WorkerSettings};
