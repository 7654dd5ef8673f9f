//! `createEvent`, `updateEvent` and `cancelEvent`: changes of a calendar that the user allows one by one.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::arguments;
use super::result::{CallError, answer};
use crate::arguments::{ArgumentError, required_string, string};
use crate::call_context::CallContext;
use crate::call_timeout::{MAX_WAIT, Progress};
use crate::error;
use crate::tools::questions;
use adjutant_app::calendar_changes::Permission;
use adjutant_app::calendar_writes;
use adjutant_assistant::calendar::{Change, EventEdit, EventTime};
use adjutant_assistant::own_events::{self, EventSource};
use adjutant_assistant::{Error, Event, Zone, json, plain_dates};

/// The actor in the audit.
const ACTOR: &str = "client that the user allowed it";

/// Returns how long a call waits for the user's permission.
pub(super) fn permission_wait_limit(call: &CallContext<'_>) -> Duration {
    questions::answer_wait_limit(call).unwrap_or(MAX_WAIT)
}

/// Adds an event.
pub(super) async fn create(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, CallError> {
    let assistant = &call.client.app.assistant;
    let id = arguments::required_user(arguments)?;
    let title = required_string(arguments, "title")?;
    let failed = |error| CallError::Domain("user_id", error);
    let user = assistant.user(&id).await.map_err(failed)?;
    let zone = &user.preferences.zone;
    let dated = plain_dates::parse_alone(
        required_string(arguments, "when")?,
        &now.to_zoned(zone.rules().clone()),
        None,
    );
    let time = dated.and_then(|dated| dated.event_time(zone, None)).map_err(unread)?;
    let edit = EventEdit { title: Some(title.to_owned()), time: Some(time), ..texts(arguments)? };
    own_events::check(&edit).map_err(failed)?;
    let message = format!("{} wants to add an event:\n\n{}", client(call), described(&edit, None));
    let (app, zone) = (call.client.app.clone(), zone.clone());
    let change = async move { app.add_event(&user, None, &edit, now).await };
    Box::pin(changed(call, &zone, ("Add an event?", message), change)).await
}

/// Changes an event.
pub(super) async fn update(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, CallError> {
    let source = named_event(call, arguments).await?;
    let zone = &source.user.preferences.zone;
    let time = match string(arguments, "when", false)? {
        Some(when) => Some(own_events::moved_to(when, zone, &source.event, now).map_err(unread)?),
        None => None,
    };
    let title = string(arguments, "title", false)?.map(str::to_owned);
    let edit = EventEdit { title, time, ..texts(arguments)? };
    let change = Change::Edit(edit.clone());
    source.check(&change).map_err(in_event)?;
    let old = described(&EventEdit::default(), Some((&source.event, zone)));
    let message = format!("{} wants to change\n\n{old}\n\nto\n\n{}", client(call), described(&edit, None));
    let (app, zone) = (call.client.app.clone(), zone.clone());
    let change = async move {
        app.change_event(&source, &change, now).await?;
        Ok(app.assistant.event(&source.event.id).await?)
    };
    Box::pin(changed(call, &zone, ("Change an event?", message), change)).await
}

/// Cancels an event.
pub(super) async fn cancel(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<CallToolResult, CallError> {
    let source = named_event(call, arguments).await?;
    let zone = &source.user.preferences.zone;
    let what = described(&EventEdit::default(), Some((&source.event, zone)));
    let message = format!("{} wants to cancel\n\n{what}", client(call));
    let (app, zone) = (call.client.app.clone(), zone.clone());
    let change = async move {
        app.cancel_event(&source, ACTOR, now).await?;
        Ok(app.assistant.event(&source.event.id).await?)
    };
    Box::pin(changed(call, &zone, ("Cancel an event?", message), change)).await
}

/// Returns the event that the arguments name, which must be writable.
async fn named_event(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<EventSource, CallError> {
    let id = arguments::required_event(arguments)?;
    call.client.app.assistant.writable_event(&id).await.map_err(in_event)
}

fn in_event(error: Error) -> CallError {
    CallError::Domain("event_id", error)
}

/// Returns the result of a change that failed.
fn unchanged(error: calendar_writes::Error) -> Result<CallToolResult, CallError> {
    match error {
        calendar_writes::Error::Assistant(error) => Err(in_event(error)),
        error => {
            let data = error::validation(&[], "execution", &Value::Null);
            let effect = match error {
                calendar_writes::Error::Sync(_) | calendar_writes::Error::Outbound(_) => {
                    "the server may have changed the event; read it with getEvent before you call again"
                }
                _ => "nothing was changed",
            };
            Ok(error::error_result(format!("{effect}: {error}"), data))
        }
    }
}

fn client(call: &CallContext<'_>) -> String {
    let name = call.client.connected.name();
    if name.is_empty() { "A client".to_owned() } else { format!("`{}`", error::clip(name)) }
}

fn texts(arguments: &Map<String, Value>) -> Result<EventEdit, ArgumentError> {
    let text = |name| Ok::<_, ArgumentError>(string(arguments, name, false)?.map(str::to_owned));
    Ok(EventEdit { location: text("location")?, description: text("description")?, ..EventEdit::default() })
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn unread(error: plain_dates::Error) -> CallError {
    let reason = format!("cannot be read: {error}");
    CallError::Argument(ArgumentError::new("when", &reason, "format", "date-time"))
}

/// Returns the title and the time of the event, and the new properties of the edit, one a line. All lines are quoted,
/// because others may have written them.
fn described(edit: &EventEdit, event: Option<(&Event, &Zone)>) -> String {
    let quoted = |text: &str| text.lines().map(|line| format!("> {line}  \n")).collect::<Vec<_>>().concat();
    let mut lines = String::new();
    let mut add = |name: &str, text: &str| {
        // A line of a text is marked, or it would look like a property.
        let text = text.lines().collect::<Vec<_>>().join("\n… ");
        lines.push_str(&quoted(&format!("{name}: {}", if text.is_empty() { "(removed)" } else { &text })));
    };
    if let Some((event, zone)) = event {
        add("Title", &event.title);
        let [start, end] = [event.starts_at, event.ends_at].map(|at| zone.civil(at));
        add(
            "Time",
            &format!(
                "{} to {} ({zone})",
                start.strftime("%A, %Y-%m-%d %H:%M"),
                end.strftime("%Y-%m-%d %H:%M")
            ),
        );
    }
    if let Some(title) = &edit.title {
        add("Title", title);
    }
    if let Some(EventTime { start, end, all_day, zone }) = &edit.time {
        let first = start.strftime("%A, %Y-%m-%d");
        let time = if *all_day {
            format!("{first} to before {}", end.strftime("%Y-%m-%d"))
        } else {
            format!("{first} {} to {} ({zone})", start.strftime("%H:%M"), end.strftime("%Y-%m-%d %H:%M"))
        };
        add("Time", &time);
    }
    for (name, text) in [("Place", &edit.location), ("Description", &edit.description)] {
        if let Some(text) = text {
            add(name, text);
        }
    }
    lines
}

/// Makes a change if the user allows it, or without a question for a trusted client. When the call ends before the user
/// has decided, the hub waits on and makes the change.
async fn changed(
    call: &CallContext<'_>,
    zone: &Zone,
    (title, message): (&str, String),
    change: impl Future<Output = Result<Event, calendar_writes::Error>> + Send + 'static,
) -> Result<CallToolResult, CallError> {
    let client = call.client;
    let app = &client.app;
    let refused = |why: &str| {
        let data = error::validation(&[], "permission", &Value::Null);
        Ok(error::error_result(format!("nothing was changed: {why}"), data))
    };
    let permission = if app.trusts_with_calendars(client.connected.name(), &client.origin()) {
        Permission::Granted(change.await)
    } else {
        if app.listening.socket.get().is_none() && app.listening.http.get().is_none() {
            return refused("the user is asked by the hub; connect with `adjutant connect assistant`");
        }
        client.note_question(call.request);
        let withdrawn = CancellationToken::new();
        let texts = (title.to_owned(), message);
        let work = app.clone().change_with_permission(client.asker(), texts, withdrawn.clone(), change);
        let mut work = Box::pin(work);
        let end = Instant::now() + permission_wait_limit(call);
        let mut progress = Progress::new(call.request);
        progress.set_line("waiting for the user".to_owned());
        let permission = loop {
            let left = end.saturating_duration_since(Instant::now());
            let pause = progress.notify(call.request).await.min(left);
            tokio::select! {
                permission = &mut work => break permission,
                () = call.request.ct.cancelled(), if !withdrawn.is_cancelled() => withdrawn.cancel(),
                () = tokio::time::sleep(pause) => {}
            }
            if left.is_zero() {
                // It ends with its question.
                tokio::spawn(work);
                return refused("the user has not answered yet; the change is made when they allow it");
            }
        };
        match permission {
            Ok(permission) => permission,
            Err(error) => return refused(&error.to_string()),
        }
    };
    match permission {
        Permission::Granted(Ok(event)) => Ok(answer(call, &json::event(&event, None, zone))),
        Permission::Granted(Err(error)) => unchanged(error),
        Permission::Used => {
            refused("the user allowed it once, and another call in the same words makes the change")
        }
        Permission::Denied(None) => refused("the user does not want it"),
        Permission::Denied(Some(note)) => refused(&format!("the user does not want it, and says: {note}")),
        Permission::Expired => refused("the user did not answer in time"),
        Permission::Withdrawn => Err(CallError::Cancelled),
    }
}
