//! The HTTP door: who may come in, what is served to whom, and that nothing else is.

mod assistant;
mod battery;
pub(crate) mod client;
mod delegation;
mod door;
mod protocol;
mod sampling;
mod subscriptions;
