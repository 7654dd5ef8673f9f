//! One stream of server-sent events per open page: it says which sections changed, the script asks again.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::error::Failure;
use crate::app::App;
use crate::events::Event;

/// Streams at once: far more tabs than a person reads, few enough to cost nothing.
static SEATS: Semaphore = Semaphore::const_new(64);

/// A burst of events is one message: the script asks for a section at most this often.
const PAUSE: Duration = Duration::from_millis(200);

/// A comment is sent this often, so that a dead connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A part of a page that shows something live; the name stands in the page's `data-live`.
type Section = &'static str;
const ALL: [Section; 4] = ["activity", "clients", "prompts", "tasks"];

struct Stream {
    events: Receiver<Event>,
    shutdown: CancellationToken,
    greeted: bool,
    _seat: SemaphorePermit<'static>,
}

/// Answers with the stream. Its messages are `changed`, with the names of sections as data.
pub(super) async fn events(State(app): State<Arc<App>>) -> Response {
    let Ok(seat) = SEATS.try_acquire() else { return Failure::Busy.into_response() };
    let state = Stream {
        events: app.events.subscribe(),
        shutdown: app.shutdown.clone(),
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
        let shutdown = state.shutdown.clone();
        let sections = shutdown.run_until_cancelled(state.next()).await??;
        let names: Vec<Section> = sections.into_iter().collect();
        Some((Ok(Message::default().event("changed").data(names.join(" "))), state))
    });
    let mut response = Sse::new(messages).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl Stream {
    /// Waits for the next change and what follows close behind it; `None` when nothing can follow any more.
    async fn next(&mut self) -> Option<BTreeSet<Section>> {
        let mut sections = BTreeSet::new();
        match self.events.recv().await {
            Ok(event) => sections.extend(touched(event)),
            Err(RecvError::Lagged(_)) => sections.extend(ALL),
            Err(RecvError::Closed) => return None,
        }
        tokio::time::sleep(PAUSE).await;
        loop {
            match self.events.try_recv() {
                Ok(event) => sections.extend(touched(event)),
                Err(TryRecvError::Lagged(_)) => sections.extend(ALL),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(sections),
            }
        }
    }
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
        Event::TasksChanged => &["tasks"],
        Event::CalendarChanged | Event::NotificationsChanged => &["agenda"],
        Event::QuestionsChanged => &["questions"],
    }
}
