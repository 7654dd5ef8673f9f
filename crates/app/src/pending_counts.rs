//! What waits for the person, over all rooms.

use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;

use super::App;
use crate::assistant::notices::Due;
use crate::assistant::notification::Status;
use crate::assistant::{self, Notification};

/// How long back somebody is still to be told that they were not told something.
const SINCE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Notifications of each kind that are counted.
const COUNTED: u32 = 100;

/// How long the store may take. Who asks whether a hub runs waits for this, and gives up after five seconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Questions on the desk, approvals among them.
    pub(crate) questions: u64,
    /// What Codex wants approved.
    pub(crate) approvals: u64,
    /// Notifications that somebody has not got and nobody settled.
    pub(crate) untold: u64,
}

impl App {
    /// Counts what waits. A store that does not answer takes away a number and nothing else.
    pub(crate) async fn waiting(&self) -> Waiting {
        let questions = async {
            self.popups.count_pending().await.unwrap_or_else(|error| {
                tracing::error!(%error, "the waiting questions could not be counted");
                0
            })
        };
        let untold = async {
            self.untold(SystemTime::now(), COUNTED).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the failed notifications could not be counted");
                Vec::new()
            })
        };
        let counted = timeout(PATIENCE, async { tokio::join!(questions, untold) }).await;
        let (questions, untold) = counted.unwrap_or_else(|_| {
            tracing::error!("what waits could not be counted: the store does not answer");
            (0, Vec::new())
        });
        Waiting { questions, approvals: self.codex.pending().len() as u64, untold: untold.len() as u64 }
    }

    /// Returns the notifications that somebody has not got and nobody settled, latest first; at most `most` of each
    /// kind.
    pub(crate) async fn untold(
        &self,
        now: SystemTime,
        most: u32,
    ) -> Result<Vec<Notification>, assistant::Error> {
        let until = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
        let from = until.saturating_sub(SINCE).unwrap_or(Timestamp::MIN);
        let mut found = Vec::new();
        for status in [Status::Failed, Status::Unknown, Status::Dead] {
            let due = Due { user: None, status: Some(status), from, until };
            found.extend(self.assistant.notifications(&due, most).await?.0);
        }
        found.sort_by_key(|notification| std::cmp::Reverse(notification.due_at));
        Ok(found)
    }
}
