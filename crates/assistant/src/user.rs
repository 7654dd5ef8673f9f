//! Users with their preferences and rules.

use jiff::Timestamp;
use jiff::civil::Time;
use serde::{Deserialize, Serialize};

use super::ids::{RuleId, UserId};
use super::notification::Channel;
use super::time_zone::Zone;

/// A user with a calendar, who gets notifications.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    pub id: UserId,
    pub name: String,
    pub email: Option<String>,
    /// In the form of E.164, such as +15550100.
    pub phone: Option<String>,
    pub preferences: Preferences,
    /// Grows with every change of preferences or rules: a plan is made for one revision.
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl User {
    /// Returns whether the user has the address that a channel needs.
    pub(super) fn has_address(&self, channel: Channel) -> bool {
        match channel {
            Channel::Email => self.email.is_some(),
            Channel::Call => self.phone.is_some(),
            Channel::Ntfy => self.preferences.ntfy_topic.is_some(),
            Channel::Webhook => self.preferences.webhook_url.is_some(),
            Channel::Popup | Channel::Desktop => true,
        }
    }
}

/// Preferences of a user. Kept as JSON in the user's row; a missing member has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    pub zone: Zone,
    /// A BCP 47 tag.
    pub locale: String,
    /// The voice of a call, as the provider names it.
    pub voice: String,
    pub channels: ChannelPreference,
    /// `None` where nothing is quiet.
    pub quiet: Option<QuietHours>,
    pub weekend: WeekendPolicy,
    /// Calls for one occurrence at most, 1 to 10.
    pub max_calls: u32,
    /// So close to its start an event is urgent, in minutes, 1 to 1440.
    pub escalation_minutes: u32,
    /// The channels to which an urgent notification escalates that nobody acknowledged, in this order.
    pub ladder: Vec<Channel>,
    /// How long a step of the ladder waits for the acknowledgement, in minutes.
    pub ladder_minutes: u32,
    /// The topic of ntfy, where there is one.
    pub ntfy_topic: Option<String>,
    /// The URL that gets notifications by POST, where there is one.
    pub webhook_url: Option<String>,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            zone: Zone::utc(),
            locale: "en".to_owned(),
            voice: "en".to_owned(),
            channels: ChannelPreference::Email,
            quiet: Some(QuietHours { start: Time::constant(21, 0, 0, 0), end: Time::constant(7, 0, 0, 0) }),
            weekend: WeekendPolicy::Email,
            max_calls: 3,
            escalation_minutes: 60,
            ladder: vec![Channel::Popup, Channel::Email, Channel::Call],
            ladder_minutes: 5,
            ntfy_topic: None,
            webhook_url: None,
        }
    }
}

/// Half open, `[start, end)`, in the user's zone; over midnight where the end is before the start, never where both
/// are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    pub start: Time,
    pub end: Time,
}

adjutant_base::named_enum! {
    /// The channels that a user prefers.
    ChannelPreference { Email = "email", Call = "call", Both = "both", Popup = "popup" }
}

adjutant_base::named_enum! {
    /// The channels that are allowed on a Saturday or a Sunday of the user's zone.
    WeekendPolicy { Email = "email", Call = "call", Both = "both", None = "none" }
}

/// A user's rule, which the planner follows before its own policy; higher priority first.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub id: RuleId,
    pub user: UserId,
    pub kind: RuleKind,
    /// The terms of the kind, as a JSON object; see [`RuleKind`].
    pub terms: serde_json::Map<String, serde_json::Value>,
    pub enabled: bool,
    /// 0 to 100.
    pub priority: u32,
}

adjutant_base::named_enum! {
    /// The kind of a rule. `vip_organizer` {"organizer": "text in it"}: every notification is urgent.
    /// `internal_meeting` {"domain": "example.org"}: everybody is of that domain, no call. `travel_buffer`
    /// {"minutes": 30}: an event with a location is announced so much earlier. `quiet_title` {"title": "text in it"}:
    /// nothing is sent.
    RuleKind {
        VipOrganizer = "vip_organizer",
        InternalMeeting = "internal_meeting",
        TravelBuffer = "travel_buffer",
        QuietTitle = "quiet_title",
    }
}

impl RuleKind {
    /// Returns the name of its only term: a number for `minutes`, a text for the others.
    pub(super) fn term(self) -> &'static str {
        match self {
            Self::VipOrganizer => "organizer",
            Self::InternalMeeting => "domain",
            Self::TravelBuffer => "minutes",
            Self::QuietTitle => "title",
        }
    }
}
