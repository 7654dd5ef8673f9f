//! What happened while an agent was away: answers of the person and results of tasks that no call waited for. No
//! client wakes for a notification, so they go with the next answer to a call; each is told once.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, RequestId};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use crate::agents::Task;
use crate::app::clients::Transport;
use crate::clock::millis;
use crate::config::rooms::Room;
use crate::mcp::dialect::Revision;
use crate::mcp::tools::agents::{self, TASKS};
use crate::mcp::tools::popups;
use crate::mcp::{Handler, Server, tasks};
use crate::popups::Question;

/// Pieces of each kind that go with one answer; more go with the next.
const AT_ONCE: u32 = 5;

/// How long a client that asks after its tasks by itself has for it before it is told here.
const POLLED: Duration = Duration::from_secs(30);

/// Adds to a tool's result what its caller did not hear yet.
pub(crate) async fn with_news(
    handler: &Handler,
    revision: Revision,
    tool: &str,
    context: &RequestContext<RoleServer>,
    answer: CallToolResponse,
) -> CallToolResponse {
    // Without a name there is no telling one client over HTTP from another.
    let over_http = matches!(handler.connected().transport, Transport::Http | Transport::HttpSession);
    let named = !over_http || handler.connected().says_its_name();
    let CallToolResponse::Complete(result) = answer else { return answer };
    if !named || !handler.is_read(&context.ct) || handler.heard_all() {
        return CallToolResponse::Complete(result);
    }
    let written = handler.app().written();
    let before = if tasks::declared(revision, context) {
        millis(std::time::SystemTime::now()) - i64::try_from(POLLED.as_millis()).unwrap_or(i64::MAX)
    } else {
        i64::MAX
    };
    // The list of tasks says itself what nobody fetched, and the contract of 2024-11-05 knows no results but a call's own.
    let has_tasks = handler.has(Room::Agents)
        && tool != TASKS
        && (revision > Revision::V2024_11_05 || handler.server() == Server::All);
    let (answers, finished) = tokio::join!(answers(handler, before), async {
        if has_tasks { finished(handler, before).await } else { Late { taken: Vec::new(), none_left: false } }
    });
    if answers.none_left && finished.none_left {
        handler.heard(written);
    }
    let (answers, finished) = (answers.taken, finished.taken);
    if answers.is_empty() && finished.is_empty() {
        return CallToolResponse::Complete(result);
    }
    let mut result = whole(handler, &context.id, result);
    let mut more = Map::new();
    if !answers.is_empty() {
        let told: Vec<Value> = answers.iter().map(popups::told).collect();
        let text = format!("The person has answered what you asked earlier: {}", Value::from(told.clone()));
        result.content.push(ContentBlock::text(text));
        more.insert("earlier_answers".to_owned(), Value::from(told));
    }
    if !finished.is_empty() {
        let told: Vec<Value> = finished.iter().map(agents::told).collect();
        let text = format!("Tasks that you delegated earlier have ended: {}", Value::from(told.clone()));
        result.content.push(ContentBlock::text(text));
        more.insert("finished_tasks".to_owned(), Value::from(told));
    }
    if revision > Revision::V2024_11_05
        && let Some(Value::Object(members)) = &mut result.structured_content
    {
        members.extend(more);
    }
    CallToolResponse::Complete(result)
}

/// News of one kind.
struct Late<T> {
    taken: Vec<T>,
    /// Nothing waits for this caller but what was taken.
    none_left: bool,
}

/// Takes the person's answers that were given before `before`, in milliseconds since 1970.
async fn answers(handler: &Handler, before: i64) -> Late<Question> {
    if !handler.has(Room::Popups) {
        return Late { taken: Vec::new(), none_left: true };
    }
    let (popups, key) = (&handler.app().popups, handler.asker().key);
    let late = popups.undelivered(&key, AT_ONCE).await;
    let failed = late.is_err();
    let late = late.unwrap_or_else(|error| {
        tracing::warn!(%error, "answers that wait for their caller could not be read");
        Vec::new()
    });
    let (found, mut taken) = (late.len(), Vec::new());
    for question in late {
        let passed = question.state.outcome().is_some_and(|outcome| outcome.at < before);
        if passed
            && !handler.app().awaited.has(question.ticket.as_str())
            && popups.delivered(&key, &question.ticket).await
        {
            taken.push(question);
        }
    }
    Late { none_left: found == 0 && !failed, taken }
}

/// Takes the tasks that ended before `before`.
async fn finished(handler: &Handler, before: i64) -> Late<Task> {
    let agents = &handler.app().agents;
    let late = agents.undelivered(&handler.caller(), AT_ONCE).await;
    let failed = late.is_err();
    let late = late.unwrap_or_else(|error| {
        tracing::warn!(%error, "results that wait for their caller could not be read");
        Vec::new()
    });
    let (found, mut taken) = (late.len(), Vec::new());
    for task in late {
        let passed = task.ended_at.is_some_and(|at| at < before);
        if passed && !handler.app().awaited.has(task.id.as_str()) && agents.delivered(&task.id).await {
            taken.push(task);
        }
    }
    Late { none_left: found == 0 && !failed, taken }
}

/// Returns a result with its content, also where that was to go to the wire as bytes.
fn whole(handler: &Handler, id: &RequestId, mut result: CallToolResult) -> CallToolResult {
    let prepared = handler.connection().and_then(|connection| connection.take_prepared(id));
    if let Some(whole) = prepared.and_then(|prepared| prepared.unpacked()) {
        result.content = whole.content;
        result.structured_content = whole.structured_content;
    }
    result
}
