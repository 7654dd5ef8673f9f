//! `codex` and `codex-reply`: the tools that `codex mcp-server` had until 0.153, over whichever back end is installed.
//!
//! A call tells what happens as `codex/event` notifications in the order in which it happens, and then answers. On
//! stdio, where this stands in for Codex's own server, approvals are asked of the client in Codex's dialect of
//! `elicitation/create`; elsewhere they are on the desk. A client that takes tasks gets one at once, where a person has
//! another way to answer.

mod approvals;
mod events;
mod names;
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

use crate::arguments::{self, Fault};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::task_wire::accepts_tasks;
use crate::toolset::ToolsetSelection;
use crate::wait::{Progress, cancelled_by_client};
use adjutant_agents::Origin;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_codex::StartedTurn;
use adjutant_codex::event::CodexEvent;
use adjutant_codex::event_log::LogRead;
use adjutant_codex::thread::TurnOutcome;
use adjutant_codex::thread_options::ThreadOptions;
use events::Events;
use names::{REPLY, START};
pub use restrictions::narrowed;
use result::{answered, failed};
pub use schemas::tools;
pub(crate) use tasks::is_turn;
pub use tasks::{cancel, get, update};

/// Entries of one read.
const ENTRIES: usize = 200;

/// Calls a tool of this toolset; `None` if no tool has this name.
pub async fn call(
    call: &CallContext<'_>,
    name: &str,
    given: &Map<String, Value>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let codex = &call.client.app.codex;
    if matches!(name, START | REPLY) && call.client.caller().origin != Origin::Outside {
        // What it may do was decided when its task was delegated.
        let text = "an agent that works on a delegated task cannot start Codex sessions";
        return Some(Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into()));
    }
    let begun = match name {
        START => match start(call.client, given) {
            Ok(start) => codex.start(start).await,
            Err(fault) => return Some(fault.answer(call.revision).map(CallToolResponse::from)),
        },
        REPLY => match reply(given) {
            Ok((thread, prompt)) => codex.reply(thread, prompt.to_owned()).await,
            Err(fault) => return Some(fault.answer(call.revision).map(CallToolResponse::from)),
        },
        _ => return None,
    };
    Some(match begun {
        Ok(begun) if accepts_tasks(call) && call.client.connected.kind != ConnectionKind::Stdio => {
            match tasks::created(call.client, begun).await {
                Ok(task) => Ok(CallToolResponse::Task(task)),
                Err(error) => Ok(failed(&error, given).into()),
            }
        }
        Ok(begun) => Ok(follow(call, begun).await.into()),
        Err(error) => Ok(failed(&error, given).into()),
    })
}

fn start(client: &ClientContext, given: &Map<String, Value>) -> Result<ThreadOptions, Fault> {
    if client.selection == ToolsetSelection::All {
        restrictions::check(given)?;
    }
    let text = |name: &str| Ok::<_, Fault>(arguments::string(given, name, false)?.map(ToOwned::to_owned));
    Ok(ThreadOptions {
        prompt: arguments::string(given, "prompt", true)?.unwrap_or_default().to_owned(),
        cwd: text("cwd")?,
        model: text("model")?,
        sandbox: text("sandbox")?,
        approval_policy: text("approval-policy")?,
        profile: text("profile")?,
        config: arguments::object(given, "config")?.cloned().unwrap_or_default(),
        base_instructions: text("base-instructions")?,
        developer_instructions: text("developer-instructions")?,
        compact_prompt: text("compact-prompt")?,
    })
}

/// Returns the thread, by its name or by the one that it had before, and the prompt.
fn reply(given: &Map<String, Value>) -> Result<(&str, &str), Fault> {
    let older = arguments::string(given, "conversationId", false)?;
    let thread = arguments::string(given, "threadId", older.is_none())?.or(older);
    Ok((thread.unwrap_or_default(), arguments::string(given, "prompt", true)?.unwrap_or_default()))
}

/// Tells what happens, and returns the answer.
async fn follow(call: &CallContext<'_>, begun: StartedTurn) -> CallToolResult {
    let StartedTurn { thread, session, mut after, mut begins, ahead, ticket, mut answer } = begun;
    let asks_client = call.client.connected.kind == ConnectionKind::Stdio;
    let mut events = Events::new(&thread, &call.request.id);
    let mut asking = JoinSet::new();
    let mut last: Option<Option<TurnOutcome>> = None;
    let mut until = u64::MAX;
    let mut before = None;
    let mut cancelled = false;
    let mut progress = Progress::new(call.request);
    if ahead > 0 {
        progress.set_line(format!("waits for the end of {ahead} turn{}", if ahead == 1 { "" } else { "s" }));
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
                // A turn outlives the client that went away, and its answer is in the thread.
                if !cancelled_by_client(call).await {
                    break;
                }
                // One that ended in this moment needs no end.
                let _ = call.client.app.codex.withdraw(&thread, ticket).await;
            }
            () = tokio::time::sleep(pause) => {}
            Some(_) = asking.join_next() => {}
            followed = session.log.next(after, ENTRIES) => match followed {
                LogRead::Entries(entries) => {
                    // What comes before it is of other prompts.
                    before = before.or_else(|| begins.try_recv().ok());
                    for entry in entries {
                        after = entry.seq;
                        let ours = before.is_some_and(|before| entry.seq > before);
                        for event in entry.batch.events.iter().filter(|_| ours) {
                            if let (CodexEvent::ApprovalRequested { approval }, true) = (event, asks_client) {
                                let (codex, peer) = (call.client.app.codex.clone(), call.request.peer.clone());
                                let params = approvals::params(approval, &call.request.id);
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
    answered(&thread, last)
}

async fn notify(context: &RequestContext<RoleServer>, params: Value) {
    let notification = CustomNotification::new("codex/event", Some(params));
    // A client that left needs no news.
    let _ = context.peer.send_notification(ServerNotification::CustomNotification(notification)).await;
}
