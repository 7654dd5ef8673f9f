//! Input and result of one planning decision.

use jiff::Timestamp;

use crate::event::{Event, Occurrence};
use crate::notification::{Channel, Notification, Planned, Reason};
use crate::user::{Rule, User};

/// All that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub user: &'a User,
    pub event: &'a Event,
    pub occurrence: &'a Occurrence,
    /// Those that are enabled, highest priority first.
    pub rules: &'a [Rule],
    /// The notifications of this occurrence so far.
    pub history: &'a [Notification],
    /// The channels that this hub can send by.
    pub channels: &'a [Channel],
    pub now: Timestamp,
}

/// The decision about one occurrence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    pub notifications: Vec<Planned>,
    /// Why these were chosen and others were not.
    pub reasons: Vec<Reason>,
}
