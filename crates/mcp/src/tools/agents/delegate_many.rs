//! `delegate_many`: several tasks at once. What ends in time stands in the answer, the rest as handles.

use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::model::{CallToolResponse, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use super::patience::{self, LONGEST, Progress};
use super::{answer, arguments};
use crate::agents::{Request, Task, TaskId, Viewer};
use crate::mcp::arguments::{Fault, array, boolean, mistyped};
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, trace};

/// Tasks of one call.
pub(super) const MOST: usize = 50;

/// One of the tasks asked for.
enum Entry {
    Task(Box<Task>),
    Refused { agent: String, reason: String },
}

/// Delegates all, then waits as long as the caller does.
pub(super) async fn call(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let (requests, background) = match read(handler, revision, arguments) {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let agents = &handler.app().agents;
    let mut entries = Vec::with_capacity(requests.len());
    for mut request in requests {
        request.trace = trace::of(&context.meta).map(|trace| trace.environment()).unwrap_or_default();
        let agent = request.agent.clone();
        entries.push(match agents.delegate(request).await {
            Ok(task) => Entry::Task(Box::new(task)),
            Err(error) => Entry::Refused { agent, reason: answer::sentence(&error) },
        });
    }
    let ids = entries.iter().enumerate().filter_map(running);
    let _waiting = handler.app().awaited.enter(ids.map(|(_, id)| id.to_string()));
    if !background {
        wait(handler, revision, context, &mut entries).await;
    }
    for entry in &entries {
        if let Entry::Task(task) = entry {
            handler.delivered(task, &context.ct).await;
        }
    }
    Ok(answer(&entries, revision).into())
}

fn read(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
) -> Result<(Vec<Request>, bool), Fault> {
    let missing = || Fault {
        message: "argument `tasks` is missing".to_owned(),
        path: vec!["tasks".to_owned()],
        validator: "required",
        validator_value: Value::Null,
    };
    let tasks = array(arguments, "tasks")?.ok_or_else(missing)?;
    let count = |validator, limit: usize| Fault {
        message: format!("argument `tasks` must hold 1 to {MOST} tasks"),
        path: vec!["tasks".to_owned()],
        validator,
        validator_value: Value::from(limit),
    };
    match tasks.len() {
        0 => return Err(count("minItems", 1)),
        1..=MOST => {}
        _ => return Err(count("maxItems", MOST)),
    }
    let caller = handler.caller();
    let requests = tasks.iter().enumerate().map(|(position, task)| {
        let position = position.to_string();
        match task {
            Value::Object(task) => arguments::delegation(task, revision, &caller)
                .map_err(|fault| fault.below(&["tasks", &position])),
            _ => Err(mistyped(&position, "object").below(&["tasks"])),
        }
    });
    Ok((requests.collect::<Result<_, _>>()?, boolean(arguments, "background")?))
}

/// Waits for the tasks of `entries` and puts what they came to in their place.
async fn wait(
    handler: &Handler,
    revision: Revision,
    context: &RequestContext<RoleServer>,
    entries: &mut [Entry],
) {
    let agents = &handler.app().agents;
    let viewer = Viewer::Caller(handler.caller());
    let patience = patience::patience(handler, revision, context);
    let until = patience.map(|patience| Instant::now() + patience);
    let ids: Vec<(usize, TaskId)> = entries.iter().enumerate().filter_map(running).collect();
    let mut waiting: FuturesUnordered<_> = ids
        .iter()
        .map(|(place, id)| {
            let viewer = &viewer;
            async move { (*place, agents.wait(viewer, id, patience.unwrap_or(LONGEST)).await) }
        })
        .collect();
    let mut progress = Progress::new(context);
    let mut ended = 0_usize;
    loop {
        let pause = progress.tell(context).await;
        let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()).min(pause));
        tokio::select! {
            found = waiting.next() => match found {
                Some((place, Ok(task))) => {
                    ended += usize::from(task.state.is_ended());
                    let (agent, state) = (&task.agent, task.state.as_str());
                    progress.news(format!("{agent} {state}, {ended} of {} have ended", ids.len()));
                    entries[place] = Entry::Task(Box::new(task));
                }
                // The handle stays in its place.
                Some((_, Err(error))) => { answer::sentence(&error); }
                None => return,
            },
            () = tokio::time::sleep(left) => {
                if until.is_some_and(|until| Instant::now() >= until) {
                    return;
                }
            }
            () = context.ct.cancelled() => {
                if patience::given_up(handler, context).await {
                    for (_, id) in &ids {
                        // One that has ended stays as it is.
                        let _ = agents.cancel(&viewer, id).await;
                    }
                }
                return;
            }
        }
    }
}

fn running((place, entry): (usize, &Entry)) -> Option<(usize, TaskId)> {
    match entry {
        Entry::Task(task) => Some((place, task.id.clone())),
        Entry::Refused { .. } => None,
    }
}

fn answer(entries: &[Entry], revision: Revision) -> rmcp::model::CallToolResult {
    let mut texts = Vec::new();
    let mut results = Vec::new();
    let mut bad = 0;
    for (number, entry) in entries.iter().enumerate() {
        let number = number + 1;
        match entry {
            Entry::Task(task) => {
                bad += usize::from(answer::failed(task));
                let body = answer::texts(task, revision).join("\n\n");
                texts.push(format!("## {number}. {}: {}\n\n{body}", task.agent, task.state.as_str()));
                results.push(Value::Object(answer::structured(task)));
            }
            Entry::Refused { agent, reason } => {
                bad += 1;
                texts.push(format!("## {number}. {agent}: refused\n\n{reason}"));
                results.push(json!({"agent": agent, "status": "failed", "failure": {"class": "refused", "detail": reason}}));
            }
        }
    }
    let mut result = answer::plain(texts.into_iter().map(ContentBlock::text).collect());
    // One that failed does not make the others worthless.
    result.is_error = (bad == entries.len()).then_some(true);
    result.structured_content = Some(json!({"results": results}));
    result
}
