//! The HTTP door: who may come in, what is served to whom, and that nothing else is.

mod assistant;
mod authentication;
pub(crate) mod client;
mod delegation;
mod hostile_input;
mod protocol;
mod sampling;
mod subscriptions;
