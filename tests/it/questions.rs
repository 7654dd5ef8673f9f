//! Questions to the user: the contract's raw form, the tools at every protocol version, and what no fault may lose.

mod agent_sessions;
mod asked_users;
mod client_forms;
mod clock_changes;
mod contract;
mod delivery;
mod disconnects;
mod faults;
pub(crate) mod fixtures;
mod http_streams;
mod links;
mod notifications;
mod principal;
mod retention;
mod security;
mod several_hubs;
mod tools;
