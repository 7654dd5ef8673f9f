//! Approval rules that decide the permission requests of agents. Without I/O: a caller resolves paths and knows the time.
//!
//! An allowing rule is narrow: it allows the words that it names and nothing else. A denying rule is broad: it also denies
//! lines that only seem to hold its words. What no rule decides is a question to the user.

mod command;
mod request;
mod rule;
mod rules;
mod secrets;

pub use request::{Access, Allowable, Request};
pub use rule::{Rule, Verdict};
pub use rules::{Decision, Rules};

#[cfg(test)]
mod tests;
