//! Verification of proposals: turns a proposal into the notifications that are allowed, each with its reasons. Pure.
//! Its tests state what holds for every proposal: nothing in quiet hours, at most three notifications for an
//! occurrence, nothing in the past or after the start.

use jiff::{SignedDuration, Timestamp};

use super::channel_choice::{channels_of, reachable_channel, weekend_channel};
use super::due_times::{after_quiet, before_quiet, distance, due, is_quiet, is_weekend, spoken};
use super::proposal::{Proposal, ProposedNotification};
use super::rule_effects::{RuleEffects, rule_effects};
use super::situation::{Decision, Situation};
use super::wording::wording;
use crate::event::EventStatus;
use crate::notification::{Channel, Offset, Planned, Reason, Status, Urgency};

/// Maximum notifications for one occurrence, with those that were sent already.
pub(super) const MAX_NOTIFICATIONS: usize = 3;
/// Minimum time between two of them, unless they are sent together by different channels.
pub(super) const MIN_SPACING: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of proposed steps that are checked; the schema allows three.
const MAX_STEPS: usize = 32;

/// Decides what becomes of a proposal that `by` made.
pub(crate) fn verify(situation: &Situation<'_>, proposal: &Proposal, by: &str) -> Decision {
    let reasoning: String = proposal.reasoning.chars().filter(|c| !c.is_control()).take(400).collect();
    let mut reasons =
        vec![Reason::new(by, if reasoning.is_empty() { "gives no reason".to_owned() } else { reasoning })];
    let effects = rule_effects(situation);
    if let Some(why) = reason_for_none(situation, proposal, &effects) {
        reasons.push(why);
        return Decision { notifications: Vec::new(), reasons };
    }
    if proposal.plan.len() > MAX_STEPS {
        let why =
            format!("{} steps were proposed; the first {MAX_STEPS} were looked at", proposal.plan.len());
        reasons.push(Reason::new("limit", why));
    }
    let mut found = Vec::new();
    for step in proposal.plan.iter().take(MAX_STEPS) {
        for channel in channels_of(step) {
            match planned_notification(situation, &effects, step, channel, by) {
                Ok(planned) => found.push(planned),
                Err(why) => reasons.push(why),
            }
        }
    }
    let notifications = choose(situation, found, &mut reasons);
    Decision { notifications, reasons }
}

/// Returns why nothing at all is sent.
fn reason_for_none(situation: &Situation<'_>, proposal: &Proposal, effects: &RuleEffects) -> Option<Reason> {
    let why = match situation.event.status {
        EventStatus::Cancelled => Some("the event is cancelled"),
        EventStatus::Tentative => Some("the event is not confirmed"),
        EventStatus::Confirmed if situation.occurrence.starts_at <= situation.now => Some("it has begun"),
        EventStatus::Confirmed => None,
    };
    match why {
        Some(why) => Some(Reason::new("event", why.to_owned())),
        None if effects.silent.is_some() => effects.silent.clone(),
        None if !proposal.notify || proposal.plan.is_empty() => {
            Some(Reason::new("proposal", "it proposes no notification".to_owned()))
        }
        None => None,
    }
}

/// Finds the instant and the channel of one step, or says why there is none.
fn planned_notification(
    situation: &Situation<'_>,
    effects: &RuleEffects,
    step: &ProposedNotification,
    wanted: Channel,
    by: &str,
) -> Result<Planned, Reason> {
    let zone = &situation.user.preferences.zone;
    let start = situation.occurrence.starts_at;
    let offset = step.offset();
    let mut reasons =
        vec![Reason::new(by, format!("{} before the start by {}", distance(offset), wanted.name()))];
    let mut at = due(start, offset, zone)
        .ok_or_else(|| Reason::new("past", "it would be before all time".to_owned()))?;
    if let Some((minutes, why)) = &effects.earlier {
        at = due(at, Offset::Minutes(*minutes), zone).unwrap_or(at);
        reasons.push(why.clone());
    }
    let mut channel = reachable_channel(situation, effects, wanted, &mut reasons)?;
    at = outside_quiet_hours(situation, at, &mut reasons)?;
    if is_weekend(at, zone) {
        channel = weekend_channel(situation, effects, channel, &mut reasons)?;
    }
    if at < situation.now {
        return Err(Reason::new("past", format!("{} has passed", spoken(at, zone))));
    }
    if at > start || (at == start && offset != Offset::Minutes(0)) {
        return Err(Reason::new("past", "it would come when the event has begun".to_owned()));
    }
    let mut urgency = step.urgency;
    if let Some(why) = effects.urgent.as_ref().filter(|_| urgency != Urgency::Urgent) {
        urgency = Urgency::Urgent;
        reasons.push(why.clone());
    }
    let real = Offset::Minutes(u32::try_from((start.as_second() - at.as_second()) / 60).unwrap_or(0));
    let moved = due(start, offset, zone) != Some(at);
    let (wording, unfit) = wording(situation, step, if moved { real } else { offset });
    if let Some(unfit) = unfit {
        reasons.push(Reason::new("wording", format!("the standard text is used, because {}", unfit.why())));
    }
    Ok(Planned { channel, offset, due_at: at, urgency, wording, reasons })
}

/// Finds an instant that is not quiet: after the quiet hours where that is before the event, else before them.
fn outside_quiet_hours(
    situation: &Situation<'_>,
    at: Timestamp,
    reasons: &mut Vec<Reason>,
) -> Result<Timestamp, Reason> {
    let preferences = &situation.user.preferences;
    let Some(quiet) = preferences.quiet else { return Ok(at) };
    let zone = &preferences.zone;
    if !is_quiet(quiet, at, zone) {
        return Ok(at);
    }
    let (from, to) = (quiet.start.strftime("%H:%M"), quiet.end.strftime("%H:%M"));
    let hours = format!("{} is in the quiet hours from {from} to {to}", spoken(at, zone));
    let later = after_quiet(quiet, at, zone).filter(|later| *later < situation.occurrence.starts_at);
    let earlier = || before_quiet(quiet, at, zone).filter(|earlier| *earlier >= situation.now);
    let Some(moved) = later.or_else(earlier) else {
        return Err(Reason::new(
            "quiet_hours",
            format!("{hours}, and no other time is left before the event"),
        ));
    };
    reasons.push(Reason::new("quiet_hours", format!("{hours}; moved to {}", spoken(moved, zone))));
    Ok(moved)
}

/// Chooses among the possible notifications: the urgent and the near first, at most three with those that were sent,
/// apart from each other.
fn choose(situation: &Situation<'_>, mut found: Vec<Planned>, reasons: &mut Vec<Reason>) -> Vec<Planned> {
    let sent: Vec<_> = situation.history.iter().filter(|one| counts(one.status)).collect();
    let calls = sent.iter().filter(|one| one.channel == Channel::Call).count();
    let mut calls_left = usize::try_from(situation.user.preferences.max_calls)
        .unwrap_or(MAX_NOTIFICATIONS)
        .saturating_sub(calls);
    let mut left = MAX_NOTIFICATIONS.saturating_sub(sent.len());
    // One step may use two channels at once. Of steps that were moved to the same time the earliest one will do: what
    // the later ones were to say comes too soon.
    let first: Vec<(Timestamp, u32)> = found.iter().map(|one| (one.due_at, minutes(one.offset))).collect();
    found.retain(|one| {
        let before = |(at, distance): &(Timestamp, u32)| *at == one.due_at && *distance > minutes(one.offset);
        let stays = !first.iter().any(before);
        if !stays {
            let when = spoken(one.due_at, &situation.user.preferences.zone);
            reasons.push(Reason::new("spacing", format!("an earlier notification is sent at {when} too")));
        }
        stays
    });
    found.sort_by_key(|one| std::cmp::Reverse((one.urgency, one.due_at)));
    let mut chosen: Vec<Planned> = Vec::new();
    for one in found {
        let when = spoken(one.due_at, &situation.user.preferences.zone);
        let near = |at: Timestamp, channel: Channel| {
            at.duration_since(one.due_at).abs() < MIN_SPACING && (at != one.due_at || channel == one.channel)
        };
        let why = if sent.iter().any(|old| near(old.sent_at.unwrap_or(old.due_at), old.channel)) {
            ("spacing", format!("another notification was sent around {when}"))
        } else if chosen.iter().any(|other| near(other.due_at, other.channel)) {
            ("spacing", format!("another notification is planned around {when}"))
        } else if left == 0 {
            ("limit", format!("{when} would be more than {MAX_NOTIFICATIONS} for one event"))
        } else if one.channel == Channel::Call && calls_left == 0 {
            ("limit", format!("{when} would be a call too many"))
        } else {
            left -= 1;
            calls_left -= usize::from(one.channel == Channel::Call);
            chosen.push(one);
            continue;
        };
        reasons.push(Reason::new(why.0, why.1));
    }
    chosen.sort_by_key(|one| (one.due_at, one.channel));
    chosen
}

/// How far before the start, with days as if none were shorter or longer.
fn minutes(offset: Offset) -> u32 {
    match offset {
        Offset::Minutes(minutes) => minutes,
        Offset::Days(days) => days.saturating_mul(24 * 60),
    }
}

/// Returns whether a notification reached the user, or may have.
pub(super) fn counts(status: Status) -> bool {
    match status {
        Status::Sending | Status::Sent | Status::Simulated | Status::Unknown | Status::Merged => true,
        Status::Planned | Status::Failed | Status::Dead | Status::Cancelled | Status::Superseded => false,
    }
}
