//! Daily planning of all users' notifications, so that what comes into the 30 days is planned without a command.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::App;
use super::proposals::Client;
use adjutant_assistant::Error;

/// Interval of the planning.
const PLAN_INTERVAL: SignedDuration = SignedDuration::from_hours(24);
/// Interval at which the clock is read, because a timer stops while the machine sleeps; also the wait after a failure.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_mins(1);
/// Users that are read at once.
const PAGE_SIZE: u32 = 100;

impl App {
    /// Plans the notifications of all users now, and then every day until shutdown.
    pub async fn plan_daily(self: Arc<Self>) {
        let mut planned = Timestamp::MIN;
        loop {
            let now = Timestamp::now();
            if now.duration_since(planned).abs() >= PLAN_INTERVAL {
                match self.plan_all_users().await {
                    Ok(()) => planned = now,
                    Err(error) => tracing::error!(%error, "the coming days cannot be planned; trying again"),
                }
            }
            let pause = tokio::time::sleep(CLOCK_POLL_INTERVAL);
            if self.shutdown.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }

    async fn plan_all_users(&self) -> Result<(), Error> {
        let mut after = None;
        loop {
            let users = self.assistant.users(after.as_ref(), PAGE_SIZE).await?;
            let Some(last) = users.last() else { return Ok(()) };
            after = Some(last.id.clone());
            for user in &users {
                match self.plan(&Client::default(), &self.shutdown, (&user.id, None), false).await {
                    Ok(_) => {}
                    Err(error @ Error::Store(_)) => return Err(error),
                    Err(error) => tracing::warn!(user.id = %user.id, %error, "a user cannot be planned"),
                }
            }
        }
    }
}
