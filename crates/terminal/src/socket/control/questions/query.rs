//! Looking at questions without following them: those that wait, those that were decided, and one of either.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Act, Shown, failed, pending};
use crate::app::App;
use crate::popups::{Filter, Outcome, Question, State, Ticket};
use crate::socket::person::{self, Error, Person, Refusal, written};

/// Decided questions among which the beginning of a ticket is looked for.
const RECENT: u32 = 500;

/// Which questions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Query {
    /// Those that were decided, the newest first, instead of those that wait, the oldest first.
    pub(crate) decided: bool,
    /// Stands in their title, client or workspace; of decided ones also in message and outcome. Empty is all.
    pub(crate) text: String,
    pub(crate) limit: u32,
}

/// What was found.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Listed {
    pub(crate) questions: Vec<Looked>,
    /// How many there are in all.
    pub(crate) total: u64,
}

/// A question, and where it stands.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Looked {
    pub(crate) question: Shown,
    /// Until when its decision may be taken back; milliseconds since 1970.
    pub(crate) held_until: Option<i64>,
    /// Once it is decided.
    pub(crate) outcome: Option<Outcome>,
}

impl From<Question> for Looked {
    fn from(mut question: Question) -> Self {
        let (held_until, outcome) = match std::mem::replace(&mut question.state, State::Pending) {
            State::Pending => (None, None),
            State::Held { until, outcome } => (Some(until), Some(outcome)),
            State::Decided(outcome) => (None, Some(outcome)),
        };
        Self { question: Shown::from(question), held_until, outcome }
    }
}

/// The client's calls.
impl Person {
    pub(crate) fn questions(&mut self, query: Query) -> Result<Listed, Error> {
        self.ask(&person::Act::Popups(Act::List(query)))
    }

    /// Returns one question; of its ticket the beginning is enough.
    pub(crate) fn one_question(&mut self, ticket: &str) -> Result<Looked, Error> {
        self.ask(&person::Act::Popups(Act::Show { ticket: ticket.to_owned() }))
    }
}

pub(super) async fn list(app: &App, query: Query) -> Result<Value, Refusal> {
    let Query { decided, text, limit } = query;
    let (questions, total) = if decided {
        let filter = Filter { text: (!text.is_empty()).then_some(text), kind: None };
        let page = app.popups.history(&filter, None, limit).await.map_err(failed)?;
        (page.questions, page.total)
    } else {
        let (mut questions, total) = pending(app).await.map_err(failed)?;
        let wanted = text.to_lowercase();
        let holds = |said: &str| said.to_lowercase().contains(&wanted);
        questions.retain(|one| holds(&one.title) || holds(&one.client) || holds(&one.workspace));
        let total = if wanted.is_empty() { total } else { questions.len() as u64 };
        questions.truncate(limit as usize);
        (questions, total)
    };
    written(&Listed { questions: questions.into_iter().map(Looked::from).collect(), total })
}

pub(super) async fn show(app: &App, begin: &str) -> Result<Value, Refusal> {
    let ticket = match Ticket::parse(begin) {
        Some(ticket) => ticket,
        None => named(app, begin).await?,
    };
    let question = app.popups.get(&ticket).await.map_err(failed)?;
    written(&Looked::from(question))
}

/// Returns the ticket that begins so, among those that wait and those that were decided lately.
async fn named(app: &App, begin: &str) -> Result<Ticket, Refusal> {
    let (mut questions, _) = pending(app).await.map_err(failed)?;
    questions.extend(app.popups.history(&Filter::default(), None, RECENT).await.map_err(failed)?.questions);
    let wanted = begin.trim().to_ascii_lowercase();
    let mut found: Vec<Ticket> = questions.into_iter().map(|question| question.ticket).collect();
    found.retain(|ticket| !wanted.is_empty() && ticket.as_str().starts_with(&wanted));
    found.dedup();
    match found.as_slice() {
        [ticket] => Ok(ticket.clone()),
        [] => Err(refusal(format!("unknown question `{begin}`"))),
        several => Err(refusal(format!("{} questions begin with `{begin}`", several.len()))),
    }
}

fn refusal(message: String) -> Refusal {
    let hint = "`adjutant questions list` names those that wait, with --decided those that were decided";
    Refusal { message, hints: vec![hint.to_owned()] }
}
