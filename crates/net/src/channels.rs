//! Channels outside the hub: desktop notifications, and a phone through ntfy.
//!
//! A channel sends [`Message`]s. It may be slow, broken or absent, so it is never the only way to reach the user, and
//! every call has a timeout.

mod desktop;
mod ntfy;

pub use desktop::Desktop;
pub use ntfy::Ntfy;

/// Maximum buttons of one message, which is the maximum of ntfy.
pub const MAX_ACTIONS: usize = 3;

/// A message to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// A new message replaces the one with the same key, if the channel supports that.
    pub key: String,
    pub title: String,
    pub body: String,
    pub urgent: bool,
    /// The page that a tap opens; a channel without links leaves it out.
    pub link: Option<String>,
    /// At most [`MAX_ACTIONS`]; a channel without buttons leaves them out.
    pub actions: Vec<Action>,
}

/// A button.
#[derive(Clone, PartialEq, Eq)]
pub struct Action {
    pub label: String,
    /// Text that the channel returns when the button is pressed: unguessable, and valid once.
    pub nonce: String,
}

impl std::fmt::Debug for Action {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Action({:?}, …)", self.label)
    }
}

/// The reason why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no notification service was found: {0}")]
    NoService(String),
    #[error("the notification service rejected it: {0}")]
    Rejected(String),
    #[error("it did not answer in time")]
    TimedOut,
    #[error("earlier notifications are still waiting for it")]
    Busy,
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server answered with the error status {0}")]
    Status(u16),
}
