//! How a question ended, who decided, and through which presenter.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::store::Millis;

/// Where a question stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Pending,
    /// Decided, and the decision may still be taken back until then; nobody else may decide meanwhile.
    Held {
        until: Millis,
        outcome: Outcome,
    },
    Decided(Outcome),
}

impl State {
    /// Returns the outcome, once it is final.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Pending | Self::Held { .. } => None,
            Self::Decided(outcome) => Some(outcome),
        }
    }
}

/// The six ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Answered,
    Declined,
    Dismissed,
    TimedOut,
    Cancelled,
    ClientGone,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Answered, Self::Declined, Self::Dismissed, Self::TimedOut, Self::Cancelled, Self::ClientGone];

    /// Returns the word that agents and rows read.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Declined => "declined",
            Self::Dismissed => "dismissed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::ClientGone => "client_gone",
        }
    }

    /// Reads that word.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Person,
    /// The default that the asker named, after the question was seen for as long as the asker said.
    Default,
    /// Nobody: time was over, or the asker gave up.
    Nobody,
}

impl By {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Default => "default",
            Self::Nobody => "nobody",
        }
    }
}

/// Through what the person saw or decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Presenter {
    Browser,
    Terminal,
    Notification,
    Phone,
    /// The asking client's own form.
    Client,
    None,
}

impl Presenter {
    pub(crate) fn as_str(self) -> &'static str {
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

/// What shows that a person answers.
#[derive(Clone)]
pub(crate) enum Proof {
    /// The door is a person's own: enough for [`super::Level::Normal`].
    Door,
    /// The desk passphrase, for [`super::Level::High`].
    Passphrase(String),
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Door => "Door",
            Self::Passphrase(_) => "Passphrase(…)",
        })
    }
}

/// The one end of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) kind: Kind,
    /// With [`Kind::Answered`].
    pub(crate) answer: Option<Answer>,
    /// A sentence of the person's beside it.
    pub(crate) note: Option<String>,
    /// The person wants the question asked in another way, as the note says.
    pub(crate) ask_differently: bool,
    pub(crate) by: By,
    pub(crate) through: Presenter,
    pub(crate) at: Millis,
    /// For how long presenters had shown it by then.
    pub(crate) seen_ms: Millis,
}
