//! A question as the room's callers see it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::outcome::State;
use crate::store::Millis;

/// The name of a question: unguessable, short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(String);

/// Letters and digits that are not mistaken for each other.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of a ticket behind its `q`: 100 random bits.
const LENGTH: usize = 20;

impl Ticket {
    /// Makes a new one from the system's randomness.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; LENGTH];
        getrandom::fill(&mut bytes)?;
        let name = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
        Ok(Self(std::iter::once('q').chain(name).collect()))
    }

    /// Takes what somebody wrote; `None` when no question can have that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let name = text.strip_prefix('q')?;
        (name.len() == LENGTH && name.bytes().all(|byte| LETTERS.contains(&byte))).then_some(Self(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asks, as the door it came through knows it; nothing of it is an argument of the agent's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    /// What ownership is decided by: the same for the same client after a reconnect; not empty.
    pub(crate) key: String,
    /// What the client calls itself, for people; empty where it did not say.
    pub(crate) client: String,
    /// The connection or session, so that its end is noticed; empty where there is none.
    pub(crate) session: String,
    /// Where the answer goes, when it is not a tool's answer.
    pub(crate) route: Route,
}

impl Asker {
    /// Whether nobody can see this one's end: it has no session, or reads a stream that may open later.
    pub(crate) fn is_unseen(&self) -> bool {
        self.session.is_empty()
    }
}

/// Where an answer goes that is a response of its own: an event stream, and the request's id as JSON. Both empty for
/// a tool's call.
#[derive(Clone, Debug, std::default::Default, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) stream: String,
    pub(crate) request: String,
}

/// How much an answer has to prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    #[default]
    Normal,
    /// An answer needs the desk passphrase.
    High,
}

impl Level {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// What a client wants to know; checked by [`super::Popups::ask`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) title: String,
    /// Markdown; shown without raw HTML and without remote images.
    pub(crate) message: String,
    /// The workspace it is about, as the agent named it; empty where it did not.
    pub(crate) workspace: String,
    /// At least one.
    pub(crate) fields: Vec<Field>,
    pub(crate) level: Level,
    /// How long the question waits for the person; `None` is the desk's usual time.
    pub(crate) timeout: Option<Duration>,
    pub(crate) default: Option<Default>,
}

/// The answer that silence gives, once the question was seen for so long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Default {
    pub(crate) answer: Answer,
    /// Time that the question was visible in some presenter.
    pub(crate) after: Duration,
}

/// One thing to fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Field {
    /// The member of the answer; unique in its question.
    pub(crate) name: String,
    /// What the person reads; empty where title and message say it.
    pub(crate) label: String,
    /// More about it; may be empty.
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) input: Input,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Input {
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
pub(crate) enum Format {
    Email,
    Uri,
}

impl Format {
    /// Returns the name that it has in a schema.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
        }
    }

    /// Says in a sentence fragment what is asked for.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Self::Email => "a mail address like ann@example.org",
            Self::Uri => "an address with its scheme like https://example.org",
        }
    }

    /// Whether a text can be one. What is no slip of the pen passes: whether anybody is there is not for us to say.
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
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) value: String,
}

/// What [`super::Popups::ask`] gives: durable before it returns.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) ticket: Ticket,
    /// Whether it joined a question, or an answer, that was there.
    pub(crate) merged: bool,
    pub(crate) state: State,
}

/// A question on the desk, or one that was.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) ticket: Ticket,
    /// Grows with every question: the key of pages.
    pub(crate) seq: i64,
    /// What the client that asked first calls itself.
    pub(crate) client: String,
    /// As the agent named it; may be empty, or no folder at all.
    pub(crate) workspace: String,
    pub(crate) title: String,
    /// Markdown as the agent wrote it, with whatever control characters it holds.
    pub(crate) message: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) level: Level,
    pub(crate) default: Option<Default>,
    pub(crate) asked_at: Millis,
    pub(crate) deadline: Millis,
    /// When a presenter showed it first, and for how long presenters showed it.
    pub(crate) seen_at: Option<Millis>,
    pub(crate) seen_ms: Millis,
    pub(crate) snoozed_until: Option<Millis>,
    /// How many requests get the outcome.
    pub(crate) deliveries: u32,
    pub(crate) waits: Waits,
    pub(crate) state: State,
}

/// Whether somebody is there for the outcome. It is kept and handed over in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Waits {
    /// At least one of those who asked.
    Here,
    /// Nobody can be seen to have gone, but those who said they would ask again have not.
    Silent,
    /// All of them are gone.
    Away,
}

impl Waits {
    /// Says why nobody is there, as a fragment of a sentence; `None` where somebody is.
    pub(crate) fn why_not(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Silent => Some("its client asks for it no more"),
            Self::Away => Some("its client is away"),
        }
    }
}

/// A page of questions.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) questions: Vec<Question>,
    /// How many there are on all pages.
    pub(crate) total: u64,
    /// The key of the next page; `None` on the last.
    pub(crate) next: Option<i64>,
}

/// The queue as it is seen from one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// The place of this one among those that wait, 1 for the oldest; means nothing once it is decided.
    pub(crate) place: u64,
    /// How many wait.
    pub(crate) total: u64,
    /// The one to turn to next, if there is another that is not put off.
    pub(crate) next: Option<Ticket>,
}

/// Which of the decided questions; the default is all.
#[derive(Clone, Debug, std::default::Default)]
pub(crate) struct Filter {
    /// Stands in the title, message, workspace, client or outcome, in any case (beyond ASCII, as written).
    pub(crate) text: Option<String>,
    pub(crate) kind: Option<super::Kind>,
}

/// Why a form or a link in the client itself brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The person closed it, or the client did not draw it: the question is not shown there again.
    Closed,
    /// It was sent without an answer that fits.
    Unfit,
    /// The client says that its person opens the question's page: it is answered there, or not.
    Followed,
    /// The forms of the client's revision cannot say what is asked.
    NoForm,
}

impl Unanswered {
    /// Returns the event that stands for it in [`Happened::kind`].
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "form_closed",
            Self::Unfit => "unfit",
            Self::Followed => "link_followed",
            Self::NoForm => "no_form",
        }
    }
}

/// Something that happened to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happened {
    pub(crate) at: Millis,
    /// `asked`, `asked_again`, `rung`, `seen`, `snoozed`, `answered`, `taken_back`, `default`, `declined`, `dismissed`,
    /// `timed_out`, `cancelled`, `client_gone`, `final`, `refused` (a wrong passphrase), `form_closed`, `unfit`,
    /// `link_followed` and `no_form` (see [`Unanswered`]), `silent` and `heard` (see [`Waits`]), `delivered`.
    pub(crate) kind: String,
    /// Through which presenter, or to whom; may be empty.
    pub(crate) who: String,
}

/// An outcome on its way to an event stream.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) event: i64,
    /// The id of the request, as JSON.
    pub(crate) request: String,
    pub(crate) question: Question,
}
