//! Questions at the person's door: the inbox of a terminal.

mod look;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use super::{Error, Out, Person, Refusal, written};
use crate::app::App;
use crate::events::Event;
use crate::git::Facts;
use crate::popups::{
    self, Answer, Availability, By, Default, Field, Kind, Level, Outcome, Presenter, Proof, Question, State,
    Ticket, Waits,
};

pub(crate) use look::{Looked, Query};

/// Questions that are followed; of more only the number is told.
const FOLLOWED: usize = 300;

/// Questions that are read from the room at once.
const PAGE: u32 = 100;

/// Folders that are looked at for one who follows.
const FOLDERS: usize = 24;

/// What a person does with questions. A `ticket` is a whole one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Tells what is pending and what becomes of it, as [`Update`]s, until the client hangs up.
    Follow,
    /// Which there are.
    List(Query),
    /// One of them, by the beginning of its ticket.
    Show {
        ticket: String,
    },
    /// It is on the screen at this moment.
    Seen {
        ticket: String,
    },
    Answer {
        ticket: String,
        answer: Answer,
        note: Option<String>,
        passphrase: Option<Secret>,
    },
    TakeBack {
        ticket: String,
    },
    Decline {
        ticket: String,
        note: Option<String>,
    },
    Dismiss {
        ticket: String,
        note: Option<String>,
    },
    /// Asks the agent to ask in another way.
    Redirect {
        ticket: String,
        note: String,
    },
    Snooze {
        ticket: String,
        minutes: u32,
    },
    /// Says whether the person takes questions.
    Availability(Availability),
}

/// A passphrase on its way to the hub; it is never shown.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// What came of an act, where it is more than a refusal to be read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// Decided; it may be taken back until then, in milliseconds since 1970.
    Decided {
        kind: Kind,
        until: Option<i64>,
    },
    Noted,
    /// It comes back then.
    Snoozed {
        until: i64,
    },
    Available(Availability),
    /// Somebody was faster.
    Before {
        kind: Kind,
        by: By,
        through: Presenter,
    },
    /// The answer does not fit a field of the question.
    Unfit {
        field: String,
        reason: String,
    },
    /// The desk passphrase is missing or wrong, or none `is_set`; a sentence says which.
    Passphrase {
        reason: String,
        is_set: bool,
    },
}

/// What one who follows is told.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Update {
    /// A question that is new, or changed.
    Question(Box<Shown>),
    /// It is not pending any more.
    Gone { ticket: String, kind: Kind, by: By, through: Presenter },
    /// What the hub sees of a workspace; the error is a sentence fragment.
    Facts { workspace: String, facts: Result<Facts, String> },
    /// Everything was told; so many are pending in all.
    Current { total: u64, availability: Availability },
}

/// A pending question; instants are milliseconds since 1970.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Shown {
    pub(crate) ticket: String,
    /// What the client that asks calls itself.
    pub(crate) client: String,
    pub(crate) workspace: String,
    pub(crate) title: String,
    /// Markdown.
    pub(crate) message: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) level: Level,
    pub(crate) default: Option<Default>,
    pub(crate) asked_at: i64,
    pub(crate) deadline: i64,
    pub(crate) snoozed_until: Option<i64>,
    /// How many requests get the outcome.
    pub(crate) deliveries: u32,
    pub(crate) waits: Waits,
}

impl Shown {
    /// Returns what the client that asked calls itself, or words for one that says nothing.
    pub(crate) fn asker(&self) -> &str {
        if self.client.is_empty() { "an agent without a name" } else { &self.client }
    }
}

impl From<Question> for Shown {
    fn from(question: Question) -> Self {
        Self {
            ticket: question.ticket.to_string(),
            client: question.client,
            workspace: question.workspace,
            title: question.title,
            message: question.message,
            fields: question.fields,
            level: question.level,
            default: question.default,
            asked_at: question.asked_at,
            deadline: question.deadline,
            snoozed_until: question.snoozed_until,
            deliveries: question.deliveries,
            waits: question.waits,
        }
    }
}

/// The client's calls.
impl Person {
    /// Gives `told` what is pending and what becomes of it; returns when the hub ends.
    pub(crate) fn follow_questions(&mut self, told: impl FnMut(Update)) -> Result<(), Error> {
        self.follow(&super::Act::Popups(Act::Follow), told)
    }

    /// Does any other act.
    pub(crate) fn question(&mut self, act: Act) -> Result<Done, Error> {
        self.ask(&super::Act::Popups(act))
    }
}

/// Does an act with calls of the room.
pub(super) async fn answer(app: &App, act: Act, out: &mut Out) -> Result<Value, Refusal> {
    let popups = &app.popups;
    let through = Presenter::Terminal;
    let done = match act {
        Act::Follow => return follow(app, out).await,
        Act::List(query) => return look::list(app, query).await,
        Act::Show { ticket } => return look::show(app, &ticket).await,
        Act::Seen { ticket } => popups.seen(&known(&ticket)?, through).await.map(|()| Done::Noted),
        Act::Answer { ticket, answer, note, passphrase } => {
            let ticket = known(&ticket)?;
            let proof = passphrase.map_or(Proof::Door, |Secret(text)| Proof::Passphrase(text));
            match popups.answer(&ticket, proof, answer, note, through).await {
                Ok(outcome) => decided(app, &ticket, &outcome).await,
                Err(error) => Err(error),
            }
        }
        Act::TakeBack { ticket } => popups.take_back(&known(&ticket)?, through).await.map(|()| Done::Noted),
        Act::Decline { ticket, note } => {
            let ticket = known(&ticket)?;
            match popups.decline(&ticket, note, through).await {
                Ok(outcome) => decided(app, &ticket, &outcome).await,
                Err(error) => Err(error),
            }
        }
        Act::Dismiss { ticket, note } => {
            let ticket = known(&ticket)?;
            match popups.dismiss(&ticket, note, through).await {
                Ok(outcome) => decided(app, &ticket, &outcome).await,
                Err(error) => Err(error),
            }
        }
        Act::Redirect { ticket, note } => {
            let ticket = known(&ticket)?;
            match popups.redirect(&ticket, note, through).await {
                Ok(outcome) => decided(app, &ticket, &outcome).await,
                Err(error) => Err(error),
            }
        }
        Act::Availability(availability) => {
            popups.set_availability(availability).await.map(|()| Done::Available(availability))
        }
        Act::Snooze { ticket, minutes } => {
            popups.snooze(&known(&ticket)?, minutes, through).await.map(|until| Done::Snoozed { until })
        }
    };
    written(&done.or_else(told_apart)?)
}

fn known(ticket: &str) -> Result<Ticket, Refusal> {
    Ticket::parse(ticket).ok_or_else(|| Refusal::new(format!("unknown question `{ticket}`")))
}

/// Says until when a decision may be taken back.
async fn decided(app: &App, ticket: &Ticket, outcome: &Outcome) -> Result<Done, popups::Error> {
    let until = match app.popups.get(ticket).await?.state {
        State::Held { until, .. } => Some(until),
        State::Pending | State::Decided(_) => None,
    };
    Ok(Done::Decided { kind: outcome.kind, until })
}

/// Tells the errors apart that a presenter goes on from.
fn told_apart(error: popups::Error) -> Result<Done, Refusal> {
    use popups::Error;
    Ok(match error {
        Error::AlreadyDecided { kind, by, through } => Done::Before { kind, by, through },
        Error::Answer { field, reason } => Done::Unfit { field, reason },
        Error::NeedsPassphrase | Error::NoPassphrase | Error::WrongPassphrase | Error::Locked { .. } => {
            Done::Passphrase { reason: error.to_string(), is_set: !matches!(error, Error::NoPassphrase) }
        }
        other => {
            if let Error::Store(source) = &other {
                tracing::error!(error = %source, "the store failed");
            }
            return Err(Refusal::new(other));
        }
    })
}

/// What of a question may change while it is pending.
type Changing = (Option<i64>, i64, u32, Waits);

async fn follow(app: &App, out: &mut Out) -> Result<Value, Refusal> {
    // From before the first look, so that nothing happens in between unnoticed.
    let mut events = app.events.subscribe();
    let mut told: HashMap<String, Changing> = HashMap::new();
    let mut looked: HashSet<String> = HashSet::new();
    loop {
        let (questions, total) = pending(app).await.map_err(failed)?;
        let now: HashSet<&str> = questions.iter().map(|question| question.ticket.as_str()).collect();
        let gone: Vec<String> =
            told.keys().filter(|ticket| !now.contains(ticket.as_str())).cloned().collect();
        for ticket in gone {
            told.remove(&ticket);
            if let Some(update) = ended(app, ticket).await.map_err(failed)? {
                out.part(&update).await?;
            }
        }
        let mut folders = Vec::new();
        for question in questions {
            let changing = (question.snoozed_until, question.deadline, question.deliveries, question.waits);
            if told.insert(question.ticket.to_string(), changing) == Some(changing) {
                continue;
            }
            let workspace = question.workspace.clone();
            let whole = app.popups.get(&question.ticket).await.map_err(failed)?;
            out.part(&Update::Question(Box::new(Shown::from(whole)))).await?;
            if !workspace.is_empty() && looked.len() < FOLDERS && looked.insert(workspace.clone()) {
                folders.push(workspace);
            }
        }
        let availability = app.popups.availability().await.map_err(failed)?;
        out.part(&Update::Current { total, availability }).await?;
        for workspace in folders {
            let facts = app.facts(Path::new(&workspace)).await;
            out.part(&Update::Facts { workspace, facts }).await?;
        }
        let changed = async {
            loop {
                match events.recv().await {
                    Ok(Event::QuestionsChanged) | Err(RecvError::Lagged(_)) => return true,
                    Ok(_) => {}
                    Err(RecvError::Closed) => return false,
                }
            }
        };
        if !app.shutdown.run_until_cancelled(changed).await.unwrap_or(false) {
            return written(&());
        }
    }
}

/// Returns the oldest pending questions, and how many there are.
async fn pending(app: &App) -> Result<(Vec<Question>, u64), popups::Error> {
    let mut questions = Vec::new();
    let mut after = None;
    loop {
        let page = app.popups.pending(after, PAGE).await?;
        questions.extend(page.questions.into_iter().filter(|question| question.state == State::Pending));
        after = page.next;
        if after.is_none() || questions.len() >= FOLLOWED {
            return Ok((questions, page.total));
        }
    }
}

/// Says what became of a question that is not pending any more; `None` when it is again.
async fn ended(app: &App, ticket: String) -> Result<Option<Update>, popups::Error> {
    let Some(known) = Ticket::parse(&ticket) else { return Ok(None) };
    Ok(match app.popups.get(&known).await?.state {
        State::Pending => None,
        State::Held { outcome, .. } | State::Decided(outcome) => {
            Some(Update::Gone { ticket, kind: outcome.kind, by: outcome.by, through: outcome.through })
        }
    })
}

fn failed(error: popups::Error) -> Refusal {
    told_apart(error).map_or_else(|refusal| refusal, |_| Refusal::new("the hub made a mistake"))
}
