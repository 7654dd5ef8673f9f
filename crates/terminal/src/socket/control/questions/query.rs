//! Queries of questions: the pending ones, the decided ones, and a single one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PAGE_SIZE, Request, failed, open_page};
use crate::socket::control;
use crate::socket::control::client::ControlClient;
use crate::socket::control::protocol::{Error, Rejection, ResponseWriter, to_json};
use adjutant_app::App;
use adjutant_questions::{Filter, Outcome, Question};

/// Filter of a list of questions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Query {
    /// Decided questions, the newest first, instead of the pending ones, the oldest first.
    pub decided: bool,
    /// Text in their title, client or workspace; of decided questions also in message and outcome. Empty matches all.
    pub text: String,
    pub limit: u32,
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
    /// Calls `on_question` with each question that matches a query, up to its limit. Returns the number of all that match.
    pub fn questions(
        &mut self,
        query: Query,
        on_question: impl FnMut(QuestionDetails),
    ) -> Result<u64, Error> {
        self.follow(&control::Request::Questions(Request::List(query)), on_question)
    }

    /// Returns a question by the prefix of its ticket.
    pub fn one_question(&mut self, ticket: &str) -> Result<QuestionDetails, Error> {
        self.ask(&control::Request::Questions(Request::Show { ticket: ticket.to_owned() }))
    }
}

pub(super) async fn list(app: &App, query: Query, out: &mut ResponseWriter) -> Result<Value, Rejection> {
    let Query { decided, text, limit: mut left } = query;
    let filter = Filter { text: (!text.is_empty()).then(|| text.clone()), kind: None };
    let text = text.to_lowercase();
    let matches = |field: &str| decided || field.to_lowercase().contains(&text);
    let (mut after, mut total, mut matching) = (None, 0, 0);
    loop {
        let page = if decided {
            app.questions.history(&filter, after, PAGE_SIZE).await.map_err(failed)?
        } else {
            open_page(app, after).await?
        };
        total = page.total.max(total);
        after = page.next;
        for question in page.questions {
            if !matches(&question.title) && !matches(&question.client) && !matches(&question.workspace) {
                continue;
            }
            matching += 1;
            if left > 0 {
                left -= 1;
                out.part(&QuestionDetails::from(question)).await?;
            }
        }
        // The store counts all, and those that are decided and match.
        let is_counted = decided || text.is_empty();
        if after.is_none() || left == 0 && is_counted {
            return to_json(&if is_counted { total } else { matching });
        }
    }
}

pub(super) async fn show(app: &App, prefix: &str) -> Result<Value, Rejection> {
    let prefix = prefix.trim();
    let found = app.questions.find(prefix).await.map_err(failed)?;
    let ticket = match found.as_slice() {
        [ticket] if !prefix.is_empty() => ticket,
        [_, _] => return Err(rejection(format!("several questions begin with `{prefix}`"))),
        _ => return Err(rejection(format!("unknown question `{prefix}`"))),
    };
    let question = app.questions.get(ticket).await.map_err(failed)?;
    to_json(&QuestionDetails::from(question))
}

fn rejection(message: String) -> Rejection {
    let hint = "`adjutant questions list` lists the pending questions, with --decided the decided ones";
    Rejection { message, hints: vec![hint.to_owned()] }
}
