//! `codex` and `codex-reply`: the tools that `codex mcp-server` had until 0.153, over whichever back end is installed.
//!
//! A call tells what happens as `codex/event` notifications in the order in which it happened, and then answers. On
//! stdio, where this stands in for Codex's own server, approvals are asked of the client in Codex's dialect of
//! `elicitation/create`; elsewhere they are on the desk. A client that takes tasks gets one at once, where a person has
//! another way to answer.

mod approvals;
mod bounded;
mod events;
mod progress;
mod schemas;
mod tasks;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, CustomNotification, ServerNotification};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::agents::Origin;
use crate::app::clients::Transport;
use crate::codex::happened::{End, Happened};
use crate::codex::log::Followed;
use crate::codex::settings::Start;
use crate::codex::thread::Last;
use crate::codex::{self, Begun};
use crate::mcp::arguments::{self, Fault};
use crate::mcp::dialect::Revision;
use crate::mcp::tasks::declared;
use crate::mcp::tools::agents::{Progress, given_up};
use crate::mcp::{Handler, Server};
pub(crate) use bounded::narrowed;
use events::Events;
pub(crate) use schemas::tools;
pub(crate) use tasks::{cancel, get, is_turn, update};

const START: &str = "codex";
const REPLY: &str = "codex-reply";

/// Entries that are told at once.
const ENTRIES: usize = 200;

/// Calls one of the room's tools; `None` when `name` is none of them.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    name: &str,
    given: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let codex = &handler.app().codex;
    if matches!(name, START | REPLY) && handler.caller().origin != Origin::Outside {
        // What it may do was decided when its task was delegated.
        let text = "an agent that works on a delegated task cannot start Codex sessions";
        return Some(Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into()));
    }
    let begun = match name {
        START => match start(handler, given) {
            Ok(start) => codex.start(start).await,
            Err(fault) => return Some(fault.answer(revision).map(CallToolResponse::from)),
        },
        REPLY => match reply(given) {
            Ok((thread, prompt)) => codex.reply(thread, prompt.to_owned()).await,
            Err(fault) => return Some(fault.answer(revision).map(CallToolResponse::from)),
        },
        _ => return None,
    };
    Some(match begun {
        Ok(begun) if declared(revision, context) && handler.connected().transport != Transport::Stdio => {
            match tasks::created(handler, begun).await {
                Ok(task) => Ok(CallToolResponse::Task(task)),
                Err(error) => Ok(failed(&error, given).into()),
            }
        }
        Ok(begun) => Ok(follow(handler, begun, context).await.into()),
        Err(error) => Ok(failed(&error, given).into()),
    })
}

fn start(handler: &Handler, given: &Map<String, Value>) -> Result<Start, Fault> {
    if handler.server() == Server::All {
        bounded::check(given)?;
    }
    let text = |name: &str| Ok::<_, Fault>(arguments::string(given, name, false)?.map(ToOwned::to_owned));
    Ok(Start {
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
async fn follow(handler: &Handler, begun: Begun, context: &RequestContext<RoleServer>) -> CallToolResult {
    let Begun { thread, session, mut after, mut begins, ahead, ticket, mut answer } = begun;
    let asks_client = handler.connected().transport == Transport::Stdio;
    let mut events = Events::new(&thread, &context.id);
    let mut asking = JoinSet::new();
    let mut last: Option<Option<Last>> = None;
    let mut until = u64::MAX;
    let mut before = None;
    let mut cancelled = false;
    let mut told = Progress::new(context);
    if ahead > 0 {
        told.news(format!("waits for the end of {ahead} turn{}", if ahead == 1 { "" } else { "s" }));
    }
    while after < until {
        let pause = told.tell(context).await;
        tokio::select! {
            biased;
            ended = &mut answer, if last.is_none() => {
                until = session.log.last();
                last = Some(ended.ok());
            }
            () = context.ct.cancelled(), if !cancelled => {
                cancelled = true;
                // A turn outlives the client that went away, and its answer is in the thread.
                if !given_up(handler, context).await {
                    break;
                }
                // One that ended in this moment needs no end.
                let _ = handler.app().codex.withdraw(&thread, ticket).await;
            }
            () = tokio::time::sleep(pause) => {}
            Some(_) = asking.join_next() => {}
            followed = session.log.next(after, ENTRIES) => match followed {
                Followed::Entries(entries) => {
                    // What comes before it is of other prompts.
                    before = before.or_else(|| begins.try_recv().ok());
                    for entry in entries {
                        after = entry.seq;
                        let ours = before.is_some_and(|before| entry.seq > before);
                        for happened in entry.heard.happened.iter().filter(|_| ours) {
                            if let (Happened::Asked { approval }, true) = (happened, asks_client) {
                                let (codex, peer) = (handler.app().codex.clone(), context.peer.clone());
                                let params = approvals::params(approval, &context.id);
                                asking.spawn(approvals::ask(codex, peer, approval.clone(), params));
                            }
                            if let Some(line) = progress::line(happened) {
                                told.news(line);
                            }
                            for params in events.params(happened) {
                                notify(context, params).await;
                            }
                        }
                    }
                }
                Followed::Missed(entries) => {
                    tracing::warn!(entries, "a client of Codex reads too slowly; events are left out");
                    after += entries;
                }
                Followed::End => break,
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

/// The answer as Codex gave it: the text, and the same with the thread.
fn answered(thread: &str, last: Option<Last>) -> CallToolResult {
    let (content, failed) = match last {
        Some(Last { end: End::Failed, failure, .. }) => (failure.unwrap_or_default(), true),
        Some(Last { end: End::Interrupted, said, .. }) => (said, true),
        Some(Last { end: End::Completed, said, .. }) => (said, false),
        None => (codex::Error::Over.to_string(), true),
    };
    let structured = json!({"threadId": thread, "content": content});
    let blocks = vec![ContentBlock::text(content)];
    let mut result = if failed { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = Some(structured);
    if !failed {
        result.is_error = None;
    }
    result
}

fn failed(error: &codex::Error, given: &Map<String, Value>) -> CallToolResult {
    let text = match error {
        codex::Error::UnknownThread(thread) => format!("Session not found for thread_id: {thread}"),
        codex::Error::Store(source) => {
            tracing::error!(error = %source, "the store failed");
            "the hub's store failed; its log says more".to_owned()
        }
        // Where the program was looked for is the person's business.
        codex::Error::Missing { .. } => "codex was not found".to_owned(),
        other => other.to_string(),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text.clone())]);
    if let Some(thread) = given.get("threadId").or(given.get("conversationId")) {
        result.structured_content = Some(json!({"threadId": thread, "content": text}));
    }
    result
}
