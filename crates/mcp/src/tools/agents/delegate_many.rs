//! `delegate_many`: several tasks at once. The result has the results of the tasks that end in time, and the ids of
//! the others.

use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::result::CallError;
use super::{arguments, result};
use crate::arguments::{ArgumentError, array, boolean};
use crate::call_context::CallContext;
use crate::call_timeout::{MAX_WAIT, Progress, cancelled_by_client, task_wait_limit};
use crate::protocol_version::Revision;
use crate::tools::definition::success;
use adjutant_agents::{Request, Task, TaskId, Viewer};

/// Tasks of one call.
pub(super) const MAX_TASKS: usize = 50;

/// One of the requested tasks.
enum Entry {
    Task(Box<Task>),
    Refused { agent: String, reason: String },
}

/// Delegates all tasks, then waits as long as the caller does.
pub(super) async fn call(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let requests = requests(call, arguments)?;
    let background = boolean(arguments, "background")?;
    let agents = &call.client.app.agents;
    let mut entries = Vec::with_capacity(requests.len());
    for request in requests {
        let agent = request.agent.clone();
        entries.push(match agents.delegate(request).await {
            Ok(task) => Entry::Task(Box::new(task)),
            Err(error) => Entry::Refused { agent, reason: result::sentence(&error) },
        });
    }
    let ids = entries.iter().enumerate().filter_map(delegated);
    let _waiting = call.client.app.waiters.register(ids.map(|(_, id)| id.to_string()));
    if !background {
        wait(call, &mut entries).await;
    }
    for entry in &entries {
        if let Entry::Task(task) = entry {
            call.client.mark_delivered(task, call.request).await;
        }
    }
    Ok(combined(&entries, call.revision))
}

fn requests(call: &CallContext<'_>, arguments: &Map<String, Value>) -> Result<Vec<Request>, ArgumentError> {
    let tasks = array(arguments, "tasks")?.ok_or_else(|| ArgumentError::missing("tasks"))?;
    let count = |validator, limit: usize| {
        ArgumentError::new("tasks", &format!("must hold 1 to {MAX_TASKS} tasks"), validator, limit)
    };
    match tasks.len() {
        0 => return Err(count("minItems", 1)),
        1..=MAX_TASKS => {}
        _ => return Err(count("maxItems", MAX_TASKS)),
    }
    let request = |(position, task): (usize, &Value)| {
        let position = position.to_string();
        match task {
            Value::Object(task) => {
                arguments::delegation(call, task).map_err(|error| error.below(&["tasks", &position]))
            }
            _ => Err(ArgumentError::wrong_type(&position, "object").below(&["tasks"])),
        }
    };
    tasks.iter().enumerate().map(request).collect()
}

/// Waits for the tasks of `entries`, and replaces each with its last state.
async fn wait(call: &CallContext<'_>, entries: &mut [Entry]) {
    let agents = &call.client.app.agents;
    let viewer = Viewer::Caller(call.client.caller());
    let limit = task_wait_limit(call);
    let until = limit.map(|limit| Instant::now() + limit);
    let ids: Vec<(usize, TaskId)> = entries.iter().enumerate().filter_map(delegated).collect();
    let mut waiting: FuturesUnordered<_> = ids
        .iter()
        .map(|(position, id)| {
            let viewer = &viewer;
            async move { (*position, agents.wait(viewer, id, limit.unwrap_or(MAX_WAIT)).await) }
        })
        .collect();
    let mut progress = Progress::new(call.request);
    let mut ended = 0_usize;
    loop {
        let pause = progress.notify(call.request).await;
        let pause = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()).min(pause));
        tokio::select! {
            ended_wait = waiting.next() => match ended_wait {
                Some((position, Ok(task))) => {
                    ended += usize::from(task.state.is_ended());
                    let (agent, state) = (&task.agent, task.state.as_str());
                    progress.set_line(format!("{agent} {state}, {ended} of {} have ended", ids.len()));
                    entries[position] = Entry::Task(Box::new(task));
                }
                // The entry stays as it is.
                Some((_, Err(error))) => { result::sentence(&error); }
                None => return,
            },
            () = tokio::time::sleep(pause) => {
                if until.is_some_and(|until| Instant::now() >= until) {
                    return;
                }
            }
            () = call.request.ct.cancelled() => {
                if cancelled_by_client(call).await {
                    for (_, id) in &ids {
                        // A task that has ended stays as it is.
                        let _ = agents.cancel(&viewer, id).await;
                    }
                }
                return;
            }
        }
    }
}

fn delegated((position, entry): (usize, &Entry)) -> Option<(usize, TaskId)> {
    match entry {
        Entry::Task(task) => Some((position, task.id.clone())),
        Entry::Refused { .. } => None,
    }
}

fn combined(entries: &[Entry], revision: Revision) -> CallToolResult {
    let mut texts = Vec::new();
    let mut results = Vec::new();
    let mut failures = 0;
    for (number, entry) in entries.iter().enumerate() {
        let number = number + 1;
        match entry {
            Entry::Task(task) => {
                failures += usize::from(result::is_error(task, revision));
                let body = result::texts(task, revision).join("\n\n");
                texts.push(format!("## {number}. {}: {}\n\n{body}", task.agent, task.state.as_str()));
                results.push(result::structured(task));
            }
            Entry::Refused { agent, reason } => {
                failures += 1;
                texts.push(format!("## {number}. {agent}: refused\n\n{reason}"));
                results.push(json!({"agent": agent, "status": "failed", "failure": {"class": "refused", "detail": reason}}));
            }
        }
    }
    let mut result = success(texts.into_iter().map(ContentBlock::text).collect());
    // One failed task does not make the results of the others an error.
    result.is_error = (failures == entries.len()).then_some(true);
    result.structured_content = Some(json!({"results": results}));
    result
}
