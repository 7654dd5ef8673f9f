//! The client that asks, as one of those who show its question: by a form of its own, or by a link to the question's
//! page, beside all other presenters.
//!
//! Only where the person says so by `ask_in_client`: that a client declares forms does not mean that it draws them, and
//! its answer is the word of the program that runs the agent. A form that was sent is not a question that was seen, a
//! closed form decides nothing, and what is marked `high` has no form. A link decides nothing at all: what a client says
//! of it is only whether somebody follows it.

use std::future::pending;

use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle};
use serde_json::Value;

use super::elicit::{self, Reply};
use crate::mcp::Handler;
use crate::mcp::dialect::Revision;
use crate::popups::{Error, Level, Popups, Presenter, Proof, Question, State, Unanswered};

/// How often a form that came back without an answer is shown again.
const ROUNDS: usize = 3;

/// How a client may show questions.
#[derive(Clone, Debug)]
pub(super) struct Shows {
    revision: Revision,
    forms: bool,
    /// The console's origin, for a client that shows links.
    links: Option<String>,
}

impl Shows {
    /// `None` unless the person wants this client to show questions and it declared that it can.
    pub(super) fn of(
        handler: &Handler,
        revision: Revision,
        context: &RequestContext<RoleServer>,
    ) -> Option<Self> {
        let name = handler.connected().name().to_ascii_lowercase();
        let app = handler.app();
        let listed = app.popups.settings().in_client.iter();
        if revision < Revision::V2025_06_18
            || !listed.into_iter().any(|one| one == "*" || name.starts_with(one.as_str()))
        {
            return None;
        }
        let kinds = context.client_capabilities()?.elicitation?;
        let has_links = revision >= Revision::V2025_11_25 && kinds.url.is_some();
        let links = app.listening.console.get().filter(|_| has_links).cloned();
        // `{}` means forms.
        let forms = kinds.form.is_some() || kinds.url.is_none();
        (forms || links.is_some()).then_some(Self { revision, forms, links })
    }
}

/// What a client may show of a question now.
#[derive(Debug)]
pub(super) enum Shown {
    /// The number of the form, and the params of `elicitation/create`.
    Form(usize, Value),
    /// The params. What answers is the console, so this is shown once.
    Link(Value),
}

/// Returns what the client may show now: a form, or a link where a form is not to be answered or cannot ask it.
pub(super) async fn shown(popups: &Popups, question: &Question, shows: &Shows) -> Option<Shown> {
    let waits = question.state == State::Pending && question.snoozed_until.is_none();
    if !waits {
        return None;
    }
    let happened = popups.happened(&question.ticket).await.ok()?;
    let count = |how: Unanswered| happened.iter().filter(|event| event.kind == how.as_str()).count();
    if count(Unanswered::Closed) > 0 || count(Unanswered::Followed) > 0 {
        return None;
    }
    let round = count(Unanswered::Unfit);
    let fits = shows.forms && question.level != Level::High;
    if let Some(params) = fits.then(|| elicit::params(question, shows.revision, round > 0)).flatten() {
        return (round < ROUNDS).then_some(Shown::Form(round, params));
    }
    if fits && shows.links.is_none() && count(Unanswered::NoForm) == 0 {
        // The person who expects it in the client finds out why it is not there.
        let _ = popups.unanswered(&question.ticket, Unanswered::NoForm).await;
    }
    shows.links.as_ref().map(|console| Shown::Link(elicit::link(question, console)))
}

/// Does what the client said to a form. Whoever was first has decided; that is no fault of the client's.
pub(super) async fn take(popups: &Popups, question: &Question, reply: &Value) -> Result<(), Error> {
    let ticket = &question.ticket;
    let done = match elicit::read(question, reply) {
        Reply::Answer(answer, note) => {
            match popups.answer(ticket, Proof::Door, answer, note, Presenter::Client).await {
                Err(Error::Answer { .. }) => popups.unanswered(ticket, Unanswered::Unfit).await,
                done => done.map(drop),
            }
        }
        Reply::Declined => popups.decline(ticket, None, Presenter::Client).await.map(drop),
        Reply::Unfit => popups.unanswered(ticket, Unanswered::Unfit).await,
        Reply::Closed => popups.unanswered(ticket, Unanswered::Closed).await,
    };
    match done {
        Err(Error::AlreadyDecided { .. } | Error::Final) => Ok(()),
        done => done,
    }
}

/// Notes what the client said to a link. Nothing that it says decides the question.
pub(super) async fn follow(popups: &Popups, question: &Question, reply: &Value) -> Result<(), Error> {
    let follows = reply.get("action").and_then(Value::as_str) == Some("accept");
    let how = if follows { Unanswered::Followed } else { Unanswered::Closed };
    popups.unanswered(&question.ticket, how).await
}

/// The form or link of one waiting call, for clients of the handshake: a request of ours to the client.
pub(super) struct InClient<'a> {
    handler: &'a Handler,
    context: &'a RequestContext<RoleServer>,
    /// `None` for a client that is not asked.
    shows: Option<Shows>,
    open: Option<RequestHandle<RoleServer>>,
    /// Whether what is open is a link.
    is_link: bool,
}

impl<'a> InClient<'a> {
    pub(super) fn new(handler: &'a Handler, context: &'a RequestContext<RoleServer>) -> Self {
        let revision = Revision::of(context);
        // 2026-07-28 has no requests to a client; there a form is part of the answer.
        let shows =
            (revision < Revision::V2026_07_28).then(|| Shows::of(handler, revision, context)).flatten();
        Self { handler, context, shows, open: None, is_link: false }
    }

    /// Shows the question while it waits, and takes it back when somebody else was first.
    pub(super) async fn show(&mut self, question: &Question) {
        let Some(shows) = &self.shows else { return };
        if self.open.is_some() && question.state == State::Pending && question.snoozed_until.is_none() {
            return;
        }
        let params = match shown(&self.handler.app().popups, question, shows).await {
            None => return self.withdraw().await,
            Some(Shown::Form(_, params)) => {
                self.is_link = false;
                params
            }
            Some(Shown::Link(params)) => {
                self.is_link = true;
                offered(self.handler, question, params)
            }
        };
        let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(params)));
        let options = PeerRequestOptions::no_options();
        match self.context.peer.send_cancellable_request(request, options).await {
            Ok(open) => self.open = Some(open),
            Err(error) => {
                tracing::info!(%error, ticket = %question.ticket, "the client could not be asked");
                self.shows = None;
            }
        }
    }

    /// Waits for what the client says; without an open form, for ever. Nothing is lost when it is dropped.
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

    /// Does what the client said.
    pub(super) async fn take(&self, question: &Question, reply: &Value) -> Result<(), Error> {
        let popups = &self.handler.app().popups;
        if self.is_link { follow(popups, question, reply).await } else { take(popups, question, reply).await }
    }

    /// Takes an open form or link away from the client.
    pub(super) async fn withdraw(&mut self) {
        let Some(open) = self.open.take() else { return };
        // A client that left has no form to take away.
        let _ = open.cancel(Some("the question is no longer open here".to_owned())).await;
    }
}

/// Enters a link that the client is given, and returns its params with its name: the client is told of its end.
pub(super) fn offered(handler: &Handler, question: &Question, mut params: Value) -> Value {
    params["elicitationId"] = Value::from(handler.links().offer(&question.ticket));
    params
}
