//! The five tools of the assistant contract: users, events, notifications, and planning.

mod arguments;
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
use adjutant_assistant::notification::Status;
use adjutant_assistant::notifications::Due;
pub(crate) use listing::event_occurrences;
use listing::{AHEAD, BACK, FORWARD, MOST, listing, window, zone};
use names::{EVENT, EVENTS, NAMES, NOTIFICATIONS, PLAN, USER};
use result::{Refused, answer, failed};
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
    let asks = name == PLAN && !config.advisers.is_empty();
    let patience = config.call_timeout + if asks { config.planning } else { Duration::ZERO };
    let work = async {
        match name {
            USER => user(call, arguments).await.map(CallToolResponse::from),
            EVENT => event(call, arguments).await.map(CallToolResponse::from),
            EVENTS => events(call, arguments, now).await.map(CallToolResponse::from),
            NOTIFICATIONS => notifications(call, arguments, now).await.map(CallToolResponse::from),
            // Boxed, for it is larger than all others together, and every call would carry it.
            _ => Box::pin(plan_notifications::plan(call, arguments, response)).await,
        }
    };
    if !NAMES.contains(&name) {
        return None;
    }
    let told = match tokio::time::timeout(patience, work).await {
        Ok(Ok(answer)) => return Some(Ok(answer)),
        Ok(Err(Refused::Argument(fault))) => fault.answer(call.revision),
        Ok(Err(Refused::Domain(argument, refused))) => failed(argument, &refused, call.revision),
        Ok(Err(Refused::TakenBack)) => Err(error::cancelled()),
        Ok(Err(Refused::Protocol(error))) => Err(error),
        Err(_) => error::tool_timed_out(call.revision, name, patience),
    };
    Some(told.map(CallToolResponse::from))
}

async fn user(call: &CallContext<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, Refused> {
    let id = arguments::that_user(arguments)?;
    let user =
        call.client.app.assistant.user(&id).await.map_err(|refused| Refused::Domain("user_id", refused))?;
    Ok(answer(call, &adjutant_assistant::json::user(&user)))
}

async fn event(call: &CallContext<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, Refused> {
    let id = arguments::that_event(arguments)?;
    let assistant = &call.client.app.assistant;
    let refused = |refused| Refused::Domain("event_id", refused);
    let event = assistant.event(&id).await.map_err(refused)?;
    let zone = assistant.user(&event.user).await.map_err(refused)?.preferences.zone;
    Ok(answer(call, &adjutant_assistant::json::event(&event, None, &zone)))
}

async fn events(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, Refused> {
    let user = arguments::user(arguments)?;
    let back = arguments::days(arguments, "days_back", 0, BACK)?;
    let forward = arguments::days(arguments, "days_forward", 1, FORWARD)?;
    let listing = listing(call.client, user.as_ref(), window(now, back, forward))
        .await
        .map_err(|refused| Refused::Domain("user_id", refused))?;
    Ok(answer(call, &listing.told()))
}

async fn notifications(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, Refused> {
    let user = arguments::user(arguments)?;
    let status = choice(arguments, "status", Status::ALL, Status::name)?;
    let (from, until) = window(now, 0, arguments::days(arguments, "days_forward", 1, AHEAD)?);
    let refused = |refused| Refused::Domain("user_id", refused);
    let zone = zone(call.client, user.as_ref()).await.map_err(refused)?;
    let due = Due { user, status, from, until };
    let found = call.client.app.assistant.notifications(&due, MOST).await;
    let (found, more) = found.map_err(refused)?;
    let told: Vec<Value> =
        found.iter().map(|one| adjutant_assistant::json::notification(one, &zone)).collect();
    let mut value = json!({
        "count": told.len(),
        "from": adjutant_assistant::json::time(from, &zone),
        "until": adjutant_assistant::json::time(until, &zone),
        "time_zone": zone.name(),
        "notifications": told,
    });
    if more {
        value["more"] = Value::from(adjutant_assistant::json::MORE);
    }
    Ok(answer(call, &value))
}
