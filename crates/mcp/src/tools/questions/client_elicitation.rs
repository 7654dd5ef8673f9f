//! Elicitation of an answer from the client that asked: a form, or a link to the question's page.
//!
//! A client shows questions only if the user lists it in `ask_in_client`, because a client that declares forms may still
//! not show them, and its answer comes from the program that runs the agent. A sent form does not count as a seen
//! question, a closed form decides nothing, and a question marked `high` has no form. A link decides nothing: the
//! client's reply to it only says whether the user opened it.

use std::future::pending;

use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use serde_json::Value;

use super::elicitation;
use super::elicitation::Reply;
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use adjutant_questions::{Channel, ElicitationFailure, Error, Level, Proof, Question, Questions, State};

/// Maximum times that a client shows the form of a question. A form that came back without an answer is shown again.
const MAX_ROUNDS: usize = 3;

/// The forms and links that a client can show.
#[derive(Clone, Debug)]
pub(super) struct ElicitationSupport {
    revision: Revision,
    forms: bool,
    /// The console's origin, for a client that shows links.
    links: Option<String>,
}

impl ElicitationSupport {
    /// Returns what the client of a call can show; `None` unless the user wants this client to show questions and the
    /// client declared that it can.
    pub(super) fn of(call: &CallContext<'_>) -> Option<Self> {
        let CallContext { client, revision, request } = *call;
        let name = client.connected.name().to_ascii_lowercase();
        let listed = client.app.questions.settings().in_client.iter();
        if revision < Revision::V2025_06_18
            || !listed.into_iter().any(|one| one == "*" || name.starts_with(one.as_str()))
        {
            return None;
        }
        let kinds = request.client_capabilities()?.elicitation?;
        let has_links = revision >= Revision::V2025_11_25 && kinds.url.is_some();
        let links = client.app.listening.console.get().filter(|_| has_links).cloned();
        // `{}` means forms.
        let forms = kinds.form.is_some() || kinds.url.is_none();
        (forms || links.is_some()).then_some(Self { revision, forms, links })
    }
}

/// The form or link by which a client shows a question now.
#[derive(Debug)]
pub(super) enum Presentation {
    /// The number of the form, and the params of `elicitation/create`.
    Form(usize, Value),
    /// The params. The user answers in the console, so the link is shown once.
    Link(Value),
}

/// Returns what the client may show now: a form, or a link where a form is not to be answered or cannot ask it.
pub(super) async fn presentation(
    questions: &Questions,
    question: &Question,
    support: &ElicitationSupport,
) -> Option<Presentation> {
    let is_pending = question.state == State::Pending && question.snoozed_until.is_none();
    if !is_pending {
        return None;
    }
    let audit = questions.audit(&question.ticket).await.ok()?;
    let count = |how: ElicitationFailure| audit.iter().filter(|event| event.kind == how.name()).count();
    if count(ElicitationFailure::Closed) > 0 || count(ElicitationFailure::Followed) > 0 {
        return None;
    }
    let round = count(ElicitationFailure::Unfit);
    let fits = support.forms && question.level != Level::High;
    if let Some(params) = fits.then(|| elicitation::params(question, support.revision, round > 0)).flatten() {
        return (round < MAX_ROUNDS).then_some(Presentation::Form(round, params));
    }
    if fits && support.links.is_none() && count(ElicitationFailure::NoForm) == 0 {
        // The history of the question says why the client does not show it.
        let _ = questions.record_elicitation_failure(&question.ticket, ElicitationFailure::NoForm).await;
    }
    support.links.as_ref().map(|console| Presentation::Link(elicitation::link(question, console)))
}

/// Applies the client's reply to a form. A reply to a question that is decided already is not an error.
pub(super) async fn on_form_reply(
    questions: &Questions,
    question: &Question,
    reply: &Value,
) -> Result<(), Error> {
    let ticket = &question.ticket;
    let done = match elicitation::read(question, reply) {
        Reply::Answer(answer, note) => {
            let shown = (ticket, question.deliveries);
            match questions.answer(shown, Proof::Interface, answer, note, Channel::Client).await {
                Err(Error::Answer { .. }) => {
                    questions.record_elicitation_failure(ticket, ElicitationFailure::Unfit).await
                }
                done => done.map(drop),
            }
        }
        Reply::Declined => questions.decline(ticket, None, Channel::Client).await.map(drop),
        Reply::Unfit => questions.record_elicitation_failure(ticket, ElicitationFailure::Unfit).await,
        Reply::Closed => questions.record_elicitation_failure(ticket, ElicitationFailure::Closed).await,
    };
    match done {
        Err(Error::AlreadyDecided { .. } | Error::Final) => Ok(()),
        done => done,
    }
}

/// Records the client's reply to a link. No reply decides the question.
pub(super) async fn on_link_reply(
    questions: &Questions,
    question: &Question,
    reply: &Value,
) -> Result<(), Error> {
    let follows = reply.get("action").and_then(Value::as_str) == Some("accept");
    let how = if follows { ElicitationFailure::Followed } else { ElicitationFailure::Closed };
    questions.record_elicitation_failure(&question.ticket, how).await
}

/// The form or link of one waiting call, for clients with a handshake: a request of the hub to the client.
pub(super) struct ClientElicitation<'a> {
    call: &'a CallContext<'a>,
    /// `None` for a client that is not asked.
    support: Option<ElicitationSupport>,
    open: Option<RequestHandle<RoleServer>>,
    /// Whether the open request is a link.
    is_link: bool,
}

impl<'a> ClientElicitation<'a> {
    pub(super) fn new(call: &'a CallContext<'a>) -> Self {
        // 2026-07-28 has no requests to a client; there a form is part of the result.
        let has_requests = call.revision < Revision::V2026_07_28;
        let support = has_requests.then(|| ElicitationSupport::of(call)).flatten();
        Self { call, support, open: None, is_link: false }
    }

    /// Shows the question while it is pending, and withdraws it after that.
    pub(super) async fn show(&mut self, question: &Question) {
        let Some(support) = &self.support else { return };
        if self.open.is_some() && question.state == State::Pending && question.snoozed_until.is_none() {
            return;
        }
        let params = match presentation(&self.call.client.app.questions, question, support).await {
            None => return self.withdraw().await,
            Some(Presentation::Form(_, params)) => {
                self.is_link = false;
                params
            }
            Some(Presentation::Link(params)) => {
                self.is_link = true;
                register_link(self.call.client, question, params)
            }
        };
        let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(params)));
        let options = PeerRequestOptions::no_options();
        match self.call.request.peer.send_cancellable_request(request, options).await {
            Ok(open) => self.open = Some(open),
            Err(error) => {
                tracing::info!(%error, ticket = %question.ticket, "the client could not be asked");
                self.support = None;
            }
        }
    }

    /// Waits for the client's reply; without an open form, for ever. Cancel safe.
    pub(super) async fn reply(&mut self) -> Value {
        let Some(open) = &mut self.open else { return pending().await };
        let reply = (&mut open.rx).await;
        self.open = None;
        match reply {
            Ok(Ok(reply)) => serde_json::to_value(reply).unwrap_or_default(),
            // A client that answers with an error shows nothing.
            Ok(Err(error)) => {
                tracing::info!(%error, "the client did not show the question");
                Value::Null
            }
            Err(_) => Value::Null,
        }
    }

    /// Applies the client's reply.
    pub(super) async fn on_reply(&self, question: &Question, reply: &Value) -> Result<(), Error> {
        let questions = &self.call.client.app.questions;
        if self.is_link {
            on_link_reply(questions, question, reply).await
        } else {
            on_form_reply(questions, question, reply).await
        }
    }

    /// Withdraws an open form or link from the client.
    pub(super) async fn withdraw(&mut self) {
        let Some(open) = self.open.take() else { return };
        // A disconnected client has no form to withdraw.
        let _ = open.cancel(Some("the question is no longer open here".to_owned())).await;
    }
}

/// Registers a link of the client, and returns its params with its name, by which the client is notified of its end.
pub(super) fn register_link(client: &ClientContext, question: &Question, mut params: Value) -> Value {
    params["elicitationId"] = Value::from(client.links.offer(&question.ticket));
    params
}
