//! Undelivered answers and results of tasks, which no call waited for.
//!
//! They are appended to the next result of a call, each once, because no client starts a turn for a notification.

use std::time::Duration;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, RequestId};
use serde_json::{Map, Value};

use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::task_wire::accepts_tasks;
use crate::tools::agents::{self, TASKS};
use crate::tools::questions;
use crate::toolset::ToolsetSelection;

use adjutant_agents::Task;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::text::timefmt::millis;
use adjutant_questions::Question;

/// Items of each kind that one result carries; the next result carries more.
const BATCH_SIZE: u32 = 5;

/// How long a client that polls its tasks has for that before their results are appended here.
const POLL_GRACE: Duration = Duration::from_secs(30);

/// Appends to a tool's result what its caller has not received yet.
pub(crate) async fn append_undelivered(
    call: &CallContext<'_>,
    tool: &str,
    answer: CallToolResponse,
) -> CallToolResponse {
    // Without a name there is no telling one client over HTTP from another.
    let over_http = matches!(call.client.connected.kind, ConnectionKind::Http | ConnectionKind::HttpSession);
    let named = !over_http || call.client.connected.has_name();
    let CallToolResponse::Complete(result) = answer else { return answer };
    if !named || !call.client.is_read(&call.request.ct) || call.client.heard_all() {
        return CallToolResponse::Complete(result);
    }
    let written = call.client.app.write_generation();
    let before = if accepts_tasks(call) {
        millis(std::time::SystemTime::now()) - i64::try_from(POLL_GRACE.as_millis()).unwrap_or(i64::MAX)
    } else {
        i64::MAX
    };
    // The list of tasks says itself what nobody fetched, and the contract of 2024-11-05 knows no results but a call's own.
    let has_tasks = call.client.has(Toolset::Agents)
        && tool != TASKS
        && (call.revision > Revision::V2024_11_05 || call.client.selection == ToolsetSelection::All);
    let (answers, finished) = tokio::join!(answers(call.client, before), async {
        if has_tasks {
            finished(call.client, before).await
        } else {
            Undelivered { taken: Vec::new(), none_left: false }
        }
    });
    if answers.none_left && finished.none_left {
        call.client.heard(written);
    }
    let (answers, finished) = (answers.taken, finished.taken);
    if answers.is_empty() && finished.is_empty() {
        return CallToolResponse::Complete(result);
    }
    let mut result = unpack_preserialized(call.client, &call.request.id, result);
    let mut more = Map::new();
    if !answers.is_empty() {
        let told: Vec<Value> = answers.iter().map(questions::told).collect();
        let text = format!("The user has answered what you asked earlier: {}", Value::from(told.clone()));
        result.content.push(ContentBlock::text(text));
        more.insert("earlier_answers".to_owned(), Value::from(told));
    }
    if !finished.is_empty() {
        let told: Vec<Value> = finished.iter().map(agents::told).collect();
        let text = format!("Tasks that you delegated earlier have ended: {}", Value::from(told.clone()));
        result.content.push(ContentBlock::text(text));
        more.insert("finished_tasks".to_owned(), Value::from(told));
    }
    if call.revision > Revision::V2024_11_05
        && let Some(Value::Object(members)) = &mut result.structured_content
    {
        members.extend(more);
    }
    CallToolResponse::Complete(result)
}

/// The undelivered items of one kind.
struct Undelivered<T> {
    taken: Vec<T>,
    /// Nothing else is undelivered for this caller.
    none_left: bool,
}

/// Takes the person's answers that were given before `before`, in milliseconds since 1970.
async fn answers(client: &ClientContext, before: i64) -> Undelivered<Question> {
    if !client.has(Toolset::Questions) {
        return Undelivered { taken: Vec::new(), none_left: true };
    }
    let (questions, key) = (&client.app.questions, client.asker().key);
    let late = questions.undelivered(&key, BATCH_SIZE).await;
    let failed = late.is_err();
    let late = late.unwrap_or_else(|error| {
        tracing::warn!(%error, "answers that wait for their caller could not be read");
        Vec::new()
    });
    let (found, mut taken) = (late.len(), Vec::new());
    for question in late {
        let passed = question.state.outcome().is_some_and(|outcome| outcome.at < before);
        if passed
            && !client.app.waiters.has(question.ticket.as_str())
            && questions.mark_delivered(&key, &question.ticket).await
        {
            taken.push(question);
        }
    }
    Undelivered { none_left: found == 0 && !failed, taken }
}

/// Takes the tasks that ended before `before`.
async fn finished(client: &ClientContext, before: i64) -> Undelivered<Task> {
    let agents = &client.app.agents;
    let late = agents.undelivered(&client.caller(), BATCH_SIZE).await;
    let failed = late.is_err();
    let late = late.unwrap_or_else(|error| {
        tracing::warn!(%error, "results that wait for their caller could not be read");
        Vec::new()
    });
    let (found, mut taken) = (late.len(), Vec::new());
    for task in late {
        let passed = task.ended_at.is_some_and(|at| at < before);
        if passed && !client.app.waiters.has(task.id.as_str()) && agents.mark_delivered(&task.id).await {
            taken.push(task);
        }
    }
    Undelivered { none_left: found == 0 && !failed, taken }
}

/// Returns a result with its content, also where that was to go to the wire as bytes.
fn unpack_preserialized(
    client: &ClientContext,
    id: &RequestId,
    mut result: CallToolResult,
) -> CallToolResult {
    let prepared = client.connection.as_ref().and_then(|connection| connection.take_raw_result(id));
    if let Some(whole) = prepared.and_then(|prepared| prepared.to_call_tool_result()) {
        result.content = whole.content;
        result.structured_content = whole.structured_content;
    }
    result
}
