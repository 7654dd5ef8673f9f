//! A task as a tool's result: the agent's message first, then the run report; both again as structured content.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::names::{GET, WAIT};
use crate::arguments::ArgumentError;
use crate::protocol_version::Revision;
use crate::tools::definition::success;
use adjutant_agents::run_report::Outcome;
use adjutant_agents::task::{Ending, State};
use adjutant_agents::{Error, Task};

/// Maximum bytes of a patch in the text; the structured content has the whole.
const MAX_PATCH: usize = 64 * 1024;

/// Maximum characters of a task's message in the result of another call.
const MAX_MESSAGE: usize = 8 * 1024;

/// The beginning of the hub's verdict in a result.
const VERDICT: &str = "Checks by the hub:";

/// The reason for which a call of this toolset has no result.
#[derive(Debug)]
pub(super) enum CallError {
    Argument(ArgumentError),
    Domain(Error),
}

impl From<ArgumentError> for CallError {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(error)
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Domain(error)
    }
}

/// Returns the result of a call that the domain refused, as a sentence that the model reads.
pub(super) fn failed_call(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(sentence(error))])
}

/// Returns the error as a sentence, and logs what only the log may know.
pub(super) fn sentence(error: &Error) -> String {
    if let Error::Store(source) = error {
        tracing::error!(error = %source, "the store failed");
    }
    error.to_string()
}

/// Returns the result about a task: the task's own result once it has ended, before that its state and the next step.
pub(crate) fn task_result(task: &Task, revision: Revision) -> CallToolResult {
    let mut result = success(texts(task, revision).into_iter().map(ContentBlock::text).collect());
    if is_error(task, revision) {
        result.is_error = Some(true);
    }
    if revision > Revision::V2024_11_05 {
        result.structured_content = Some(structured(task));
    }
    result
}

/// Returns an ended task for a client that did not wait for it: the message, and the tool that shows the rest.
pub(crate) fn ended_task(task: &Task) -> Value {
    let mut members = common(task);
    if let Some(outcome) = task.outcome.as_deref() {
        let message = outcome.message.as_deref().unwrap_or_default();
        members["message"] = Value::from(message.chars().take(MAX_MESSAGE).collect::<String>());
        if failed(task) {
            members["failure"] = Value::from(outcome.sentence());
        }
        members["summary"] = Value::from(outcome.summary());
        members["next"] = Value::from(format!("{GET} with this task_id shows the whole of it."));
    }
    members
}

/// Returns the members that every JSON of a task begins with.
fn common(task: &Task) -> Value {
    json!({"task_id": task.id.as_str(), "agent": task.agent, "status": task.state.as_str()})
}

/// Returns whether the result of a task is an error. At 2024-11-05 the verdict of the hub is in its text only.
pub(super) fn is_error(task: &Task, revision: Revision) -> bool {
    let is_refuted = || task.outcome.as_deref().is_some_and(Outcome::is_refuted);
    failed(task) || (revision > Revision::V2024_11_05 && is_refuted())
}

/// Returns whether a task has ended without success.
fn failed(task: &Task) -> bool {
    matches!(task.state, State::Ended(Ending::Failed | Ending::Cancelled | Ending::Lost))
}

/// Returns the text of a task, in blocks.
pub(super) fn texts(task: &Task, revision: Revision) -> Vec<String> {
    let Some(outcome) = task.outcome.as_deref() else { return vec![state_sentence(task)] };
    let message = outcome.message.clone().unwrap_or_default();
    let mut texts = Vec::new();
    if failed(task) {
        texts.push(outcome.sentence());
        if !message.is_empty() {
            texts.push(format!("Its last message was:\n\n{message}"));
        }
    } else {
        let report = &outcome.report;
        let verdict = format!("{VERDICT} {}.", outcome.verdict_text());
        let parts = match revision {
            // The contract's text begins with the agent's message, and is nothing else where no checks were asked for.
            Revision::V2024_11_05 if report.checks.is_empty() => vec![message],
            Revision::V2024_11_05 => vec![message, verdict],
            // An agent may write a verdict of the hub, which then gets the hub's own before it.
            _ if report.checks.is_empty()
                && report.read_only_changes().is_none()
                && !message.contains(VERDICT) =>
            {
                vec![message]
            }
            _ => vec![verdict, message],
        };
        texts.push(parts.join("\n\n"));
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

/// Returns the task as structured content.
pub(super) fn structured(task: &Task) -> Value {
    let mut value = common(task);
    if let Some(outcome) = task.outcome.as_deref() {
        // An outcome is made of maps with text keys, so it is a JSON object.
        if let (Some(members), Ok(Value::Object(more))) =
            (value.as_object_mut(), serde_json::to_value(outcome))
        {
            members.extend(more);
        }
        return value;
    }
    if let Some(position) = task.position {
        value["position"] = Value::from(position);
    }
    if let Some(reason) = &task.waiting_reason {
        value["waiting_reason"] = Value::from(reason.as_str());
    }
    value["next"] = Value::from(next_step(task));
    value
}

/// Returns a sentence about the state of a task that has no outcome yet.
fn state_sentence(task: &Task) -> String {
    let state = match (task.state, task.position, task.cancelling) {
        (State::Ended(ending), _, _) => format!("has ended: {}", ending.name()),
        (_, _, true) => "is being cancelled".to_owned(),
        (State::Queued, Some(position), _) => format!("is queued, position {position}"),
        (State::Queued, None, _) => "is queued".to_owned(),
        (State::Running, _, _) => format!("is running on {}", task.runner),
    };
    let reason = task.waiting_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("Task {} for agent `{}` {state}{reason}. {}", task.id, task.agent, next_step(task))
}

fn next_step(task: &Task) -> String {
    format!("Call {WAIT} with task_id {} to wait for its result; it continues in any case.", task.id)
}
