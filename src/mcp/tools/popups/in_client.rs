//! The client that asks, as one of those who show its question: by a form of its own, beside all other presenters.
//!
//! Only where the person says so by `ask_in_client`: that a client declares forms does not mean that it draws them, and
//! its answer is the word of the program that runs the agent. A form that was sent is not a question that was seen, a
//! closed form decides nothing, and what is marked `high` is never asked here.

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

/// Whether the person wants this client's own forms, and the client declared that it has some.
pub(super) fn is_preferred(
    handler: &Handler,
    revision: Revision,
    context: &RequestContext<RoleServer>,
) -> bool {
    let name = handler.connected().name().to_ascii_lowercase();
    let listed = &handler.app().popups.settings().in_client;
    revision >= Revision::V2025_06_18
        && listed.iter().any(|one| one == "*" || name.starts_with(one.as_str()))
        && context
            .client_capabilities()
            .and_then(|declared| declared.elicitation)
            // `{}` means forms.
            .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// Returns the number of the form that the client may show now, and its params; `None` while it shows none.
pub(super) async fn form(popups: &Popups, question: &Question, revision: Revision) -> Option<(usize, Value)> {
    let waits = question.state == State::Pending && question.snoozed_until.is_none();
    if !waits || question.level == Level::High {
        return None;
    }
    let happened = popups.happened(&question.ticket).await.ok()?;
    let count = |how: Unanswered| happened.iter().filter(|event| event.kind == how.as_str()).count();
    let round = count(Unanswered::Unfit);
    if count(Unanswered::Closed) > 0 || round >= ROUNDS {
        return None;
    }
    Some((round, elicit::params(question, revision, round > 0)?))
}

/// Does what the client said to a question. Whoever was first has decided; that is no fault of the client's.
pub(super) async fn take(popups: &Popups, question: &Question, reply: &Value) -> Result<(), Error> {
    let ticket = &question.ticket;
    let done = match elicit::read(question, reply) {
        Reply::Answer(answer) => {
            match popups.answer(ticket, Proof::Door, answer, None, Presenter::Client).await {
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

/// The form of one waiting call, for clients of the handshake: a request of ours to the client.
pub(super) struct InClient<'a> {
    popups: &'a Popups,
    context: &'a RequestContext<RoleServer>,
    /// Which forms the client knows; `None` for one that is not asked.
    revision: Option<Revision>,
    open: Option<RequestHandle<RoleServer>>,
}

impl<'a> InClient<'a> {
    pub(super) fn new(handler: &'a Handler, context: &'a RequestContext<RoleServer>) -> Self {
        let revision = Revision::of(context);
        // 2026-07-28 has no requests to a client; there a form is part of the answer.
        let asks = revision < Revision::V2026_07_28 && is_preferred(handler, revision, context);
        let popups = &handler.app().popups;
        Self { popups, context, revision: asks.then_some(revision), open: None }
    }

    /// Shows the form while the question waits, and takes it back when somebody else was first.
    pub(super) async fn follow(&mut self, question: &Question) {
        let Some(revision) = self.revision else { return };
        if self.open.is_some() && question.state == State::Pending && question.snoozed_until.is_none() {
            return;
        }
        let form = form(self.popups, question, revision).await;
        let Some((_, params)) = form else { return self.withdraw().await };
        let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(params)));
        let options = PeerRequestOptions::no_options();
        match self.context.peer.send_cancellable_request(request, options).await {
            Ok(open) => self.open = Some(open),
            Err(error) => {
                tracing::info!(%error, ticket = %question.ticket, "the client could not be asked");
                self.revision = None;
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
            // A client that answers with an error shows no form.
            Ok(Err(error)) => {
                tracing::info!(%error, "the client did not show a form");
                Value::Null
            }
            Err(_) => Value::Null,
        }
    }

    /// Takes an open form away from the client.
    pub(super) async fn withdraw(&mut self) {
        let Some(open) = self.open.take() else { return };
        // A client that left has no form to take away.
        let _ = open.cancel(Some("the question is no longer open here".to_owned())).await;
    }
}
