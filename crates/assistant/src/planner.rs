//! Decides what is told about one occurrence of an event, and says why.
//!
//! [`plan`] is pure: the same situation gives the same decision. Nothing that is not decided here is ever sent.

pub(crate) mod open;
mod policy;
pub(crate) mod prompt;
pub(crate) mod proposal;
mod rules;
mod times;
mod verify;
pub(super) mod wording;

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use proposal::Proposal;

use super::event::{Event, EventStatus, Occurrence};
use super::notification::{Channel, Notification, Planned, Reason, Status};
use super::user::{QuietHours, Rule, User};
use super::zone::Zone;

/// Grows with every change of what [`plan`] decides: a plan of an older one is made anew.
pub(crate) const POLICY: u32 = 2;

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

/// Tells whether it is quiet at an instant, by the clocks of a zone.
pub(super) fn quiet_at(quiet: QuietHours, at: Timestamp, zone: &Zone) -> bool {
    times::is_quiet(quiet, at, zone)
}

/// Tells whether a rule forbids to call about an occurrence, or enough calls were made or are planned for it.
pub(super) fn bars_calls(situation: &Situation<'_>) -> bool {
    let call = |one: &&Notification| one.channel == Channel::Call;
    let counts = |one: &&Notification| verify::counts(one.status) || one.status == Status::Planned;
    let calls = situation.history.iter().filter(call).filter(counts).count();
    let most = usize::try_from(situation.user.preferences.most_calls).unwrap_or(usize::MAX);
    calls >= most || rules::settle(situation).no_call.is_some()
}

/// Decides by the policy that needs nobody: no model, no network.
pub(crate) fn plan(situation: &Situation<'_>) -> Decision {
    verify::verify(situation, &policy::propose(situation), "policy")
}

/// Tells whether there is anything to propose: nobody is asked about what has begun, or what a rule keeps silent.
pub(crate) fn is_open(situation: &Situation<'_>) -> bool {
    situation.event.status == EventStatus::Confirmed
        && situation.occurrence.starts_at > situation.now
        && rules::settle(situation).silent.is_none()
}

/// Decides what becomes of somebody's proposal. `by` names them in the reasons: `model`, `runner`, `client`. Whatever
/// they propose, the decision keeps every rule that [`plan`] keeps.
pub(crate) fn decide(situation: &Situation<'_>, proposal: &Proposal, by: &str) -> Decision {
    verify::verify(situation, proposal, by)
}
