//! Values of a question: the draft, the fields, the asker and the stored question.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, FieldValue};
use super::outcome::State;
use adjutant_base::named_enum;
use adjutant_base::text::random_id::{is_random_id, random_id};
use adjutant_base::text::timefmt::span;
use adjutant_store::Millis;

/// The name of a question: unguessable, short enough to be typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ticket(String);

/// Characters of a ticket after its `q`: 100 random bits.
const LENGTH: usize = 20;

impl Ticket {
    /// Makes a random ticket.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(format!("q{}", random_id::<LENGTH>()?)))
    }

    /// Parses a typed ticket; `None` for a text that cannot be a ticket.
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
    /// The client and the workspace of the session. A later session of the same place continues the questions of an
    /// ended one. Empty if only the asker itself can come back.
    pub place: String,
    /// The client's display name; may be empty.
    pub client: String,
    /// The connection or session, so that its end is noticed; may be empty.
    pub session: String,
    /// The route of the answer, unless it is the result of a tool call.
    pub route: Route,
}

impl Asker {
    /// Returns whether the asker's end cannot be observed: it has no session, or reads a stream that may open later.
    pub fn is_unseen(&self) -> bool {
        self.session.is_empty()
    }
}

/// The route of an answer that is a separate response: an event stream, and the request's id as JSON. Both empty for
/// a tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    pub stream: String,
    pub request: String,
}

named_enum! {
    /// The proof that an answer needs.
    #[derive(Default)]
    Level {
        #[default]
        Normal = "normal",
        /// An answer needs the approval passphrase.
        High = "high",
    }
}

/// A question as a client asks it; validated by [`crate::Questions::ask`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub title: String,
    /// Markdown; shown without raw HTML and without remote images.
    pub message: String,
    /// The workspace that the question concerns, as the agent named it; may be empty.
    pub workspace: String,
    /// The folder in which the client runs, if it is unrelated to `workspace`; else empty.
    pub runs_in: String,
    /// At least one.
    pub fields: Vec<Field>,
    pub level: Level,
    /// The time that the question waits for the user; `None` is the default of the settings.
    pub timeout: Option<Duration>,
    pub default: Option<DefaultAnswer>,
    /// Values of the options that deny: an answer with one of them is final at once. Only an approval has them.
    pub denials: Vec<String>,
    /// The user or `@group` that it is for; empty for the settings' choice by the workspace.
    pub addressee: String,
}

/// The value of the option by which an approval allows one act and nothing more.
pub const APPROVE: &str = "approve";

/// The default answer, which counts when the user has seen the question for the time `after` and not answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefaultAnswer {
    pub answer: Answer,
    /// Time that the question was visible in some channel.
    pub after: Duration,
}

/// One field of the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The member of the answer; unique in its question.
    pub name: String,
    /// The text for the user; empty if title and message are enough.
    pub label: String,
    /// A description; may be empty.
    pub description: String,
    pub required: bool,
    /// Whether the value is shown nowhere, and kept for its asker in memory only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    pub input: Input,
}

impl Field {
    /// Returns a required field without a text for the user.
    pub fn new(name: &str, input: Input) -> Self {
        let (label, description) = (String::new(), String::new());
        Self { name: name.to_owned(), label, description, required: true, secret: false, input }
    }
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// The user chooses between `min` and `max` of the options; `max` 1 makes a single choice. `other` lets the user
    /// write a text instead. `list` makes the answer a list, even with one value at most.
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

named_enum! {
    /// The format of a text, one of MCP elicitation's formats, with its name in a schema.
    Format { Email = "email", Uri = "uri" }
}

impl Format {
    /// Returns the expected format as a sentence fragment.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Email => "a mail address like ann@example.org",
            Self::Uri => "an address with its scheme like https://example.org",
        }
    }

    /// Returns whether a text has the format. Rejects typing errors only: the hub cannot know if an address exists.
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

/// The mark of an option that an agent recommends, at the end of its label: the tool `AskUserQuestion` of Claude Code
/// adds it.
const RECOMMENDED: &str = "(recommended)";

/// Returns the label of an option without the mark by which an agent recommends the option; `None` if it has no mark.
pub fn recommended(label: &str) -> Option<&str> {
    let (plain, mark) = label.split_at_checked(label.len().checked_sub(RECOMMENDED.len())?)?;
    mark.eq_ignore_ascii_case(RECOMMENDED).then(|| plain.trim_end())
}

/// The result of [`crate::Questions::ask`], durable before it returns.
#[derive(Clone, Debug)]
pub struct AskResult {
    pub ticket: Ticket,
    /// True if it joined an existing question or answer.
    pub merged: bool,
    pub state: State,
}

/// A question, pending or decided, and its form on the control socket and in the JSON of the command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub ticket: Ticket,
    /// Grows with every question: the key of pages.
    #[serde(skip)]
    pub seq: i64,
    /// The display name of the client that asked first.
    pub client: String,
    /// As the agent named it; may be empty, and need not be a folder.
    pub workspace: String,
    /// Whether the client and its folders are on the machine of this hub.
    #[serde(skip)]
    pub is_here: bool,
    /// The folder in which the client runs, if it is unrelated to `workspace`; else empty.
    #[serde(default)]
    pub runs_in: String,
    pub title: String,
    /// Markdown as the agent wrote it, control characters included.
    pub message: String,
    pub fields: Vec<Field>,
    pub level: Level,
    pub default: Option<DefaultAnswer>,
    /// Values of the options that deny; empty for a question that is not an approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    pub asked_at: Millis,
    pub deadline: Millis,
    /// The time when a channel first showed it, and how long channels showed it.
    #[serde(skip)]
    pub seen_at: Option<Millis>,
    #[serde(default)]
    pub seen_ms: Millis,
    pub snoozed_until: Option<Millis>,
    /// The number of requests that get the outcome.
    pub deliveries: u32,
    pub presence: AskerPresence,
    #[serde(skip)]
    pub state: State,
    /// The user or `@group` that it is for; empty for all.
    #[serde(default, rename = "for", skip_serializing_if = "String::is_empty")]
    pub addressee: String,
    /// Whether a list left something out of its texts.
    pub redacted: bool,
}

impl Question {
    /// Returns the name of the client that asks, or a phrase for an unknown one.
    pub fn asker(&self) -> &str {
        if self.client.is_empty() { "an agent without a name" } else { &self.client }
    }

    /// Returns the answer that approves no more than this approval, or that denies it; `None` for any other question, and
    /// for one that needs the passphrase.
    pub fn approval_answer(&self, approves: bool) -> Option<Answer> {
        let [Field { name, input: Input::Choice { options, max: 1, .. }, .. }] = &self.fields[..] else {
            return None;
        };
        let deny = options.iter().find(|option| self.denials.contains(&option.value))?;
        let approve = options.iter().find(|option| option.value == APPROVE)?;
        let chosen = if approves { approve } else { deny };
        let answer = Answer::one(name, FieldValue::Choices(vec![chosen.value.clone()]));
        (self.level == Level::Normal).then_some(answer)
    }

    /// Returns whether an answer chooses an option that denies.
    pub fn is_denied_by(&self, answer: &Answer) -> bool {
        answer.0.iter().any(|(_, given)| {
            matches!(given, FieldValue::Choices(chosen) if chosen.iter().any(|value| self.denials.contains(value)))
        })
    }

    /// Returns the folder of the question, to be shown after the asker's name, and the folder in which the client runs
    /// if that is unrelated; empty without a folder.
    pub fn place(&self) -> String {
        self.place_of(|path| path)
    }

    /// Returns [`Self::place`] with the last two parts of each path.
    pub fn short_place(&self) -> String {
        self.place_of(|path| {
            let path = path.trim_end_matches('/');
            path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
        })
    }

    fn place_of(&self, shown: fn(&str) -> &str) -> String {
        match (shown(&self.workspace), shown(&self.runs_in)) {
            ("", _) => String::new(),
            (named, "") => format!(" in {named}"),
            (named, own) => format!(" in {named} (runs in {own})"),
        }
    }

    /// Returns a sentence with the default answer and the time after which it counts; `None` without a default.
    pub fn default_sentence(&self) -> Option<String> {
        let default = self.default.as_ref()?;
        let answers: Vec<_> = default.answer.0.iter().map(|(_, given)| given.text()).collect();
        let seen = Duration::from_millis(u64::try_from(self.seen_ms).unwrap_or(0));
        let left = span(default.after.saturating_sub(seen));
        Some(format!("Without an answer, “{}” counts after {left} on a screen.", answers.join(", ")))
    }
}

/// The presence of the askers that wait for the outcome. The outcome is kept and delivered in any case.
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
            Self::Silent => Some("its client no longer asks for it"),
            Self::Disconnected => Some("its client is away"),
        }
    }
}

pub use adjutant_store::questions::PendingKind;

/// A page of questions.
#[derive(Clone, Debug)]
pub struct Page {
    pub questions: Vec<Question>,
    /// The number of questions on all pages.
    pub total: u64,
    /// The key of the next page; `None` on the last.
    pub next: Option<i64>,
}

/// The queue as seen from one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The position among the pending questions, 1 for the oldest; meaningless once the question is decided.
    pub place: u64,
    /// The number of pending questions.
    pub total: u64,
    /// The next question that is not snoozed, if there is any.
    pub next: Option<Ticket>,
}

/// The filter of decided questions; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Found in the title, message, workspace, client or outcome, in any case (beyond ASCII, as written).
    pub text: Option<String>,
    pub kind: Option<super::outcome::OutcomeKind>,
}

named_enum! {
    /// A form or a link in the client itself that ended without an answer, with its name in [`AuditEntry::kind`].
    ElicitationFailure {
        /// The user closed it, or the client did not show it: the question is not shown there again.
        Closed = "form_closed",
        /// It was sent without a valid answer.
        Unfit = "unfit",
        /// The client reports that the user opens the question's page, which can take the answer.
        Followed = "link_followed",
        /// The forms of the client's revision cannot express the question.
        NoForm = "no_form",
    }
}

/// One event in the life of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Millis,
    /// `asked`, `asked_again`, `rung`, `seen`, `snoozed`, `answered`, `undone`, `default`, `declined`, `dismissed`,
    /// `timed_out`, `cancelled`, `client_gone`, `final`, `refused` (a wrong passphrase), `form_closed`, `unfit`,
    /// `not_applied`, `link_followed` and `no_form` (see [`ElicitationFailure`]), `silent` and `returned` (see [`AskerPresence`]),
    /// `delivered`.
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
