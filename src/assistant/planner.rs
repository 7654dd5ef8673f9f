//! Decides what is told about one occurrence of an event, and says why.
//!
//! [`plan`] is pure: the same situation gives the same decision. Nothing that is not decided here is ever sent.

use jiff::{SignedDuration, Timestamp};

use super::event::{Event, Occurrence};
use super::notification::{Channel, Notification, Offset, Planned, Reason, Urgency, Wording};
use super::user::{ChannelPreference, Rule, User};

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

/// Decides what is told about an occurrence: by mail an hour before, or by a call a quarter of an hour before where
/// there is less than an hour left.
pub(crate) fn plan(situation: &Situation<'_>) -> Decision {
    let Situation { user, event, occurrence, now, .. } = *situation;
    let left = occurrence.starts_at.duration_since(now).as_secs() / 60;
    let (channel, minutes, urgency) = match user.preferences.channels {
        _ if left > 60 => (Channel::Email, 60, Urgency::Normal),
        ChannelPreference::Call | ChannelPreference::Both => (Channel::Call, 15, Urgency::High),
        ChannelPreference::Email | ChannelPreference::Popup => {
            let why = "it starts within the hour, and no call is wanted".to_owned();
            return Decision {
                reasons: vec![Reason { by: "policy".to_owned(), why }],
                ..Decision::default()
            };
        }
    };
    let due_at =
        occurrence.starts_at.saturating_sub(SignedDuration::from_mins(minutes)).unwrap_or(now).max(now);
    let why = format!("a {} is due {minutes} minutes before the start", channel.name());
    let reasons = vec![Reason { by: "policy".to_owned(), why }];
    let wording = Wording {
        subject: event.title.clone(),
        text: format!(
            "{} starts at {}",
            event.title,
            occurrence.starts_at.to_zoned(user.preferences.zone.rules().clone())
        ),
        speech: String::new(),
    };
    let offset = Offset::Minutes(u32::try_from(minutes).unwrap_or_default());
    Decision {
        notifications: vec![Planned { channel, offset, due_at, urgency, wording, reasons: reasons.clone() }],
        reasons,
    }
}
