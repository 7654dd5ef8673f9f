//! `codex` and `codex-reply`: the tools that `codex mcp-server` had until 0.153, over the installed back end.
//!
//! A call sends the session's events as `codex/event` notifications in their order, and then answers. On stdio this
//! replaces Codex's own server, so the client is asked for approvals in Codex's form of `elicitation/create`; elsewhere
//! approvals are questions in the Inbox. A client that accepts tasks gets a task at once, except on stdio, where the
//! user has no other way to answer.

mod approvals;
mod events;
mod names;
mod options;
mod progress_line;
mod restrictions;
mod result;
mod schemas;
mod tasks;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, CustomNotification, ServerNotification};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use crate::call_context::CallContext;
use crate::call_timeout::{Progress, cancelled_by_client};
use crate::task_wire::accepts_tasks;
use adjutant_agents::Origin;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::text::counted::counted;
use adjutant_codex::StartedTurn;
use adjutant_codex::event::CodexEvent;
use adjutant_codex::event_log::LogRead;
use adjutant_codex::thread::TurnOutcome;
use events::Events;
use names::REPLY;
pub(crate) use names::START;
pub(crate) use restrictions::restrict;
use result::{failed_call, turn_result};
pub use schemas::tools;
pub(crate) use tasks::is_turn;
pub use tasks::{cancel, get, update};

/// Log entries of one read.
const BATCH_SIZE: usize = 200;

/// Calls a tool of this toolset; `None` if no tool has this name.
pub async fn call(
    call: &CallContext<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let codex = &call.client.app.codex;
    if matches!(name, START | REPLY) && call.client.caller().origin != Origin::Outside {
        // Its permission was decided when its task was delegated.
        let text = "an agent that works on a delegated task cannot start Codex sessions";
        return Some(Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into()));
    }
    let started = match name {
        START => match options::start(call.client, arguments) {
            Ok(options) => codex.start(options).await,
            Err(error) => return Some(Ok(options::refused(&error, arguments).into())),
        },
        REPLY => match options::reply(arguments) {
            Ok((thread, prompt)) => codex.reply(thread, prompt.to_owned()).await,
            Err(error) => return Some(Ok(options::refused(&error, arguments).into())),
        },
        _ => return None,
    };
    let response = match started {
        Ok(turn) if accepts_tasks(call) && call.client.connected.kind != ConnectionKind::Stdio => {
            tasks::created(call.client, turn).await.map(CallToolResponse::Task)
        }
        Ok(turn) => Ok(follow(call, turn).await.into()),
        Err(error) => Err(error),
    };
    Some(Ok(response.unwrap_or_else(|error| failed_call(&error, arguments).into())))
}

/// Sends the events of a turn to the client, and returns the turn's result.
async fn follow(call: &CallContext<'_>, turn: StartedTurn) -> CallToolResult {
    let StartedTurn { thread, session, mut after, mut begins, ahead, ticket, mut answer } = turn;
    let asks_client = call.client.connected.kind == ConnectionKind::Stdio;
    let mut events = Events::new(&thread, &call.request.id);
    let mut asking = JoinSet::new();
    let mut last: Option<Option<TurnOutcome>> = None;
    let mut until = u64::MAX;
    let mut before = None;
    let mut cancelled = false;
    let mut progress = Progress::new(call.request);
    if ahead > 0 {
        progress.set_line(format!("waits for the end of {}", counted(ahead, "turn")));
    }
    while after < until {
        let pause = progress.notify(call.request).await;
        tokio::select! {
            biased;
            ended = &mut answer, if last.is_none() => {
                until = session.log.last_seq();
                last = Some(ended.ok());
            }
            () = call.request.ct.cancelled(), if !cancelled => {
                cancelled = true;
                // A turn outlives a disconnected client, and its answer is in the thread.
                if !cancelled_by_client(call).await {
                    break;
                }
                // The turn may have ended meanwhile.
                let _ = call.client.app.codex.withdraw(&thread, ticket).await;
            }
            () = tokio::time::sleep(pause) => {}
            Some(_) = asking.join_next() => {}
            followed = session.log.next(after, BATCH_SIZE) => match followed {
                LogRead::Entries(entries) => {
                    // Earlier entries belong to other prompts.
                    before = before.or_else(|| begins.try_recv().ok());
                    for entry in entries {
                        after = entry.seq;
                        let is_ours = before.is_some_and(|before| entry.seq > before);
                        for event in entry.batch.events.iter().filter(|_| is_ours) {
                            if let (CodexEvent::ApprovalRequested { approval }, true) = (event, asks_client) {
                                let (codex, peer) = (call.client.app.codex.clone(), call.request.peer.clone());
                                let params = approvals::params(approval, &call.request.id);
                                if params.is_none() {
                                    notify(call.request, events.refusal(approval)).await;
                                }
                                asking.spawn(approvals::ask(codex, peer, approval.clone(), params));
                            }
                            if let Some(line) = progress_line::line(event) {
                                progress.set_line(line);
                            }
                            for params in events.params(event) {
                                notify(call.request, params).await;
                            }
                        }
                    }
                }
                LogRead::Missed(entries) => {
                    tracing::warn!(entries, "a client of Codex reads too slowly; events are left out");
                    after += entries;
                }
                LogRead::End => break,
            },
        }
    }
    let last = match last {
        Some(last) => last,
        None if cancelled => None,
        None => answer.await.ok(),
    };
    turn_result(&thread, last)
}

async fn notify(context: &RequestContext<RoleServer>, params: Value) {
    let notification = CustomNotification::new("codex/event", Some(params));
    // A disconnected client needs no events.
    let _ = context.peer.send_notification(ServerNotification::CustomNotification(notification)).await;
}
