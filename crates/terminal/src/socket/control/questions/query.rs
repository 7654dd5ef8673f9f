//! Queries of questions: the pending ones, the decided ones, and a single one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{QuestionView, Request, failed, pending};
use crate::socket::control;
use crate::socket::control::client::ControlClient;
use crate::socket::control::protocol::{Error, Refusal, to_json};
use adjutant_app::App;
use adjutant_questions::{Filter, Outcome, Question, State, Ticket};

/// Decided questions that a prefix of a ticket is compared with.
const MAX_RECENT: u32 = 500;

/// Which questions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Query {
    /// Those that were decided, the newest first, instead of those that wait, the oldest first.
    pub decided: bool,
    /// Stands in their title, client or workspace; of decided ones also in message and outcome. Empty is all.
    pub text: String,
    pub limit: u32,
}

/// What was found.
#[derive(Debug, Deserialize, Serialize)]
pub struct Listed {
    pub questions: Vec<QuestionDetails>,
    /// How many there are in all.
    pub total: u64,
}

/// A question with its state.
#[derive(Debug, Deserialize, Serialize)]
pub struct QuestionDetails {
    pub question: QuestionView,
    /// Until when its decision may be taken back; milliseconds since 1970.
    pub held_until: Option<i64>,
    /// Once it is decided.
    pub outcome: Option<Outcome>,
}

impl From<Question> for QuestionDetails {
    fn from(mut question: Question) -> Self {
        let (held_until, outcome) = match std::mem::replace(&mut question.state, State::Pending) {
            State::Pending => (None, None),
            State::Held { until, outcome } => (Some(until), Some(outcome)),
            State::Decided(outcome) => (None, Some(outcome)),
        };
        Self { question: QuestionView::from(question), held_until, outcome }
    }
}

/// The client's calls.
impl ControlClient {
    /// Returns the questions that match a query.
    pub fn questions(&mut self, query: Query) -> Result<Listed, Error> {
        self.ask(&control::Request::Questions(Request::List(query)))
    }

    /// Returns one question; of its ticket the beginning is enough.
    pub fn one_question(&mut self, ticket: &str) -> Result<QuestionDetails, Error> {
        self.ask(&control::Request::Questions(Request::Show { ticket: ticket.to_owned() }))
    }
}

pub(super) async fn list(app: &App, query: Query) -> Result<Value, Refusal> {
    let Query { decided, text, limit } = query;
    let (questions, total) = if decided {
        let filter = Filter { text: (!text.is_empty()).then_some(text), kind: None };
        let page = app.questions.history(&filter, None, limit).await.map_err(failed)?;
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
    to_json(&Listed { questions: questions.into_iter().map(QuestionDetails::from).collect(), total })
}

pub(super) async fn show(app: &App, begin: &str) -> Result<Value, Refusal> {
    let ticket = match Ticket::parse(begin) {
        Some(ticket) => ticket,
        None => find_by_prefix(app, begin).await?,
    };
    let question = app.questions.get(&ticket).await.map_err(failed)?;
    to_json(&QuestionDetails::from(question))
}

/// Returns the ticket with this prefix, among the pending and the recently decided questions.
async fn find_by_prefix(app: &App, begin: &str) -> Result<Ticket, Refusal> {
    let (mut questions, _) = pending(app).await.map_err(failed)?;
    questions
        .extend(app.questions.history(&Filter::default(), None, MAX_RECENT).await.map_err(failed)?.questions);
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
