//! Events of the hub, as one closed enum on one broadcast channel.
//!
//! Rooms and doors send; doors that show something live subscribe. A receiver that lags loses the oldest
//! events and is told so by the channel; it then reads the state again.

use tokio::sync::broadcast;

/// How many events a slow subscriber may lag behind before it loses the oldest.
const BACKLOG: usize = 256;

/// One thing that happened. What it was about is read where it is kept: among the application's clients
/// and in its activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client opened a connection or an HTTP session.
    ClientConnected,
    /// A client said who it is (or changed what it says).
    ClientIdentified,
    /// A client's connection ended.
    ClientLeft,
    PromptExpanded,
    /// An expansion was refused.
    PromptRefused,
    /// The set of prompts, or the text of one, changed on disk.
    PromptsChanged,
    /// A user, a calendar or an event changed.
    CalendarChanged,
    /// A notification was planned, sent, acknowledged or taken back.
    NotificationsChanged,
    /// The set of agents, or the text of one, changed on disk.
    AgentsChanged,
    /// A delegated task came in, went on, or ended; sent at most a few times a second.
    TasksChanged,
    /// A question came, was seen first, put off, answered or taken back, or ended; or whether the person takes any.
    QuestionsChanged,
    /// The hub sees something else than before of a folder that a question is about.
    FolderSeen,
    /// A room was switched on or off for some client, or `config.toml` says something else than it did.
    ToolsetsChanged,
    /// A Codex session went on, asked, or ended; sent at most a few times a second for each.
    CodexChanged,
}

/// The sending side, cheap to clone.
#[derive(Clone, Debug)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    /// Makes a broadcast without subscribers.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }

    /// Sends to whoever listens; that nobody does is no error.
    pub fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Returns a receiver of the events that are sent from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}
