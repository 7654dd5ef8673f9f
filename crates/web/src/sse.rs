//! One stream of server-sent events per open page: it names the sections that changed, and the script reloads them. A
//! page about one task also gets the task's lines as they are written.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::error::Failure;
use super::pages;
use super::request::Address;
use adjutant_agents::{TaskId, Viewer};
use adjutant_app::App;
use adjutant_base::events::Event;

/// Maximum streams at once: far more tabs than a user reads, and few enough to cost nothing.
static STREAMS: Semaphore = Semaphore::const_new(1024);

/// The average interval of messages. A few may come sooner, because a question must appear the moment it is asked, even
/// after another change.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(200);

/// Messages that may come before their interval.
const BURST: u32 = 4;

/// A comment is sent this often, so that a dead connection is noticed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// Maximum lines of a task in one message.
const BATCH_SIZE: u32 = 200;

/// Time to wait for a line of a task before its events are read again.
const LINE_TIMEOUT: Duration = Duration::from_hours(1);

/// A live part of a page; its name is in the page's `data-live`.
type Section = &'static str;
const ALL: [Section; 9] =
    ["activity", "agenda", "agents", "clients", "codex", "prompts", "questions", "toolsets", "tasks"];

#[derive(Deserialize)]
pub(super) struct Subject {
    /// The task that the page shows the lines of.
    task: Option<String>,
    /// The number of the last line on the page.
    #[serde(default)]
    after: i64,
}

struct Stream {
    app: Arc<App>,
    events: Receiver<Event>,
    /// Changed sections that were not sent yet, and when to send them.
    changed: BTreeSet<Section>,
    due: Option<Instant>,
    /// The end of the intervals of all messages so far.
    intervals_end: Instant,
    /// The task of the page, and the number of the last line that was sent.
    followed: Option<(TaskId, i64)>,
    greeted: bool,
    _permit: SemaphorePermit<'static>,
}

/// Answers with the stream. Its messages are `changed`, with the names of sections as data, and `lines`, with items
/// of a task's list and the number of the last one as id.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Address(Subject { task, after }): Address<Subject>,
    headers: HeaderMap,
) -> Response {
    let Ok(permit) = STREAMS.try_acquire() else { return Failure::Busy.into_response() };
    // A browser that reconnects sends the id of the last message.
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let state = Stream {
        events: app.events.subscribe(),
        app,
        changed: BTreeSet::new(),
        due: None,
        intervals_end: Instant::now(),
        followed: task.and_then(|id| Some((TaskId::parse(&id)?, resumed.unwrap_or(after)))),
        greeted: false,
        _permit: permit,
    };
    let messages = stream::unfold(state, |mut state| async move {
        if !state.greeted {
            state.greeted = true;
            let hello = Message::default()
                .event("hello")
                .retry(Duration::from_secs(2))
                .data(env!("CARGO_PKG_VERSION"));
            return Some((Ok::<_, Infallible>(hello), state));
        }
        let shutdown = state.app.shutdown.clone();
        let message = shutdown.run_until_cancelled(state.next()).await??;
        Some((Ok(message), state))
    });
    let mut response =
        Sse::new(messages).keep_alive(KeepAlive::new().interval(HEARTBEAT_INTERVAL)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl Stream {
    /// Waits for the next message; `None` after the last one.
    async fn next(&mut self) -> Option<Message> {
        loop {
            tokio::select! {
                event = self.events.recv() => {
                    match event {
                        Ok(event) => self.changed.extend(sections_of(event)),
                        Err(RecvError::Lagged(_)) => self.changed.extend(ALL),
                        Err(RecvError::Closed) => return None,
                    }
                    let now = Instant::now();
                    let earliest = self.intervals_end.checked_sub(MESSAGE_INTERVAL * BURST).unwrap_or(now);
                    self.due.get_or_insert(now.max(earliest));
                }
                () = until(self.due) => {
                    self.due = None;
                    self.intervals_end = self.intervals_end.max(Instant::now()) + MESSAGE_INTERVAL;
                    let names: Vec<Section> = std::mem::take(&mut self.changed).into_iter().collect();
                    return Some(Message::default().event("changed").data(names.join(" ")));
                }
                lines = lines(&self.app, self.followed.as_ref()) => {
                    match lines {
                        Some((html, last)) => {
                            if let Some((_, after)) = &mut self.followed {
                                *after = last;
                            }
                            return Some(Message::default().event("lines").id(last.to_string()).data(html));
                        }
                        None => self.followed = None,
                    }
                }
            }
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Waits for lines of the followed task and returns them as HTML, with the number of the last; `None` when no line
/// will follow. Cancel safe. Without a task it waits for ever.
async fn lines(app: &App, followed: Option<&(TaskId, i64)>) -> Option<(String, i64)> {
    let Some((task, after)) = followed else { return std::future::pending().await };
    app.agents.wait_for_event(task, *after, LINE_TIMEOUT).await;
    let lines = app.agents.events(&Viewer::User, task, *after, BATCH_SIZE).await.ok()?;
    let last = lines.last()?.seq;
    Some((pages::task::items(&lines).ok()?, last))
}

fn sections_of(event: Event) -> &'static [Section] {
    match event {
        // The list of clients shows the number of each client's requests.
        Event::ClientConnected
        | Event::ClientIdentified
        | Event::ClientLeft
        | Event::PromptExpanded
        | Event::PromptRefused => &["activity", "clients"],
        Event::PromptsChanged => &["activity", "prompts"],
        Event::AgentsChanged => &["agents"],
        Event::TasksChanged => &["tasks"],
        Event::CalendarChanged | Event::NotificationsChanged => &["agenda"],
        Event::QuestionsChanged | Event::FolderSeen => &["questions"],
        Event::ToolsetsChanged => &["toolsets"],
        Event::CodexChanged => &["codex"],
    }
}
