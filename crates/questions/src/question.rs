//! Values of a question: the draft, the fields, the asker and the stored question.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::outcome::State;
use adjutant_base::text::random_id::{is_random_id, random_id};
use adjutant_store::Millis;

/// The name of a question: unguessable, short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(String);

/// Characters of a ticket after its `q`: 100 random bits.
const LENGTH: usize = 20;

impl Ticket {
    /// Makes a new one from the system's randomness.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(format!("q{}", random_id::<LENGTH>()?)))
    }

    /// Takes what somebody wrote; `None` when no question can have that name.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        is_random_id(text.strip_prefix('q')?, LENGTH).then_some(Self(text))
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The asker as the interface knows it; none of this comes from the agent's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The owner of questions, one agent session; not empty.
    pub key: String,
    /// The client and the workspace that the session is in. A later session of the same place continues with the
    /// questions of one that ended. Empty where only the asker itself comes back.
    pub place: String,
    /// What the client calls itself, for people; empty where it did not say.
    pub client: String,
    /// The connection or session, so that its end is noticed; empty where there is none.
    pub session: String,
    /// Where the answer goes, when it is not a tool's answer.
    pub route: Route,
}

impl Asker {
    /// Whether nobody can see this one's end: it has no session, or reads a stream that may open later.
    pub fn is_unseen(&self) -> bool {
        self.session.is_empty()
    }
}

/// Where an answer goes that is a response of its own: an event stream, and the request's id as JSON. Both empty for
/// a tool's call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    pub stream: String,
    pub request: String,
}

/// The proof that an answer needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    #[default]
    Normal,
    /// An answer needs the approval passphrase.
    High,
}

impl Level {
    /// Returns it as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// What a client wants to know; checked by [`crate::Questions::ask`].
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub title: String,
    /// Markdown; shown without raw HTML and without remote images.
    pub message: String,
    /// The workspace it is about, as the agent named it; empty where it did not.
    pub workspace: String,
    /// At least one.
    pub fields: Vec<Field>,
    pub level: Level,
    /// How long the question waits for the user; `None` is the default of the settings.
    pub timeout: Option<Duration>,
    pub default: Option<DefaultAnswer>,
    /// Values of the options that deny: an answer with one of them is final at once.
    pub denials: Vec<String>,
}

/// The answer that silence gives, once the question was seen for so long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefaultAnswer {
    pub answer: Answer,
    /// Time that the question was visible in some channel.
    pub after: Duration,
}

/// One thing to fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The member of the answer; unique in its question.
    pub name: String,
    /// The text for the user; empty if title and message are enough.
    pub label: String,
    /// More about it; may be empty.
    pub description: String,
    pub required: bool,
    pub input: Input,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Between `min` and `max` of the options; with `max` 1 one excludes the others. `other` lets the person write
    /// instead. `list` is an answer that its asker reads as a list, though it may hold one value at most.
    Choice {
        options: Vec<Choice>,
        min: usize,
        max: usize,
        other: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        list: bool,
    },
    Text {
        multiline: bool,
        min: usize,
        max: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
    },
    Number {
        whole: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// A date as `2026-11-21`; with `time` an instant in RFC 3339.
    Date {
        time: bool,
    },
    YesNo,
}

/// What a text has to be, of the formats that MCP's elicitation has for texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Email,
    Uri,
}

impl Format {
    /// Returns the name that it has in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
        }
    }

    /// Says in a sentence fragment what is asked for.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Email => "a mail address like ann@example.org",
            Self::Uri => "an address with its scheme like https://example.org",
        }
    }

    /// Whether a text has the form. Only slips of the pen are rejected, because the hub cannot know which addresses exist.
    pub(super) fn takes(self, text: &str) -> bool {
        let (front, back) = match self {
            Self::Email => text.rsplit_once('@').unwrap_or_default(),
            Self::Uri => text.split_once(':').unwrap_or_default(),
        };
        let one_word = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
        let fits = match self {
            Self::Email => !front.contains('@') && !back.starts_with('.') && !back.ends_with('.'),
            Self::Uri => {
                front.starts_with(|first: char| first.is_ascii_alphabetic()) && front.chars().all(scheme)
            }
        };
        one_word && fits && !front.is_empty() && !back.is_empty()
    }
}

/// One option of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    pub value: String,
}

/// What [`crate::Questions::ask`] gives: durable before it returns.
#[derive(Clone, Debug)]
pub struct AskResult {
    pub ticket: Ticket,
    /// Whether it joined a question, or an answer, that was there.
    pub merged: bool,
    pub state: State,
}

/// A question, pending or decided.
#[derive(Clone, Debug)]
pub struct Question {
    pub ticket: Ticket,
    /// Grows with every question: the key of pages.
    pub seq: i64,
    /// What the client that asked first calls itself.
    pub client: String,
    /// As the agent named it; may be empty, or no folder at all.
    pub workspace: String,
    pub title: String,
    /// Markdown as the agent wrote it, control characters included.
    pub message: String,
    pub fields: Vec<Field>,
    pub level: Level,
    pub default: Option<DefaultAnswer>,
    /// Values of the options that deny.
    pub denials: Vec<String>,
    pub asked_at: Millis,
    pub deadline: Millis,
    /// When a channel showed it first, and for how long channels showed it.
    pub seen_at: Option<Millis>,
    pub seen_ms: Millis,
    pub snoozed_until: Option<Millis>,
    /// How many requests get the outcome.
    pub deliveries: u32,
    pub presence: AskerPresence,
    pub state: State,
}

/// Whether an asker is connected for the outcome. The outcome is kept and delivered in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskerPresence {
    /// At least one asker is connected.
    #[serde(rename = "here")]
    Connected,
    /// No asker is known to have disconnected, but the askers that poll have stopped.
    Silent,
    /// All askers have disconnected.
    #[serde(rename = "away")]
    Disconnected,
}

impl AskerPresence {
    /// Returns why no asker is connected, as a sentence fragment; `None` if one is.
    pub fn absence_reason(self) -> Option<&'static str> {
        match self {
            Self::Connected => None,
            Self::Silent => Some("its client asks for it no more"),
            Self::Disconnected => Some("its client is away"),
        }
    }
}

/// A page of questions.
#[derive(Clone, Debug)]
pub struct Page {
    pub questions: Vec<Question>,
    /// How many there are on all pages.
    pub total: u64,
    /// The key of the next page; `None` on the last.
    pub next: Option<i64>,
}

/// The queue as it is seen from one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The place of this one among those that wait, 1 for the oldest; means nothing once it is decided.
    pub place: u64,
    /// How many wait.
    pub total: u64,
    /// The one to turn to next, if there is another that is not put off.
    pub next: Option<Ticket>,
}

/// Which of the decided questions; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Stands in the title, message, workspace, client or outcome, in any case (beyond ASCII, as written).
    pub text: Option<String>,
    pub kind: Option<super::outcome::OutcomeKind>,
}

/// A form or a link in the client itself that brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitationFailure {
    /// The user closed it, or the client did not draw it: the question is not shown there again.
    Closed,
    /// It was sent without an answer that fits.
    Unfit,
    /// The client says that the user opens the page of the question, which may be answered there.
    Followed,
    /// The forms of the client's revision cannot say what is asked.
    NoForm,
}

impl ElicitationFailure {
    /// Returns its event in [`AuditEntry::kind`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "form_closed",
            Self::Unfit => "unfit",
            Self::Followed => "link_followed",
            Self::NoForm => "no_form",
        }
    }
}

/// One event in the life of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Millis,
    /// `asked`, `asked_again`, `rung`, `seen`, `snoozed`, `answered`, `taken_back`, `default`, `declined`, `dismissed`,
    /// `timed_out`, `cancelled`, `client_gone`, `final`, `refused` (a wrong passphrase), `form_closed`, `unfit`,
    /// `link_followed` and `no_form` (see [`ElicitationFailure`]), `silent` and `heard` (see [`AskerPresence`]), `delivered`.
    pub kind: String,
    /// The channel or the recipient; may be empty.
    pub who: String,
}

/// An outcome on its way to an event stream.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub event: i64,
    /// The id of the request, as JSON.
    pub request: String,
    pub question: Question,
}
