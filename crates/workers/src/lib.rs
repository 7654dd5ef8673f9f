//! Interface to workers on other machines, over NATS.

mod connection;

pub use connection::connect;
