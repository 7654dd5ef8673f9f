//! Events of the hub, as one closed enum on one broadcast channel.
//!
//! Domains and interfaces send; interfaces with a live view subscribe. A receiver that lags loses the oldest events and
//! gets an error from the channel; it then reads the state again.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Events that a subscriber may lag before it loses the oldest.
const BACKLOG: usize = 256;

/// A change of the hub's state. It carries no data: subscribers read the state where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client opened a connection or an HTTP session.
    ClientConnected,
    /// A client sent or changed its name.
    ClientIdentified,
    /// A client's connection ended.
    ClientLeft,
    PromptExpanded,
    /// An expansion was rejected.
    PromptRefused,
    /// The set of prompts, or the text of one, changed on disk.
    PromptsChanged,
    /// A user, a calendar or an event changed.
    CalendarChanged,
    /// A notification was planned, sent, acknowledged or cancelled.
    NotificationsChanged,
    /// The set of agents, or the text of one, changed on disk.
    AgentsChanged,
    /// A task was delegated, made progress, or ended; sent at most a few times a second.
    TasksChanged,
    /// A question was asked, seen first, snoozed, answered, withdrawn or ended; or the availability of the user
    /// changed.
    QuestionsChanged,
    /// The status of a repository that a question is about changed.
    FolderSeen,
    /// A toolset was switched on or off for a client, or another setting of `config.toml` changed.
    ToolsetsChanged,
    /// A Codex session made progress, asked, or ended; sent at most a few times a second for each session.
    CodexChanged,
}

/// The sending side, cheap to clone.
#[derive(Clone, Debug)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    /// Creates a broadcast without subscribers.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }

    /// Sends an event to all subscribers; having none is not an error.
    pub fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Returns a receiver of the events that are sent from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

/// Waits until `wanted` is sent, or events are lost that may have contained it. Returns `false` if no event will follow.
/// Cancel safe.
pub async fn wait_for(events: &mut broadcast::Receiver<Event>, wanted: Event) -> bool {
    loop {
        match events.recv().await {
            Ok(event) if event != wanted => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}
