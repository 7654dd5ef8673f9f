//! Plans and notifications, with their channels and states.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ids::{EventId, NotificationId, PlanId, UserId};

adjutant_base::named_enum! {
    /// A way to reach the user.
    Channel {
        Email = "email",
        Call = "call",
        Popup = "popup",
        Desktop = "desktop",
        Ntfy = "ntfy",
        Webhook = "webhook",
    }
}

impl Channel {
    /// Returns the word for the user; [`Self::name`] is that of files and of the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Email => "mail",
            Self::Popup => "question",
            Self::Call | Self::Desktop | Self::Ntfy | Self::Webhook => self.name(),
        }
    }

    /// Returns the channel with this word or name.
    pub fn from_word(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|channel| channel.word() == text).or_else(|| Self::from_name(text))
    }
}

adjutant_base::named_enum! {
    /// The urgency of a notification.
    Urgency { Low = "low", Normal = "normal", High = "high", Urgent = "urgent" }
}

adjutant_base::named_enum! {
    /// The status of a notification. `sent`, `simulated`, `dead`, `merged`, `cancelled` and `superseded` are final,
    /// unless the user retries or resolves the notification.
    Status {
        Planned = "planned",
        /// A hub holds a lease on it and may be sending it now.
        Sending = "sending",
        Sent = "sent",
        /// All but the sending itself was done: the channel has no credentials.
        Simulated = "simulated",
        /// A try failed for good.
        Failed = "failed",
        /// The outcome of the send is missing, because of a crash or a lost answer; the user resolves it.
        Unknown = "unknown",
        /// Every try failed.
        Dead = "dead",
        /// It was missed, and sent as part of another notification.
        Merged = "merged",
        Cancelled = "cancelled",
        /// A newer plan took its place.
        Superseded = "superseded",
    }
}

/// How far before an event's start a notification is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offset {
    /// So many minutes before the start, as time passes.
    Minutes(u32),
    /// So many days before the start, at the same time by the clock of the user's zone.
    Days(u32),
}

/// The texts of a notification. Templates escape them; they hold no markup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// One line.
    pub subject: String,
    /// The text of a mail or a question.
    pub text: String,
    /// The text of a call; empty where `text` will do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub speech: String,
}

/// A reason for a plan, for users and models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The part that decided: `policy`, `model`, `rule`, `quiet_hours`, `weekend`, `limit`, `spacing`, `channel`, `past` …
    pub by: String,
    pub why: String,
}

impl Reason {
    pub(crate) fn new(by: &str, why: String) -> Self {
        Self { by: by.to_owned(), why }
    }
}

/// A notification of a plan, before it is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub channel: Channel,
    pub offset: Offset,
    pub due_at: Timestamp,
    pub urgency: Urgency,
    pub wording: Wording,
    pub reasons: Vec<Reason>,
}

adjutant_base::named_enum! {
    /// The provider that proposed a plan; the verifier decided.
    PlanSource {
        /// The default policy, because no provider was asked or reached.
        Policy = "policy",
        /// A model on a server.
        Model = "model",
        /// A coding-agent CLI.
        Runner = "runner",
        /// The model of the client that planned.
        Client = "client",
        /// The default policy, because a provider answered and no answer could be used; no provider is asked again.
        Fallback = "fallback",
    }
}

/// A plan for one occurrence.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub id: PlanId,
    pub user: UserId,
    pub event: EventId,
    pub occurrence: String,
    /// A digest of event, preferences, rules and policy: the same key is the same plan.
    pub key: String,
    pub source: PlanSource,
    pub reasons: Vec<Reason>,
    pub made_at: Timestamp,
}

/// A notification in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    pub id: NotificationId,
    pub plan: PlanId,
    pub user: UserId,
    pub event: EventId,
    pub occurrence: String,
    pub channel: Channel,
    pub due_at: Timestamp,
    pub urgency: Urgency,
    pub status: Status,
    /// When it may be tried (again).
    pub try_at: Timestamp,
    pub attempts: u32,
    pub sent_at: Option<Timestamp>,
    pub acknowledged_at: Option<Timestamp>,
    pub error: Option<String>,
    pub offset: Offset,
    pub wording: Wording,
    pub reasons: Vec<Reason>,
}
