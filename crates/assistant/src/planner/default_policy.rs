//! The default policy: a notification an hour before the start, and a call a quarter of an hour before it where the
//! user wants calls. It needs no model and no network.

use super::proposal::{Proposal, ProposedNotification, Unit};
use super::situation::Situation;
use crate::notification::Urgency;
use crate::user::ChannelPreference;

/// Minutes before an all-day event: it is announced at six in the evening before.
const BEFORE_A_DAY: u32 = 6 * 60;
/// Minutes before the start of the second, nearer notification.
const SOON: u32 = 15;

/// Proposes the notifications for an occurrence, by the time that is left until it. It reads no clock.
pub(super) fn propose(situation: &Situation<'_>) -> Proposal {
    let preferences = &situation.user.preferences;
    // Whole minutes, down to the fraction of a second: what is due a moment ago would not be sent at all.
    let left = situation.occurrence.starts_at.duration_since(situation.now).as_secs();
    let left = u32::try_from(left / 60).unwrap_or(0);
    let ahead = preferences.escalation_minutes;
    let step = |before, channel, urgency| ProposedNotification {
        before,
        unit: Unit::Minutes,
        channel,
        urgency,
        subject: String::new(),
        text: String::new(),
        speech: String::new(),
    };
    let (near, far) = match preferences.channels {
        ChannelPreference::Both => (Some(ChannelPreference::Call), ChannelPreference::Email),
        one => (None, one),
    };
    let (plan, reasoning) = if situation.event.details.when.all_day {
        (
            vec![step(BEFORE_A_DAY, far, Urgency::Normal)],
            "an all-day event is announced the evening before".to_owned(),
        )
    } else if left > ahead {
        let mut plan = vec![step(ahead, far, Urgency::Normal)];
        plan.extend(near.filter(|_| ahead > SOON).map(|near| step(SOON, near, Urgency::High)));
        (plan, format!("sent {ahead} minutes before the start"))
    } else {
        // It is close: one message, a quarter of an hour before or at once.
        let before = SOON.min(left);
        (
            vec![step(before, near.unwrap_or(far), Urgency::Urgent)],
            "the start is near, so one notification is sent".to_owned(),
        )
    };
    Proposal { notify: true, reasoning, plan }
}
