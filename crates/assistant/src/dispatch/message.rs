//! Values that every sender takes and gives: the message, its outcome, and notifications that `app` presents.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::{Notification, User};

/// A notification for a channel that another domain owns. The user may acknowledge it.
#[derive(Clone, Debug)]
pub struct Presented {
    pub notification: Notification,
    /// The user's ntfy topic; `None` means the topic of the configuration.
    pub topic: Option<String>,
}

/// Shows a notification on a channel that the assistant does not own: a question, the desktop, ntfy. Set by `app`.
pub type PresentFn = Arc<dyn Fn(Presented) -> BoxFuture<'static, SendOutcome> + Send + Sync>;

/// Result of one attempt to send a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The other side accepted it; the text is its answer.
    Sent(String),
    /// Everything but the sending was done, because no sender is configured.
    Simulated(String),
    /// A later attempt may succeed.
    Failed(String),
    /// No later attempt can succeed.
    Rejected(String),
    /// The other side may have accepted it; its answer is missing.
    Unknown(String),
    /// The notification is not sent, for this reason.
    Withdrawn(String),
    /// Quiet hours last until this instant; it is sent afterwards if it is still right.
    Held(Timestamp),
}

/// A notification that is being sent, with all data that a sender may need.
pub(super) struct OutgoingMessage<'a> {
    pub(super) notification: &'a Notification,
    pub(super) user: &'a User,
    /// The wording, followed by the notifications that were merged into this one.
    pub(super) text: String,
}

/// Creates a folder and its parents for the owner alone, because messages are as private as the calendar.
pub(super) async fn make_private(folder: &Path) -> std::io::Result<()> {
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await
}
