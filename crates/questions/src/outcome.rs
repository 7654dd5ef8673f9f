//! The outcome of a question: its kind, who decided it, and through which channel.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use adjutant_store::Millis;

/// The state of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Pending,
    /// Decided, and the decision can be undone until then; no other decision is accepted meanwhile.
    Held {
        until: Millis,
        outcome: Outcome,
    },
    Decided(Outcome),
}

impl State {
    /// Returns the outcome, once it is final.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Pending | Self::Held { .. } => None,
            Self::Decided(outcome) => Some(outcome),
        }
    }
}

/// The six kinds of outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Answered,
    Declined,
    Dismissed,
    TimedOut,
    Cancelled,
    ClientGone,
}

impl OutcomeKind {
    /// Every kind of outcome.
    pub const ALL: [Self; 6] =
        [Self::Answered, Self::Declined, Self::Dismissed, Self::TimedOut, Self::Cancelled, Self::ClientGone];

    /// Returns its name for agents and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Declined => "declined",
            Self::Dismissed => "dismissed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::ClientGone => "client_gone",
        }
    }

    /// Parses that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The party that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    User,
    /// The asker's default, after the question was seen for as long as the asker demanded.
    Default,
    /// No decision: the deadline passed, or the asker gave up.
    Nobody,
}

impl DecidedBy {
    /// Returns the word for it in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Default => "default",
            Self::Nobody => "nobody",
        }
    }
}

/// The channel that the user saw or decided the question on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Browser,
    Terminal,
    Notification,
    Phone,
    /// The asking client's own form.
    Client,
    None,
}

impl Channel {
    /// Returns the word for it in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Terminal => "terminal",
            Self::Notification => "notification",
            Self::Phone => "phone",
            Self::Client => "client",
            Self::None => "none",
        }
    }
}

/// The proof that the user answers.
#[derive(Clone)]
pub enum Proof {
    /// The interface belongs to the user: enough for [`super::Level::Normal`].
    Interface,
    /// The approval passphrase, for [`super::Level::High`].
    Passphrase(String),
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Interface => "Interface",
            Self::Passphrase(_) => "Passphrase(…)",
        })
    }
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// With [`OutcomeKind::Answered`].
    pub answer: Option<Answer>,
    /// A note that the user added.
    pub note: Option<String>,
    /// The user wants the question asked differently, as the note says.
    pub ask_differently: bool,
    pub by: DecidedBy,
    pub through: Channel,
    pub at: Millis,
    /// The time that channels had shown the question for by then.
    pub seen_ms: Millis,
}
