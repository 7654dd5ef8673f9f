//! Answers and results of tasks that no call waited for.
//!
//! They are appended to the next result of a call, each once, because no client starts a turn for a notification.

use std::time::Duration;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, RequestId};
use serde_json::Value;

use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::task_wire::accepts_tasks;
use crate::tools::agents::{self, TASKS};
use crate::tools::questions;
use crate::tools::questions::answer_files;
use crate::toolset::ToolsetSelection;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::text::timefmt::millis;
use adjutant_questions::Question;

/// Items of each kind that one result carries; the next result carries more.
const BATCH_SIZE: u32 = 5;

/// Time for a client that polls its tasks to fetch their results, before they are appended here.
const POLL_GRACE: Duration = Duration::from_secs(30);

/// Appends to a tool's result what its caller has not received yet. `workspace` is the one that the call names.
pub(crate) async fn append_undelivered(
    call: &CallContext<'_>,
    tool: &str,
    workspace: &str,
    response: CallToolResponse,
) -> CallToolResponse {
    let client = call.client;
    // Clients of the hub's own token can be distinguished only by their names.
    let over_http = matches!(client.connected.kind, ConnectionKind::Http | ConnectionKind::HttpSession);
    let is_known = !over_http || client.has_own_token() || client.connected.has_name();
    let workspace = workspace.trim_end_matches('/');
    let CallToolResponse::Complete(result) = response else { return response };
    if !is_known && workspace.is_empty()
        || !client.is_read(&call.request.ct)
        || client.is_up_to_date(workspace)
    {
        return CallToolResponse::Complete(result);
    }
    let generation = client.app.write_generation();
    let before = if accepts_tasks(call) {
        millis(std::time::SystemTime::now()) - i64::try_from(POLL_GRACE.as_millis()).unwrap_or(i64::MAX)
    } else {
        i64::MAX
    };
    // The list of tasks names the unfetched ones, and a client of the 2024-11-05 contract gets only results of its calls.
    let has_tasks = is_known
        && client.has(Toolset::Agents)
        && tool != TASKS
        && (call.revision > Revision::V2024_11_05 || client.selection == ToolsetSelection::All);
    let (answers, tasks) = tokio::join!(answers(call, workspace, before), async {
        if has_tasks { ended_tasks(call, before).await } else { Undelivered::default() }
    });
    if answers.none_left && tasks.none_left {
        client.mark_up_to_date(workspace, generation);
    }
    let kinds = [
        ("earlier_answers", "The user has answered what you asked earlier", answers.items),
        ("finished_tasks", "Tasks that you delegated earlier have ended", tasks.items),
    ];
    if kinds.iter().all(|(_, _, items)| items.is_empty()) {
        return CallToolResponse::Complete(result);
    }
    let mut result = unpack_preserialized(client, &call.request.id, result);
    for (member, heading, items) in kinds {
        if items.is_empty() {
            continue;
        }
        let items = Value::from(items);
        result.content.push(ContentBlock::text(format!("{heading}: {items}")));
        if call.revision > Revision::V2024_11_05
            && let Some(Value::Object(members)) = &mut result.structured_content
        {
            members.insert(member.to_owned(), items);
        }
    }
    CallToolResponse::Complete(result)
}

/// The undelivered items of one kind, as JSON.
#[derive(Default)]
struct Undelivered {
    items: Vec<Value>,
    /// Nothing else is undelivered for this caller.
    none_left: bool,
}

/// Takes the user's answers that were given before `before`, in milliseconds since 1970. A client without a session gets
/// those to its token in the workspace that the call names; the hub's own token has many clients without a workspace.
async fn answers(call: &CallContext<'_>, workspace: &str, before: i64) -> Undelivered {
    let (client, asker) = (call.client, call.client.asker());
    let workspace = asker.session.is_empty().then_some(workspace);
    if !client.has(Toolset::Questions) || workspace == Some("") && !client.has_own_token() {
        return Undelivered { items: Vec::new(), none_left: true };
    }
    let is_due = |question: &Question| {
        question.state.outcome().is_some_and(|outcome| outcome.at < before)
            && !client.app.waiters.has(question.ticket.as_str())
    };
    let claimed = client.app.questions.claim_undelivered(&asker.key, workspace, BATCH_SIZE, is_due).await;
    let (claimed, none_left) = claimed.unwrap_or_else(|error| {
        tracing::warn!(%error, "undelivered answers could not be read");
        (Vec::new(), false)
    });
    let mut items = Vec::new();
    for (question, claim) in claimed {
        let files = answer_files::given(client, &question, call.revision).await;
        items.push(questions::decided_question(&question, files));
        client.deliver_claimed(call.request, claim).await;
    }
    Undelivered { items, none_left }
}

/// Takes the tasks that ended before `before`.
async fn ended_tasks(call: &CallContext<'_>, before: i64) -> Undelivered {
    let client = call.client;
    let (undelivered, none_left) = read(client.app.agents.undelivered(&client.caller(), BATCH_SIZE).await);
    let mut items = Vec::new();
    for task in undelivered {
        let is_due = task.ended_at.is_some_and(|at| at < before);
        if is_due
            && !client.app.waiters.has(task.id.as_str())
            && client.mark_delivered(&task, call.request).await
        {
            items.push(agents::ended_task(&task));
        }
    }
    Undelivered { items, none_left }
}

/// Returns the items that were read, and whether there are none. After an error there may be some.
fn read<T>(items: Result<Vec<T>, impl std::fmt::Display>) -> (Vec<T>, bool) {
    match items {
        Ok(items) => {
            let none_left = items.is_empty();
            (items, none_left)
        }
        Err(error) => {
            tracing::warn!(%error, "undelivered items could not be read");
            (Vec::new(), false)
        }
    }
}

/// Returns a result with its content, even if that was to be written as bytes.
fn unpack_preserialized(
    client: &ClientContext,
    id: &RequestId,
    mut result: CallToolResult,
) -> CallToolResult {
    let raw = client.connection.as_ref().and_then(|connection| connection.take_raw_result(id));
    if let Some(whole) = raw.and_then(|raw| raw.to_call_tool_result()) {
        result.content = whole.content;
        result.structured_content = whole.structured_content;
    }
    result
}
