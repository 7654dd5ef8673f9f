//! Queries of questions: the pending ones, the decided ones, and a single one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Request, failed, pending};
use crate::socket::control;
use crate::socket::control::client::ControlClient;
use crate::socket::control::protocol::{Error, Rejection, to_json};
use adjutant_app::App;
use adjutant_questions::{Filter, Outcome, Question, Ticket};

/// Maximum decided questions that are compared with a prefix of a ticket.
const MAX_RECENT: u32 = 500;

/// Filter of a list of questions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Query {
    /// Decided questions, the newest first, instead of the pending ones, the oldest first.
    pub decided: bool,
    /// Text in their title, client or workspace; of decided questions also in message and outcome. Empty matches all.
    pub text: String,
    pub limit: u32,
}

/// A list of questions.
#[derive(Debug, Deserialize, Serialize)]
pub struct Listed {
    pub questions: Vec<QuestionDetails>,
    /// The number of all matching questions.
    pub total: u64,
}

/// A question with its state.
#[derive(Debug, Deserialize, Serialize)]
pub struct QuestionDetails {
    pub question: Question,
    /// The time until which its decision can be undone; milliseconds since 1970.
    pub held_until: Option<i64>,
    /// After the decision.
    pub outcome: Option<Outcome>,
}

impl From<Question> for QuestionDetails {
    fn from(question: Question) -> Self {
        let (held_until, outcome) = question.state.decision().unzip();
        Self { held_until: held_until.flatten(), outcome: outcome.cloned(), question }
    }
}

/// The client's calls.
impl ControlClient {
    /// Returns the questions that match a query.
    pub fn questions(&mut self, query: Query) -> Result<Listed, Error> {
        self.ask(&control::Request::Questions(Request::List(query)))
    }

    /// Returns a question by the prefix of its ticket.
    pub fn one_question(&mut self, ticket: &str) -> Result<QuestionDetails, Error> {
        self.ask(&control::Request::Questions(Request::Show { ticket: ticket.to_owned() }))
    }
}

pub(super) async fn list(app: &App, query: Query) -> Result<Value, Rejection> {
    let Query { decided, text, limit } = query;
    let (questions, total) = if decided {
        let filter = Filter { text: (!text.is_empty()).then_some(text), kind: None };
        let page = app.questions.history(&filter, None, limit).await.map_err(failed)?;
        (page.questions, page.total)
    } else {
        let (mut questions, total) = pending(app).await.map_err(failed)?;
        let text = text.to_lowercase();
        let matches = |field: &str| field.to_lowercase().contains(&text);
        questions.retain(|one| matches(&one.title) || matches(&one.client) || matches(&one.workspace));
        let total = if text.is_empty() { total } else { questions.len() as u64 };
        questions.truncate(limit as usize);
        (questions, total)
    };
    to_json(&Listed { questions: questions.into_iter().map(QuestionDetails::from).collect(), total })
}

pub(super) async fn show(app: &App, prefix: &str) -> Result<Value, Rejection> {
    let ticket = match Ticket::parse(prefix) {
        Some(ticket) => ticket,
        None => find_by_prefix(app, prefix).await?,
    };
    let question = app.questions.get(&ticket).await.map_err(failed)?;
    to_json(&QuestionDetails::from(question))
}

/// Returns the ticket with this prefix, among the pending and the recently decided questions.
async fn find_by_prefix(app: &App, prefix: &str) -> Result<Ticket, Rejection> {
    let (mut questions, _) = pending(app).await.map_err(failed)?;
    questions
        .extend(app.questions.history(&Filter::default(), None, MAX_RECENT).await.map_err(failed)?.questions);
    let prefix = prefix.trim().to_ascii_lowercase();
    let mut found: Vec<Ticket> = questions.into_iter().map(|question| question.ticket).collect();
    found.retain(|ticket| !prefix.is_empty() && ticket.as_str().starts_with(&prefix));
    found.dedup();
    match found.as_slice() {
        [ticket] => Ok(ticket.clone()),
        [] => Err(rejection(format!("unknown question `{prefix}`"))),
        several => Err(rejection(format!("{} questions begin with `{prefix}`", several.len()))),
    }
}

fn rejection(message: String) -> Rejection {
    let hint = "`adjutant questions list` lists the pending questions, with --decided the decided ones";
    Rejection { message, hints: vec![hint.to_owned()] }
}
