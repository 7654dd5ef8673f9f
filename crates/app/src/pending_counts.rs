//! Counts of pending questions, approvals and failed notifications.

use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::App;
use adjutant_assistant as assistant;
use adjutant_assistant::Notification;
use adjutant_assistant::notification::Status;
use adjutant_assistant::notifications::Due;

/// How long a failed notification is counted.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Notifications of each kind that are counted.
const MAX_COUNTED: u32 = 100;

/// How long the store may take. A check whether a hub runs waits for this, and gives up after five seconds.
const COUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// Numbers of what is pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCounts {
    /// Pending questions, approvals among them.
    pub questions: u64,
    /// Pending approvals of Codex.
    pub approvals: u64,
    /// Failed notifications that are not resolved.
    pub failed_notifications: u64,
}

impl App {
    /// Counts everything that is pending. What the store does not answer in time counts as 0.
    pub async fn pending_counts(&self) -> PendingCounts {
        let questions = async {
            self.questions.count_pending().await.unwrap_or_else(|error| {
                tracing::error!(%error, "the pending questions could not be counted");
                0
            })
        };
        let failed_notifications = async {
            self.failed_notifications(SystemTime::now(), MAX_COUNTED).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the failed notifications could not be counted");
                Vec::new()
            })
        };
        let counted = timeout(COUNT_TIMEOUT, async { tokio::join!(questions, failed_notifications) }).await;
        let (questions, failed_notifications) = counted.unwrap_or_else(|_| {
            tracing::error!("nothing pending could be counted: the store does not answer");
            (0, Vec::new())
        });
        PendingCounts {
            questions,
            approvals: self.codex.pending_approvals().len() as u64,
            failed_notifications: failed_notifications.len() as u64,
        }
    }

    /// Returns the notifications of the last week that failed and are not resolved, latest first; at most `limit` of each
    /// kind.
    pub async fn failed_notifications(
        &self,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<Notification>, assistant::Error> {
        let until = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
        let from = until.saturating_sub(LOOK_BACK).unwrap_or(Timestamp::MIN);
        let mut found = Vec::new();
        for status in [Status::Failed, Status::Unknown, Status::Dead] {
            let due = Due { user: None, status: Some(status), from, until };
            found.extend(self.assistant.notifications(&due, limit).await?.0);
        }
        found.sort_by_key(|notification| std::cmp::Reverse(notification.due_at));
        Ok(found)
    }
}
