//! Questions to the person: the contract's raw form, the tools of every revision, and what no fault may lose.

mod bells;
mod clocks;
mod contract;
mod faults;
mod gone;
mod in_client;
mod links;
pub(crate) mod person;
mod security;
mod tools;
