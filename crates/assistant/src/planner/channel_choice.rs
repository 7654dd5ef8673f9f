//! The choice of a notification's channel: what the proposal names, what the user wants, and what this hub and the user's
//! addresses allow.

use super::proposal::ProposedNotification;
use super::rule_effects::RuleEffects;
use super::situation::Situation;
use crate::notification::{Channel, Reason};
use crate::user::{ChannelPreference, WeekendPolicy};

/// Returns the channels that a proposed step names.
pub(super) fn channels_of(step: &ProposedNotification) -> Vec<Channel> {
    match step.channel {
        ChannelPreference::Email => vec![Channel::Email],
        ChannelPreference::Call => vec![Channel::Call],
        ChannelPreference::Both => vec![Channel::Email, Channel::Call],
        ChannelPreference::Popup => vec![Channel::Popup],
    }
}

/// Finds a channel that the user wants and that this hub and the user's addresses allow.
pub(super) fn reachable_channel(
    situation: &Situation<'_>,
    effects: &RuleEffects,
    wanted: Channel,
    reasons: &mut Vec<Reason>,
) -> Result<Channel, Reason> {
    let user = situation.user;
    let mut channel = wanted;
    if channel == Channel::Call
        && let Some(why) = &effects.no_call
    {
        channel = Channel::Email;
        reasons.push(why.clone());
    }
    let prefers = user.preferences.channels;
    let unwanted = match channel {
        Channel::Call => matches!(prefers, ChannelPreference::Email | ChannelPreference::Popup),
        Channel::Email => prefers == ChannelPreference::Popup,
        Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook => false,
    };
    if unwanted {
        let instead = if prefers == ChannelPreference::Popup { Channel::Popup } else { Channel::Email };
        let why =
            format!("{} wants notifications by {}, not by {}", user.name, instead.name(), channel.name());
        reasons.push(Reason::new("channel", why));
        channel = instead;
    }
    if reaches(situation, channel) {
        return Ok(channel);
    }
    let others: &[Channel] = match channel {
        // A mail wakes nobody; a call in place of a mail might.
        Channel::Call => &[Channel::Email, Channel::Popup, Channel::Desktop],
        _ => &[Channel::Popup, Channel::Email, Channel::Desktop],
    };
    let why = format!("{} cannot be reached by {} here", user.name, channel.name());
    let Some(other) = others.iter().copied().find(|other| reaches(situation, *other)) else {
        return Err(Reason::new("channel", format!("{why}, nor by another channel")));
    };
    reasons.push(Reason::new("channel", format!("{why}; it goes out by {}", other.name())));
    Ok(other)
}

/// Returns whether a channel is set up here and has an address of the user.
pub(super) fn reaches(situation: &Situation<'_>, channel: Channel) -> bool {
    situation.user.has_address(channel) && situation.channels.contains(&channel)
}

/// Follows what the user wants on a Saturday and a Sunday.
pub(super) fn weekend_channel(
    situation: &Situation<'_>,
    effects: &RuleEffects,
    channel: Channel,
    reasons: &mut Vec<Reason>,
) -> Result<Channel, Reason> {
    let refused = |why: &str| Err(Reason::new("weekend", why.to_owned()));
    match (situation.user.preferences.weekend, channel) {
        (WeekendPolicy::None, _) => refused("no notifications at the weekend"),
        (WeekendPolicy::Email, Channel::Call) if reaches(situation, Channel::Email) => {
            reasons.push(Reason::new("weekend", "no calls at the weekend; it is sent by email".to_owned()));
            Ok(Channel::Email)
        }
        (WeekendPolicy::Email, Channel::Call) => refused("nobody is called at the weekend"),
        (WeekendPolicy::Call, Channel::Email)
            if reaches(situation, Channel::Call) && effects.no_call.is_none() =>
        {
            reasons.push(Reason::new("weekend", "no mail goes out at the weekend; it is a call".to_owned()));
            Ok(Channel::Call)
        }
        (WeekendPolicy::Call, Channel::Email) => refused("no mail goes out at the weekend"),
        (WeekendPolicy::Email | WeekendPolicy::Call | WeekendPolicy::Both, channel) => Ok(channel),
    }
}
