//! Questions to the user: the contract's raw form, the tools at every protocol version, and what no fault may lose.

mod client_forms;
mod clocks;
mod contract;
mod delivery;
mod disconnects;
mod faults;
mod http_streams;
mod identity;
mod links;
mod notifications;
mod principal;
mod security;
mod tools;
pub(crate) mod user_acts;
