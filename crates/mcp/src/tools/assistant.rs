//! The five tools of the assistant contract: users, events, notifications, and planning; and those of newer clients, which
//! list users and change events.

mod arguments;
mod changes;
mod input_required;
mod listing;
mod names;
mod plan_notifications;
mod result;
mod sampling;
mod schemas;

use std::time::Duration;

use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult};
use serde_json::{Map, Value, json};

use crate::arguments::choice;
use crate::call_context::CallContext;
use crate::error;
use crate::input_required::InputResponse;
use crate::protocol_version::Revision;
use adjutant_assistant::notification::Status;
use adjutant_assistant::notifications::Due;
use adjutant_assistant::{Error, User, json};
use changes::permission_wait_limit;
pub(crate) use listing::event_occurrences;
use listing::{DAYS_BACK, DAYS_FORWARD, MAX_ENTRIES, NOTIFICATION_DAYS, listing, window, zone};
use names::{CANCEL, CONTRACT, CREATE, EVENT, EVENTS, NEWER, NOTIFICATIONS, PLAN, UPDATE, USER, USERS};
use result::{CallError, answer, failed_call};
pub use schemas::tools;

/// Calls a tool of this toolset. `response` is the client's response to an earlier round of the call. Returns `None` if
/// no tool has this name.
pub(crate) async fn call(
    call: &CallContext<'_>,
    name: &str,
    arguments: &Map<String, Value>,
    response: Option<&InputResponse>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let now = Timestamp::now();
    let config = &call.client.app.config.assistant;
    let asks = !config.advisers.is_empty();
    let waits = match name {
        PLAN if asks => config.planning_timeout,
        CREATE | UPDATE | CANCEL => permission_wait_limit(call),
        _ => Duration::ZERO,
    };
    let timeout = config.call_timeout + waits;
    let work = async {
        match name {
            USER => user(call, arguments).await.map(CallToolResponse::from),
            EVENT => event(call, arguments).await.map(CallToolResponse::from),
            EVENTS => events(call, arguments, now).await.map(CallToolResponse::from),
            NOTIFICATIONS => notifications(call, arguments, now).await.map(CallToolResponse::from),
            USERS => users(call).await.map(CallToolResponse::from),
            CREATE => Box::pin(changes::create(call, arguments, now)).await.map(CallToolResponse::from),
            UPDATE => Box::pin(changes::update(call, arguments, now)).await.map(CallToolResponse::from),
            CANCEL => Box::pin(changes::cancel(call, arguments, now)).await.map(CallToolResponse::from),
            // Boxed, because its future is larger than all others together.
            _ => Box::pin(plan_notifications::plan(call, arguments, response)).await,
        }
    };
    let is_newer = call.revision != Revision::V2024_11_05;
    if !(CONTRACT.contains(&name) || is_newer && NEWER.contains(&name)) {
        return None;
    }
    let error = match tokio::time::timeout(timeout, work).await {
        Ok(Ok(response)) => return Some(Ok(response)),
        Ok(Err(CallError::Argument(error))) => error.answer(call.revision),
        Ok(Err(CallError::Domain(argument, error))) => failed_call(argument, &error, call.revision),
        Ok(Err(CallError::Cancelled)) => Err(error::cancelled()),
        Ok(Err(CallError::Protocol(error))) => Err(error),
        Err(_) => error::tool_timed_out(call.revision, name, timeout),
    };
    Some(error.map(CallToolResponse::from))
}

async fn user(call: &CallContext<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, CallError> {
    let id = arguments::required_user(arguments)?;
    let user = call.client.app.assistant.user(&id).await.map_err(user_error)?;
    Ok(answer(call, &json::user(&user)))
}

async fn users(call: &CallContext<'_>) -> Result<CallToolResult, CallError> {
    let found = call.client.app.assistant.users(None, MAX_ENTRIES).await.map_err(user_error)?;
    let user = |user: &User| json!({"id": user.id.as_str(), "name": user.name, "time_zone": user.preferences.zone.name()});
    let users: Vec<Value> = found.iter().map(user).collect();
    Ok(answer(call, &json!({"count": users.len(), "users": users})))
}

async fn event(call: &CallContext<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, CallError> {
    let id = arguments::required_event(arguments)?;
    let assistant = &call.client.app.assistant;
    let failed = |error| CallError::Domain("event_id", error);
    let event = assistant.event(&id).await.map_err(failed)?;
    let zone = assistant.user(&event.user).await.map_err(failed)?.preferences.zone;
    Ok(answer(call, &json::event(&event, None, &zone)))
}

async fn events(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, CallError> {
    let user = arguments::user(arguments)?;
    let back = arguments::days(arguments, "days_back", 0, DAYS_BACK)?;
    let forward = arguments::days(arguments, "days_forward", 1, DAYS_FORWARD)?;
    let listing =
        listing(call.client, user.as_ref(), window(now, back, forward)).await.map_err(user_error)?;
    Ok(answer(call, &listing.json()))
}

async fn notifications(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, CallError> {
    let user = arguments::user(arguments)?;
    let status = choice(arguments, "status", Status::ALL, Status::name)?;
    let (from, until) = window(now, 0, arguments::days(arguments, "days_forward", 1, NOTIFICATION_DAYS)?);
    let zone = zone(call.client, user.as_ref()).await.map_err(user_error)?;
    let due = Due { user, status, from, until };
    let (found, more) =
        call.client.app.assistant.notifications(&due, MAX_ENTRIES).await.map_err(user_error)?;
    let notifications: Vec<Value> = found.iter().map(|one| json::notification(one, &zone)).collect();
    let mut value = json!({
        "count": notifications.len(),
        "from": json::time(from, &zone),
        "until": json::time(until, &zone),
        "time_zone": zone.name(),
        "notifications": notifications,
    });
    if more {
        value["more"] = Value::from(json::MORE);
    }
    Ok(answer(call, &value))
}

fn user_error(error: Error) -> CallError {
    CallError::Domain("user_id", error)
}
