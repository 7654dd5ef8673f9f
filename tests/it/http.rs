//! HTTP: admission, what each client is served, and that nothing else is.

mod assistant;
mod authentication;
pub(crate) mod client;
mod delegation;
mod hostile_input;
mod monitoring;
mod openid;
mod openid_hostile;
mod protocol;
mod sampling;
mod subscriptions;
mod tls;
mod user_forms;
mod users;
