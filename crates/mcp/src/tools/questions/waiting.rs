//! Waiting of one call for the answer to a question.

use std::time::{Duration, Instant, SystemTime};

use rmcp::model::CallToolResult;

use super::client_elicitation::ClientElicitation;
use super::{answer_files, result};
use crate::call_context::CallContext;
use crate::call_timeout::{Progress, STORE_RETRY_INTERVAL, waits_indefinitely};
use crate::client_context::ClientContext;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{AskerPresence, Error, Question, State, Ticket};

/// Returns how long the client of a call waits for the user's answer; `None` means without a limit.
pub(crate) fn answer_wait_limit(call: &CallContext<'_>) -> Option<Duration> {
    let settings = call.client.app.questions.settings();
    let name = call.client.connected.name().to_ascii_lowercase();
    let known = settings.wait_timeout_by_client.iter().find(|(client, _)| name.starts_with(client.as_str()));
    match known {
        Some((_, limit)) => Some(*limit),
        None if waits_indefinitely(call) => None,
        None => Some(settings.wait_timeout),
    }
}

/// Waits until a question is decided or `limit` is over, and returns the question as it is then.
///
/// Meanwhile the client gets progress notifications if it sent a token, and shows the question too if the user prefers
/// that. A cancelled call leaves the question open for a grace period. A store that does not answer is tried again within
/// the limit, or the time of the question.
pub(crate) async fn wait_for(
    call: &CallContext<'_>,
    ticket: &Ticket,
    limit: Option<Duration>,
) -> Result<Question, Error> {
    let mut elicitation = ClientElicitation::new(call);
    let question = Box::pin(watch(call, ticket, limit, &mut elicitation)).await;
    elicitation.withdraw().await;
    question
}

async fn watch(
    call: &CallContext<'_>,
    ticket: &Ticket,
    limit: Option<Duration>,
    elicitation: &mut ClientElicitation<'_>,
) -> Result<Question, Error> {
    let questions = &call.client.app.questions;
    let until = limit.map(|limit| Instant::now() + limit);
    let mut progress = Progress::new(call.request);
    let mut changes = questions.changes(ticket);
    let mut deadline = until.unwrap_or(Instant::now() + questions.settings().timeout);
    loop {
        let question = match questions.get(ticket).await {
            Err(error) if error.is_store_away() => {
                if Instant::now() > deadline {
                    return Err(Error::OutcomeUnknown { ticket: ticket.to_string() });
                }
                progress.set_line("the database does not answer; the question is stored".to_owned());
                let pause = progress.notify(call.request).await.min(STORE_RETRY_INTERVAL);
                tokio::select! {
                    () = tokio::time::sleep(pause) => continue,
                    () = call.request.ct.cancelled() => {
                        questions.abandon(&call.client.asker().key, ticket).await;
                        return Err(Error::Cancelled);
                    }
                }
            }
            question => question?,
        };
        if question.state.outcome().is_some() {
            return Ok(question);
        }
        if question.presence != AskerPresence::Connected && !call.request.ct.is_cancelled() {
            // Another call of the same client was cancelled; this one still waits.
            unless_away(questions.mark_waiting(&call.client.asker(), ticket, None).await)?;
        }
        if until.is_none() {
            let left = instant(question.deadline).duration_since(SystemTime::now()).unwrap_or_default();
            deadline = Instant::now() + left;
        }
        elicitation.show(&question).await;
        progress.set_line(progress_line(&question));
        let pause = progress.notify(call.request).await;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(question);
        }
        let pause = left.map_or(pause, |left| left.min(pause));
        tokio::select! {
            () = changes.next(pause) => {}
            reply = elicitation.reply() => unless_away(elicitation.on_reply(&question, &reply).await)?,
            () = call.request.ct.cancelled() => {
                questions.abandon(&call.client.asker().key, ticket).await;
                return Ok(question);
            }
        }
    }
}

/// Passes an error on, unless the store does not answer: the next reading waits for it.
fn unless_away(done: Result<(), Error>) -> Result<(), Error> {
    match done {
        Err(error) if error.is_store_away() => Ok(()),
        done => done,
    }
}

fn progress_line(question: &Question) -> String {
    match (&question.state, question.snoozed_until, question.seen_at) {
        (State::Pending, Some(until), _) => format!("snoozed until {}", stamp(instant(until))),
        (State::Pending, None, Some(_)) => "the user has seen the question".to_owned(),
        (State::Pending, None, None) => "waiting for the user".to_owned(),
        (State::Held { .. } | State::Decided(_), _, _) => "answered".to_owned(),
    }
}

/// Returns the result about a decided question, and marks its outcome as delivered.
pub(super) async fn decided(call: &CallContext<'_>, question: &Question) -> CallToolResult {
    call.client.deliver(call.request, &question.ticket).await;
    let files = answer_files::given(call.client, question, call.revision).await;
    result::question_result(question, files, call.revision)
}

/// Starts the lease of a client without a connection: it gets a response without an outcome now, and is expected to
/// call again within `lease`, because nothing else would show that it has gone.
pub(super) async fn start_lease(client: &ClientContext, ticket: &Ticket, lease: Duration) {
    let asker = client.asker();
    if asker.is_unseen() {
        client.app.questions.start_lease(&asker, ticket, lease).await;
    }
}
