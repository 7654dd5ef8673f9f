//! Channels outside the hub: desktop notifications, and a phone through ntfy.
//!
//! A channel carries [`Notice`]s and knows nothing of what they are about. It is a doorbell, never the only way: it
//! may be slow, broken or absent, so nothing waits for it longer than it says here.

mod desktop;
mod ntfy;

pub use desktop::Desktop;
pub use ntfy::Ntfy;

/// Buttons on one notice: as many as ntfy shows.
pub const MOST_ACTIONS: usize = 3;

/// What a person is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// A new notice takes the place of the one with the same key, where the channel can do that.
    pub key: String,
    pub title: String,
    pub body: String,
    pub urgent: bool,
    /// At most [`MOST_ACTIONS`]; a channel without buttons leaves them out.
    pub actions: Vec<Action>,
}

/// A button.
#[derive(Clone, PartialEq, Eq)]
pub struct Action {
    pub label: String,
    /// What comes back when it is pressed: unguessable, and good for one press.
    pub nonce: String,
}

impl std::fmt::Debug for Action {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Action({:?}, …)", self.label)
    }
}

/// Why a notice was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no notification service: {0}")]
    NoService(String),
    #[error("the notification service did not take it: {0}")]
    NotTaken(String),
    #[error("it did not answer in time")]
    Slow,
    #[error("earlier notifications are still waiting for it")]
    Stuck,
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server refused: status {0}")]
    Refused(u16),
}
