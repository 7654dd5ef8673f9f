//! The five tools of the assistant contract: users, events, notifications, and planning.

mod arguments;
mod plan;
mod rounds;
mod schemas;
pub(crate) mod tell;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::assistant::agenda::{Happening, Span};
use crate::assistant::notices::Due;
use crate::assistant::notification::Status;
use crate::assistant::{Error, UserId, Zone};
use crate::mcp::arguments::{Fault, choice};
use crate::mcp::dialect::Revision;
use crate::mcp::edge::prepared::{Prepared, members};
use crate::mcp::tools::popups::Brought;
use crate::mcp::{Handler, error};
pub(crate) use schemas::tools;

pub(crate) const USER: &str = "getUser";
pub(crate) const EVENT: &str = "getEvent";
pub(crate) const EVENTS: &str = "listEvents";
pub(crate) const NOTIFICATIONS: &str = "listNotifications";
pub(crate) const PLAN: &str = "planNotifications";

/// Every tool, as an unknown name's error data shows them.
pub(crate) const NAMES: [&str; 5] = [USER, EVENT, EVENTS, NOTIFICATIONS, PLAN];

/// Entries of one answer; `more` says that there are others.
pub(crate) const MOST: u32 = 500;

/// Days that `listEvents` looks back and ahead, when nobody says, and at most.
const BACK: (u32, u32) = (2, 30);
const FORWARD: (u32, u32) = (30, 90);
/// Days that `listNotifications` looks ahead.
const AHEAD: (u32, u32) = (7, 30);

/// Who calls, and which call it is.
struct Call<'a> {
    handler: &'a Handler,
    revision: Revision,
    context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// The whole answer as text, and from 2025-06-18 on as structured content too.
    fn answer(&self, told: &impl Serialize) -> CallToolResult {
        let text = serde_json::to_string_pretty(told).unwrap_or_default();
        if !self.revision.has_titles() {
            return CallToolResult::success(vec![ContentBlock::text(text)]);
        }
        let Some(connection) = self.handler.connection() else {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = serde_json::to_value(told).ok();
            return result;
        };
        // A list of hundreds of events never becomes a tree of values.
        let json = serde_json::to_string(told).unwrap_or_default();
        connection.prepare(self.context.id.clone(), Prepared::Members(members(&text, &json)));
        CallToolResult::success(Vec::new())
    }
}

/// Why there is no answer.
enum Refused {
    Argument(Fault),
    /// By what the named argument names.
    Room(&'static str, Error),
    /// The client does not want the answer any more.
    TakenBack,
    /// By the protocol's own rules.
    Protocol(ErrorData),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Argument(fault)
    }
}

/// Calls one of the room's tools, with what an earlier round of it brought; `None` when `name` is none of them.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    name: &str,
    arguments: &Map<String, Value>,
    brought: Option<&Brought>,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let call = Call { handler, revision, context };
    let now = Timestamp::now();
    let config = &handler.app().config.assistant;
    let asks = name == PLAN && !config.advisers.is_empty();
    let patience = config.call_timeout + if asks { config.planning } else { Duration::ZERO };
    let work = async {
        match name {
            USER => user(&call, arguments).await.map(CallToolResponse::from),
            EVENT => event(&call, arguments).await.map(CallToolResponse::from),
            EVENTS => events(&call, arguments, now).await.map(CallToolResponse::from),
            NOTIFICATIONS => notifications(&call, arguments, now).await.map(CallToolResponse::from),
            // Boxed, for it is larger than all others together, and every call would carry it.
            _ => Box::pin(plan::plan(&call, arguments, brought)).await,
        }
    };
    if !NAMES.contains(&name) {
        return None;
    }
    let told = match tokio::time::timeout(patience, work).await {
        Ok(Ok(answer)) => return Some(Ok(answer)),
        Ok(Err(Refused::Argument(fault))) => fault.answer(revision),
        Ok(Err(Refused::Room(argument, refused))) => failed(argument, &refused, revision),
        Ok(Err(Refused::TakenBack)) => Err(error::cancelled()),
        Ok(Err(Refused::Protocol(error))) => Err(error),
        Err(_) => error::tool_timed_out(revision, name, patience),
    };
    Some(told.map(CallToolResponse::from))
}

fn failed(argument: &str, refused: &Error, revision: Revision) -> Result<CallToolResult, ErrorData> {
    if let Error::Store(source) = refused {
        tracing::error!(error = %source, "the store failed");
    }
    match refused {
        Error::Unknown { id, .. } => error::tool_found_nothing(revision, refused.to_string(), argument, id),
        Error::UnknownZone { .. }
        | Error::Invalid { .. }
        | Error::Taken { .. }
        | Error::Standing { .. }
        | Error::Damaged { .. }
        | Error::Calendar(_)
        | Error::Randomness
        | Error::Store(_) => error::tool_failed(revision, refused.to_string()),
    }
}

async fn user(call: &Call<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, Refused> {
    let id = arguments::that_user(arguments)?;
    let user =
        call.handler.app().assistant.user(&id).await.map_err(|refused| Refused::Room("user_id", refused))?;
    Ok(call.answer(&tell::user(&user)))
}

async fn event(call: &Call<'_>, arguments: &Map<String, Value>) -> Result<CallToolResult, Refused> {
    let id = arguments::that_event(arguments)?;
    let room = &call.handler.app().assistant;
    let refused = |refused| Refused::Room("event_id", refused);
    let event = room.event(&id).await.map_err(refused)?;
    let zone = room.user(&event.user).await.map_err(refused)?.preferences.zone;
    Ok(call.answer(&tell::event(&event, None, &zone)))
}

async fn events(
    call: &Call<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, Refused> {
    let user = arguments::user(arguments)?;
    let back = arguments::days(arguments, "days_back", 0, BACK)?;
    let forward = arguments::days(arguments, "days_forward", 1, FORWARD)?;
    let listing = listing(call.handler, user.as_ref(), window(now, back, forward))
        .await
        .map_err(|refused| Refused::Room("user_id", refused))?;
    Ok(call.answer(&listing.told()))
}

/// What happens in a window.
pub(crate) struct Listing {
    span: (Timestamp, Timestamp),
    zone: Zone,
    found: Vec<Happening>,
    more: bool,
}

impl Listing {
    pub(crate) fn told(&self) -> tell::ToldEvents<'_> {
        tell::events(&self.found, self.span, &self.zone, self.more)
    }
}

/// What happens to a user in the days that `listEvents` shows when nobody says which.
pub(crate) async fn happenings(handler: &Handler, user: &UserId, now: Timestamp) -> Result<Listing, Error> {
    listing(handler, Some(user), window(now, BACK.0, FORWARD.0)).await
}

fn window(now: Timestamp, back: u32, forward: u32) -> (Timestamp, Timestamp) {
    let days = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
    let from = now.saturating_sub(days(back)).unwrap_or(Timestamp::MIN);
    (from, now.saturating_add(days(forward)).unwrap_or(Timestamp::MAX))
}

async fn listing(
    handler: &Handler,
    user: Option<&UserId>,
    span: (Timestamp, Timestamp),
) -> Result<Listing, Error> {
    let zone = zone(handler, user).await?;
    let wanted = Span { user: user.cloned(), from: span.0, until: span.1 };
    let (found, more) = handler.app().assistant.happenings(&wanted, MOST).await?;
    Ok(Listing { span, zone, found, more })
}

/// The zone that times are told in: the user's, or UTC where the list is about everybody.
async fn zone(handler: &Handler, user: Option<&UserId>) -> Result<Zone, Error> {
    let Some(user) = user else { return Ok(Zone::utc()) };
    Ok(handler.app().assistant.user(user).await?.preferences.zone)
}

async fn notifications(
    call: &Call<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, Refused> {
    let user = arguments::user(arguments)?;
    let status = choice(arguments, "status", Status::ALL, Status::name)?;
    let (from, until) = window(now, 0, arguments::days(arguments, "days_forward", 1, AHEAD)?);
    let refused = |refused| Refused::Room("user_id", refused);
    let zone = zone(call.handler, user.as_ref()).await.map_err(refused)?;
    let due = Due { user, status, from, until };
    let found = call.handler.app().assistant.notifications(&due, MOST).await;
    let (found, more) = found.map_err(refused)?;
    let told: Vec<Value> = found.iter().map(|one| tell::notification(one, &zone)).collect();
    let mut value = json!({
        "count": told.len(),
        "from": tell::time(from, &zone),
        "until": tell::time(until, &zone),
        "time_zone": zone.name(),
        "notifications": told,
    });
    if more {
        value["more"] = Value::from(tell::MORE);
    }
    Ok(call.answer(&value))
}
