//! One stream of server-sent events per open page: it names the sections that changed, and the script reloads them. A
//! page about one task also gets the task's lines as they are written.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
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
use adjutant_agents::{TaskId, Viewer};
use adjutant_app::App;
use adjutant_base::events::Event;

/// Streams at once: far more tabs than a person reads, few enough to cost nothing.
static SEATS: Semaphore = Semaphore::const_new(1024);

/// Messages are told at once as long as they come no more often than this, or are few: a question must be seen the
/// moment it is asked, also when something else has just changed.
const PAUSE: Duration = Duration::from_millis(200);

/// How many messages may be told before their time; of a longer burst one is told every [`PAUSE`].
const AHEAD: u32 = 4;

/// A comment is sent this often, so that a dead connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Lines of a task in one message.
const LINES: u32 = 200;

/// How long a silent task is waited for before it is looked at again.
const SILENCE: Duration = Duration::from_hours(1);

/// A part of a page that shows something live; the name stands in the page's `data-live`.
type Section = &'static str;
const ALL: [Section; 9] =
    ["activity", "agenda", "agents", "clients", "codex", "prompts", "questions", "toolsets", "tasks"];

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// The task whose lines are wanted.
    task: Option<String>,
    /// The number of the last line that the page has.
    #[serde(default)]
    after: i64,
}

struct Stream {
    app: Arc<App>,
    events: Receiver<Event>,
    /// Sections that changed and were not told yet, and when they are due.
    changed: BTreeSet<Section>,
    due: Option<Instant>,
    /// When all that was told has had its time.
    paid: Instant,
    /// The task that the page is about, and the number of the last line that was sent.
    followed: Option<(TaskId, i64)>,
    greeted: bool,
    _seat: SemaphorePermit<'static>,
}

/// Answers with the stream. Its messages are `changed`, with the names of sections as data, and `lines`, with items
/// of a task's list and the number of the last one as id.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let Ok(Query(Wanted { task, after })) = wanted else {
        return Failure::BadRequest("The address is not readable.").into_response();
    };
    let Ok(seat) = SEATS.try_acquire() else { return Failure::Busy.into_response() };
    // A browser that reconnects by itself says how far it came.
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let state = Stream {
        events: app.events.subscribe(),
        app,
        changed: BTreeSet::new(),
        due: None,
        paid: Instant::now(),
        followed: task.and_then(|id| Some((TaskId::parse(&id)?, resumed.unwrap_or(after)))),
        greeted: false,
        _seat: seat,
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
    let mut response = Sse::new(messages).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl Stream {
    /// Waits for the next message; `None` when nothing can follow any more.
    async fn next(&mut self) -> Option<Message> {
        loop {
            tokio::select! {
                event = self.events.recv() => {
                    match event {
                        Ok(event) => self.changed.extend(touched(event)),
                        Err(RecvError::Lagged(_)) => self.changed.extend(ALL),
                        Err(RecvError::Closed) => return None,
                    }
                    let now = Instant::now();
                    let earliest = self.paid.checked_sub(PAUSE * AHEAD).unwrap_or(now);
                    self.due.get_or_insert(now.max(earliest));
                }
                () = until(self.due) => {
                    self.due = None;
                    self.paid = self.paid.max(Instant::now()) + PAUSE;
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
/// will follow. Dropping it loses nothing. Without a task it waits for ever.
async fn lines(app: &App, followed: Option<&(TaskId, i64)>) -> Option<(String, i64)> {
    let Some((task, after)) = followed else { return std::future::pending().await };
    app.agents.wait_for_event(task, *after, SILENCE).await;
    let lines = app.agents.events(&Viewer::User, task, *after, LINES).await.ok()?;
    let last = lines.last()?.seq;
    Some((pages::task::items(&lines).ok()?, last))
}

fn touched(event: Event) -> &'static [Section] {
    match event {
        // The count of a caller's requests stands in the list of clients.
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
