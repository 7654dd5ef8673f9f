//! The planner: decides which notifications an occurrence gets, with reasons.
//!
//! [`plan`] is pure: the same situation gives the same decision. Only notifications of a decision are ever sent.

pub mod answer_repair;
mod channel_choice;
mod default_policy;
mod due_times;
pub mod prompt;
pub mod proposal;
pub mod quiet_hours;
mod rule_effects;
mod situation;
mod verify;
pub(super) mod wording;

#[cfg(test)]
mod tests;

use crate::event::EventStatus;
use crate::notification::{Channel, Notification, Status};
pub(super) use due_times::is_quiet;
pub use situation::{Decision, Situation};
pub(crate) use verify::verify as decide;

/// Grows with every change of what [`plan`] decides: a plan of an older one is made anew.
pub const POLICY: u32 = 2;

/// Returns whether a rule forbids to call about an occurrence, or enough calls were made or are planned for it.
pub(super) fn forbids_calls(situation: &Situation<'_>) -> bool {
    let call = |one: &&Notification| one.channel == Channel::Call;
    let counts = |one: &&Notification| verify::counts(one.status) || one.status == Status::Planned;
    let calls = situation.history.iter().filter(call).filter(counts).count();
    let limit = usize::try_from(situation.user.preferences.max_calls).unwrap_or(usize::MAX);
    calls >= limit || rule_effects::rule_effects(situation).no_call.is_some()
}

/// Decides by the default policy, which needs no model and no network.
pub fn plan(situation: &Situation<'_>) -> Decision {
    verify::verify(situation, &default_policy::propose(situation), "policy")
}

/// Returns whether a provider may be asked: not about an event that is unconfirmed or has begun, or that a rule keeps
/// silent.
pub(crate) fn can_propose(situation: &Situation<'_>) -> bool {
    situation.event.status == EventStatus::Confirmed
        && situation.occurrence.starts_at > situation.now
        && rule_effects::rule_effects(situation).silent.is_none()
}
