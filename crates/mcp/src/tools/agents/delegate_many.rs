//! `delegate_many`: several tasks at once. The answer has the results of the tasks that end in time, and handles of
//! the others.

use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ContentBlock};
use serde_json::{Map, Value, json};

use super::{arguments, result};
use crate::arguments::{Fault, array, boolean, mistyped};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::trace_meta;
use crate::wait;
use crate::wait::{MAX_WAIT, Progress};
use adjutant_agents::{Request, Task, TaskId, Viewer};

/// Tasks of one call.
pub(super) const MAX_TASKS: usize = 50;

/// One of the tasks asked for.
enum Entry {
    Task(Box<Task>),
    Refused { agent: String, reason: String },
}

/// Delegates all, then waits as long as the caller does.
pub(super) async fn call(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let (requests, background) = match read(call.client, call.revision, arguments) {
        Ok(read) => read,
        Err(fault) => return fault.answer(call.revision).map(CallToolResponse::from),
    };
    let agents = &call.client.app.agents;
    let mut entries = Vec::with_capacity(requests.len());
    for mut request in requests {
        request.trace =
            trace_meta::of(&call.request.meta).map(|trace| trace.environment()).unwrap_or_default();
        let agent = request.agent.clone();
        entries.push(match agents.delegate(request).await {
            Ok(task) => Entry::Task(Box::new(task)),
            Err(error) => Entry::Refused { agent, reason: result::sentence(&error) },
        });
    }
    let ids = entries.iter().enumerate().filter_map(running);
    let _waiting = call.client.app.waiters.register(ids.map(|(_, id)| id.to_string()));
    if !background {
        wait(call, &mut entries).await;
    }
    for entry in &entries {
        if let Entry::Task(task) = entry {
            call.client.delivered(task, &call.request.ct).await;
        }
    }
    Ok(answer(&entries, call.revision).into())
}

fn read(
    client: &ClientContext,
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
        message: format!("argument `tasks` must hold 1 to {MAX_TASKS} tasks"),
        path: vec!["tasks".to_owned()],
        validator,
        validator_value: Value::from(limit),
    };
    match tasks.len() {
        0 => return Err(count("minItems", 1)),
        1..=MAX_TASKS => {}
        _ => return Err(count("maxItems", MAX_TASKS)),
    }
    let caller = client.caller();
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
async fn wait(call: &CallContext<'_>, entries: &mut [Entry]) {
    let agents = &call.client.app.agents;
    let viewer = Viewer::Caller(call.client.caller());
    let limit = wait::wait_limit(call);
    let until = limit.map(|limit| Instant::now() + limit);
    let ids: Vec<(usize, TaskId)> = entries.iter().enumerate().filter_map(running).collect();
    let mut waiting: FuturesUnordered<_> = ids
        .iter()
        .map(|(place, id)| {
            let viewer = &viewer;
            async move { (*place, agents.wait(viewer, id, limit.unwrap_or(MAX_WAIT)).await) }
        })
        .collect();
    let mut progress = Progress::new(call.request);
    let mut ended = 0_usize;
    loop {
        let pause = progress.notify(call.request).await;
        let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()).min(pause));
        tokio::select! {
            found = waiting.next() => match found {
                Some((place, Ok(task))) => {
                    ended += usize::from(task.state.is_ended());
                    let (agent, state) = (&task.agent, task.state.as_str());
                    progress.set_line(format!("{agent} {state}, {ended} of {} have ended", ids.len()));
                    entries[place] = Entry::Task(Box::new(task));
                }
                // The handle stays in its place.
                Some((_, Err(error))) => { result::sentence(&error); }
                None => return,
            },
            () = tokio::time::sleep(left) => {
                if until.is_some_and(|until| Instant::now() >= until) {
                    return;
                }
            }
            () = call.request.ct.cancelled() => {
                if wait::cancelled_by_client(call).await {
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
                bad += usize::from(result::failed(task));
                let body = result::texts(task, revision).join("\n\n");
                texts.push(format!("## {number}. {}: {}\n\n{body}", task.agent, task.state.as_str()));
                results.push(Value::Object(result::structured(task)));
            }
            Entry::Refused { agent, reason } => {
                bad += 1;
                texts.push(format!("## {number}. {agent}: refused\n\n{reason}"));
                results.push(json!({"agent": agent, "status": "failed", "failure": {"class": "refused", "detail": reason}}));
            }
        }
    }
    let mut result = result::plain(texts.into_iter().map(ContentBlock::text).collect());
    // One that failed does not make the others worthless.
    result.is_error = (bad == entries.len()).then_some(true);
    result.structured_content = Some(json!({"results": results}));
    result
}
