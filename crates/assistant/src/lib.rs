//! The assistant: users, their calendars, and the notifications before their events.
//!
//! [`Assistant`] holds the store. The calendar readers return [`event::Draft`]s; the planner is a pure function that
//! decides on notifications; a planned notification is a row before anything is sent. Every operation takes the current
//! instant, because this crate has no clock.

pub mod calendar;
mod demo;
pub mod dispatch;
mod error;
pub mod event;
pub mod events;
pub mod feed;
pub mod ids;
pub mod import;
pub mod json;
pub mod llm_prompts;
pub mod logins;
pub mod notification;
pub mod notifications;
pub mod own_events;
pub mod plain_dates;
pub mod planner;
pub mod plans;
mod rows;
pub mod simulate;
pub mod time_zone;
pub mod user;
mod users;

use std::sync::Arc;

use tokio::sync::Notify;

use adjutant_base::events::{Event as HubEvent, Events};
use adjutant_base::metrics::Counts;
use adjutant_base::trace_context::DeferredTraces;
use adjutant_store::Store;
pub use error::Error;
pub use event::{Calendar, Draft, Event, Occurrence};
pub use ids::{EventId, NotificationId, PlanId, RuleId, UserId};
pub use notification::{Notification, Planned, Reason};
pub use time_zone::Zone;
pub use user::{Preferences, Rule, User};

/// The domain. Cheap to clone; all clones share one store.
#[derive(Clone, Debug)]
pub struct Assistant {
    store: Store,
    events: Events,
    /// Notified when a notification may be due earlier than the dispatcher knows.
    wake: Arc<Notify>,
    /// The traces of the notifications that this process planned.
    traces: Arc<DeferredTraces>,
    /// Attempts to send of this process, by outcome.
    attempt_counts: Arc<Counts>,
}

impl Assistant {
    /// Does no I/O: the store is opened by the first operation.
    pub fn new(store: Store, events: Events) -> Self {
        let attempt_counts =
            Arc::new(Counts::new(&["sent", "simulated", "failed", "unknown", "withdrawn", "held"]));
        Self { store, events, wake: Arc::default(), traces: Arc::default(), attempt_counts }
    }

    /// Returns the number of attempts of this process to send a notification, by outcome.
    pub fn attempt_counts(&self) -> &Counts {
        &self.attempt_counts
    }

    /// Notes that another process changed calendars or notifications.
    pub fn changed_elsewhere(&self) {
        self.events.send(HubEvent::CalendarChanged);
        self.events.send(HubEvent::NotificationsChanged);
        self.wake.notify_one();
    }

    /// Notifies the hubs of a shared database that this process changed calendars or notifications.
    pub async fn announce(&self) -> Result<(), Error> {
        Ok(self.store.announce().await?)
    }

    /// Carries out what was accepted, then ends the connections to the database.
    pub async fn close(&self) {
        self.store.close().await;
    }
}
