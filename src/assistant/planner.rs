//! Decides what is told about one occurrence of an event, and says why.
//!
//! [`plan`] is pure: the same situation gives the same decision. Nothing that is not decided here is ever sent.

use jiff::Timestamp;

use super::event::{Event, Occurrence};
use super::notification::{Channel, Notification, Planned, Reason};
use super::user::{Rule, User};

/// Grows with every change of what [`plan`] decides: a plan of an older one is made anew.
pub(crate) const POLICY: u32 = 1;

/// All that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    pub(crate) user: &'a User,
    pub(crate) event: &'a Event,
    pub(crate) occurrence: &'a Occurrence,
    /// Those that are enabled, highest priority first.
    pub(crate) rules: &'a [Rule],
    /// What was planned or sent for this occurrence so far.
    pub(crate) history: &'a [Notification],
    /// The ways that this hub can send by.
    pub(crate) channels: &'a [Channel],
    pub(crate) now: Timestamp,
}

/// What is told about one occurrence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decision {
    pub(crate) notifications: Vec<Planned>,
    /// Why there are these, and why there are no others.
    pub(crate) reasons: Vec<Reason>,
}
