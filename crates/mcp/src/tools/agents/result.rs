//! A task as a tool's answer: the agent's message first, then the run report; both again as structured content.

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use super::names::{GET, WAIT};
use crate::protocol_version::Revision;
use adjutant_agents::task::{Ending, State};
use adjutant_agents::{Error, Task};

/// Most bytes of a patch that stand in the text; the structured content has the whole.
const MAX_PATCH: usize = 64 * 1024;

/// Characters of a task's message that go along with the answer to another call.
const MAX_MESSAGE: usize = 8 * 1024;

/// A result with this text, without `isError`: the contract shows none on success.
pub(super) fn plain(content: Vec<ContentBlock>) -> CallToolResult {
    let mut result = CallToolResult::success(content);
    result.is_error = None;
    result
}

/// What was refused, as a sentence that the model reads.
pub(super) fn refused(error: &Error) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(sentence(error))]).into()
}

/// The error as a sentence; what only the log may know is logged.
pub(super) fn sentence(error: &Error) -> String {
    if let Error::Store(source) = error {
        tracing::error!(error = %source, "the store failed");
    }
    error.to_string()
}

/// The answer about a task: its result once it has ended, else how far it is and what to call next.
pub(crate) fn of_task(task: &Task, revision: Revision) -> CallToolResult {
    let texts = texts(task, revision);
    let mut result = plain(texts.into_iter().map(ContentBlock::text).collect());
    if failed(task) {
        result.is_error = Some(true);
    }
    if revision > Revision::V2024_11_05 {
        result.structured_content = Some(Value::Object(structured(task)));
    }
    result
}

/// A task that has ended as news for who delegated it: its message, and where the rest is.
pub fn told(task: &Task) -> Value {
    let mut members = Map::new();
    members.insert("task_id".to_owned(), Value::from(task.id.as_str()));
    members.insert("agent".to_owned(), Value::from(task.agent.as_str()));
    members.insert("status".to_owned(), Value::from(task.state.as_str()));
    let Some(outcome) = task.outcome.as_deref() else { return Value::Object(members) };
    let message = outcome.message.as_deref().unwrap_or_default();
    members.insert("message".to_owned(), Value::from(message.chars().take(MAX_MESSAGE).collect::<String>()));
    if failed(task) {
        members.insert("failure".to_owned(), Value::from(outcome.sentence()));
    }
    members.insert("summary".to_owned(), Value::from(outcome.summary()));
    members.insert("next".to_owned(), Value::from(format!("{GET} with this task_id shows the whole of it.")));
    Value::Object(members)
}

/// Whether a task has ended without success.
pub(super) fn failed(task: &Task) -> bool {
    matches!(task.state, State::Ended(Ending::Failed | Ending::Cancelled | Ending::Lost))
}

/// What a reader of text gets, in blocks.
pub(super) fn texts(task: &Task, revision: Revision) -> Vec<String> {
    let Some(outcome) = task.outcome.as_deref() else { return vec![standing(task)] };
    let message = outcome.message.clone().unwrap_or_default();
    let mut texts = Vec::new();
    if failed(task) {
        texts.push(outcome.sentence());
        if !message.is_empty() {
            texts.push(format!("Its last message was:\n\n{message}"));
        }
    } else {
        texts.push(message);
    }
    if revision > Revision::V2024_11_05 {
        texts.push(format!("Run report of task {}: {}", task.id, outcome.summary()));
        let patch = outcome.report.repository.as_ref().and_then(|repository| repository.patch.as_deref());
        match patch {
            Some(patch) if patch.len() <= MAX_PATCH => {
                texts.push(format!("The change, for `git apply`:\n\n{patch}"));
            }
            Some(patch) => texts.push(format!(
                "The change is a patch of {} bytes, in `run_report.repository.patch` of the structured content.",
                patch.len()
            )),
            None => {}
        }
    }
    texts
}

/// The task as structured content.
pub(super) fn structured(task: &Task) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("task_id".to_owned(), Value::from(task.id.as_str()));
    members.insert("agent".to_owned(), Value::from(task.agent.as_str()));
    members.insert("status".to_owned(), Value::from(task.state.as_str()));
    if let Some(outcome) = task.outcome.as_deref() {
        // An outcome is made of maps with text keys, so it is a JSON object.
        if let Ok(Value::Object(told)) = serde_json::to_value(outcome) {
            members.extend(told);
        }
    } else {
        if let Some(position) = task.position {
            members.insert("position".to_owned(), Value::from(position));
        }
        members.insert("next".to_owned(), Value::from(next(task)));
    }
    members
}

/// Says where a task stands that has not ended.
pub(super) fn standing(task: &Task) -> String {
    let state = match (task.state, task.position, task.cancelling) {
        (State::Ended(ending), _, _) => format!("has ended: {}", ending.as_str()),
        (_, _, true) => "is being cancelled".to_owned(),
        (State::Queued, Some(position), _) => format!("is queued, position {position}"),
        (State::Queued, None, _) => "is queued".to_owned(),
        (State::Running, _, _) => format!("is running on {}", task.runner),
    };
    format!("Task {} for agent `{}` {state}. {}", task.id, task.agent, next(task))
}

fn next(task: &Task) -> String {
    format!("Call {WAIT} with task_id {} to wait for its result; it goes on in any case.", task.id)
}
