//! How an answer gets to a client: as a task of the protocol where the client takes one; else the call blocks, and
//! tells of progress; else, for a client that cannot wait, a ticket. Whatever happens to the call, the question stays.

use std::time::{Duration, Instant};

use rmcp::model::CallToolResponse;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::in_client::{self, InClient, Shown, Shows};
use super::rounds::{self, Brought};
use super::{AWAIT, answer};
use crate::clock::{instant, stamp};
use crate::mcp::arguments::{Fault, integer, string};
use crate::mcp::dialect::Revision;
use crate::mcp::seal::{Seal, canonical};
use crate::mcp::tools::agents::{Progress, waits};
use crate::mcp::{Handler, error, tasks};
use crate::popups::{Draft, Error, Question, State, Ticket, Waits};

/// The longest that a caller may ask to wait.
pub(super) const LONGEST: Duration = Duration::from_hours(1);

/// How many of its looks a caller that nobody can see may leave out before the person is told.
const LEFT_OUT: u32 = 5;

/// Asks, and answers with what the person said or with how to hear it later.
pub(super) async fn ask(
    handler: &Handler,
    (revision, tool): (Revision, &str),
    arguments: &Map<String, Value>,
    draft: Draft,
    brought: Option<Brought>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let popups = &handler.app().popups;
    let shows = Shows::of(handler, revision, context);
    let rounds = match shows.clone().filter(|_| revision == Revision::V2026_07_28) {
        Some(shows) => match rounds::seal(handler, tool, &canonical(arguments)).await {
            Ok(seal) => Some((shows, seal)),
            Err(refusal) => return Ok(answer::refused(&refusal, revision).into()),
        },
        None => None,
    };
    if let (Some(brought), Some((shows, seal))) = (brought, &rounds) {
        return resumed(handler, &brought, shows, seal, context).await;
    }
    let asked = match popups.ask(handler.asker(), draft).await {
        Ok(asked) => asked,
        Err(refusal) => {
            tracing::info!(caller = handler.connected().label(), reason = %refusal, "a question was not asked");
            return match answer::fault_of(&refusal) {
                Some(fault) => fault.answer(revision).map(CallToolResponse::from),
                None => Ok(answer::refused(&refusal, revision).into()),
            };
        }
    };
    tracing::info!(ticket = %asked.ticket, merged = asked.merged, caller = handler.connected().label(), "asked");
    if tasks::declared(revision, context) && asked.state.outcome().is_none() {
        return match popups.get(&asked.ticket).await {
            Ok(question) => {
                lets_go(handler, &asked.ticket, super::tasks::lease(popups)).await;
                Ok(CallToolResponse::Task(super::tasks::created(&question)))
            }
            Err(refusal) => Ok(answer::refused(&refusal, revision).into()),
        };
    }
    if let Some((shows, seal)) = &rounds
        && let Ok(question) = popups.get(&asked.ticket).await
        && let Some(requests) = rounds::requests(popups, &question, shows).await
    {
        lets_go(handler, &asked.ticket, popups.settings().silent).await;
        return Ok(rounds::result(&question, seal, requests).into());
    }
    let patience = patience(handler, context);
    // Who comes back for the answer is waited for.
    if revision == Revision::V2025_11_25
        && patience.is_some()
        && !asked.merged
        && let Some(shows) = &shows
        && let Ok(question) = popups.get(&asked.ticket).await
        && let Some(Shown::Link(params)) = in_client::shown(popups, &question, shows).await
    {
        let message = format!(
            "the person answers this on a page of their own, which this client can open; call again once that is done, or \
             call {AWAIT} with ticket {}",
            question.ticket
        );
        return Err(error::link_required(message, &in_client::offered(handler, &question, params)));
    }
    Ok(finish(handler, revision, &asked.ticket, patience, context).await.into())
}

/// A stateless call that comes back with what the person said to the client's own form, if they said something.
async fn resumed(
    handler: &Handler,
    brought: &Brought,
    shows: &Shows,
    seal: &Seal,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let (asker, popups) = (handler.asker(), &handler.app().popups);
    let question = async {
        let question = brought.question(popups, &asker.key, seal).await?;
        popups.here(&asker, &question.ticket, None).await?;
        brought.take(popups, &question, shows).await?;
        popups.get(&question.ticket).await
    };
    let question = match question.await {
        Ok(question) => question,
        Err(Error::Unknown { .. }) => {
            return Err(error::invalid_params(
                "`requestState` was not given to you for this call, or is too old; call again without it: a question that \
                 still waits is joined",
                &["requestState".to_owned()],
                "sealed",
                &Value::Null,
            ));
        }
        Err(refusal) => return Ok(answer::refused(&refusal, Revision::V2026_07_28).into()),
    };
    if let Some(requests) = rounds::requests(popups, &question, shows).await {
        lets_go(handler, &question.ticket, popups.settings().silent).await;
        return Ok(rounds::result(&question, seal, requests).into());
    }
    let patience = patience(handler, context);
    Ok(finish(handler, Revision::V2026_07_28, &question.ticket, patience, context).await.into())
}

/// `await_answer`.
pub(super) async fn await_answer(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || {
        let ticket = string(arguments, "ticket", true)?.unwrap_or_default();
        Ok::<_, Fault>((ticket.to_owned(), integer(arguments, "seconds", 1)?))
    };
    let (ticket, seconds) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let asker = handler.asker();
    let popups = &handler.app().popups;
    let found = async {
        let unknown = || Error::Unknown { ticket: error::clip(&ticket) };
        let ticket = Ticket::parse(&ticket).ok_or_else(unknown)?;
        popups.get_as(&asker.key, &ticket).await?;
        popups.here(&asker, &ticket, None).await?;
        Ok::<_, Error>(ticket)
    };
    let ticket = match found.await {
        Ok(ticket) => ticket,
        Err(refusal) => return Ok(answer::refused(&refusal, revision).into()),
    };
    let patience = match seconds {
        Some(seconds) => Some(Duration::from_secs(seconds).min(LONGEST)),
        None => patience(handler, context),
    };
    Ok(finish(handler, revision, &ticket, patience, context).await.into())
}

async fn finish(
    handler: &Handler,
    revision: Revision,
    ticket: &Ticket,
    patience: Option<Duration>,
    context: &RequestContext<RoleServer>,
) -> rmcp::model::CallToolResult {
    let _waiting = handler.app().awaited.enter([ticket.as_str().to_owned()]);
    match wait_for(handler, context, ticket, patience).await {
        Ok(question) => {
            let popups = &handler.app().popups;
            if question.state.outcome().is_none() && handler.asker().is_unseen() {
                let lease = popups.settings().silent;
                lets_go(handler, ticket, lease).await;
                return answer::ask_again(&question, lease / LEFT_OUT, revision);
            }
            if question.state.outcome().is_some() && handler.is_read(&context.ct) {
                popups.delivered(&handler.asker().key, ticket).await;
            }
            answer::of_question(&question, revision)
        }
        Err(refusal) => answer::refused(&refusal, revision),
    }
}

/// Notes that a caller whose end nobody can see has its answer, which is not the person's yet, and is expected again.
async fn lets_go(handler: &Handler, ticket: &Ticket, lease: Duration) {
    let asker = handler.asker();
    if asker.is_unseen() {
        handler.app().popups.lets_go(&asker, ticket, lease).await;
    }
}

/// How long a client waits for an answer; `None` is as long as it takes.
fn patience(handler: &Handler, context: &RequestContext<RoleServer>) -> Option<Duration> {
    let settings = handler.app().popups.settings();
    let name = handler.connected().name().to_ascii_lowercase();
    let known = settings.patience_of.iter().find(|(client, _)| name.starts_with(client.as_str()));
    match known {
        Some((_, patience)) => Some(*patience),
        None if waits(handler, context) => None,
        None => Some(settings.patience),
    }
}

/// Waits until a question is decided or `patience` is over, and returns it as it is then. The client is told that
/// we are there where it sent a token, and shows the question too where the person prefers that. A call that is taken
/// back leaves the question for a grace.
pub(crate) async fn wait_for(
    handler: &Handler,
    context: &RequestContext<RoleServer>,
    ticket: &Ticket,
    patience: Option<Duration>,
) -> Result<Question, Error> {
    let mut in_client = InClient::new(handler, context);
    let question = watch(handler, context, ticket, patience, &mut in_client).await;
    in_client.withdraw().await;
    question
}

async fn watch(
    handler: &Handler,
    context: &RequestContext<RoleServer>,
    ticket: &Ticket,
    patience: Option<Duration>,
    in_client: &mut InClient<'_>,
) -> Result<Question, Error> {
    let popups = &handler.app().popups;
    let until = patience.map(|patience| Instant::now() + patience);
    let mut progress = Progress::new(context);
    let mut changes = popups.changes(ticket);
    loop {
        let question = popups.get(ticket).await?;
        if question.state.outcome().is_some() {
            return Ok(question);
        }
        if question.waits != Waits::Here {
            // Another call of the same client gave up; this one has not.
            popups.here(&handler.asker(), ticket, None).await?;
        }
        in_client.show(&question).await;
        progress.news(standing(&question));
        let pause = progress.tell(context).await;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(question);
        }
        let pause = left.map_or(pause, |left| left.min(pause));
        tokio::select! {
            () = changes.next(pause) => {}
            reply = in_client.reply() => in_client.take(&question, &reply).await?,
            () = context.ct.cancelled() => {
                popups.left(&handler.asker().key, ticket).await;
                return Ok(question);
            }
        }
    }
}

fn standing(question: &Question) -> String {
    match (&question.state, question.snoozed_until, question.seen_at) {
        (State::Pending, Some(until), _) => format!("put off until {}", stamp(instant(until))),
        (State::Pending, None, Some(_)) => "the person has seen the question".to_owned(),
        (State::Pending, None, None) => "waiting for the person".to_owned(),
        (State::Held { .. } | State::Decided(_), _, _) => "answered".to_owned(),
    }
}
