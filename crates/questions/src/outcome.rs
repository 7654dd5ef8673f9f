//! The outcome of a question: its kind, who decided it, and through which channel.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use adjutant_base::named_enum;
use adjutant_store::Millis;

/// Maximum number of files of one answer.
pub const MAX_FILES: usize = 5;

/// Maximum bytes of one file.
pub const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;

/// The state of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum State {
    #[default]
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

    /// Returns the decision, with the time until which it can be undone; `None` if the question is pending.
    pub fn decision(&self) -> Option<(Option<Millis>, &Outcome)> {
        match self {
            Self::Pending => None,
            Self::Held { until, outcome } => Some((Some(*until), outcome)),
            Self::Decided(outcome) => Some((None, outcome)),
        }
    }
}

named_enum! {
    /// The kind of an outcome. The names are those in rows and in JSON.
    OutcomeKind {
        Answered = "answered",
        Declined = "declined",
        Dismissed = "dismissed",
        TimedOut = "timed_out",
        Cancelled = "cancelled",
        ClientGone = "client_gone",
    }
}

impl OutcomeKind {
    /// Returns the word for the user; `denied` is that of the outcome.
    pub fn word(self, denied: bool) -> &'static str {
        match self {
            Self::Answered if denied => "denied",
            Self::Answered => "answered",
            Self::Declined => "declined",
            Self::Dismissed => "dismissed",
            Self::TimedOut => "expired",
            Self::Cancelled => "cancelled",
            Self::ClientGone => "client disconnected",
        }
    }
}

named_enum! {
    /// The party that decided. The names are those in rows and in JSON.
    DecidedBy {
        User = "user",
        /// The asker's default, after the question was seen for as long as the asker demanded.
        Default = "default",
        /// No decision: the deadline passed, or the asker gave up.
        Nobody = "nobody",
    }
}

named_enum! {
    /// The channel that the user saw or decided the question on. The names are those in rows and in JSON.
    Channel {
        Browser = "browser",
        Terminal = "terminal",
        Notification = "notification",
        Phone = "phone",
        /// The asking client's own form.
        Client = "client",
        None = "none",
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

/// A file of an answer, without its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFile {
    /// A name without a folder, unique in its answer.
    pub name: String,
    /// By the contents; a file of an unknown type is `application/octet-stream`.
    pub media_type: String,
    /// Bytes.
    pub size: u64,
}

impl AnswerFile {
    /// Returns whether a browser can show it as a picture. An SVG is not one of them, because it can have scripts.
    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// With [`OutcomeKind::Answered`].
    pub answer: Option<Answer>,
    /// Whether the answer chooses an option that denies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Why an answer had no effect, or why the question was withdrawn, as a sentence fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_applied: Option<String>,
    /// A note that the user added.
    pub note: Option<String>,
    /// Files that the user added, by their numbers from 0 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AnswerFile>,
    /// The user wants the question asked differently, as the note says.
    pub ask_differently: bool,
    pub by: DecidedBy,
    /// The id of the user who logged in and decided; `None` for the owner of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub through: Channel,
    pub at: Millis,
    /// The time that channels had shown the question for by then.
    pub seen_ms: Millis,
}
