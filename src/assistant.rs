//! The assistant: users, their calendars, and what they are told when.
//!
//! [`Assistant`] is the room's face. The calendar readers give [`event::Draft`]s; the planner is a pure function that
//! decides what is told; what is planned is a row before anything is sent. Every verb takes the instant it is called
//! at: the room has no clock.

pub(crate) mod agenda;
pub(crate) mod calendar;
mod demo;
pub(crate) mod dispatch;
mod error;
pub(crate) mod event;
pub(crate) mod feed;
pub(crate) mod id;
pub(crate) mod import;
pub(crate) mod instructions;
pub(crate) mod notices;
pub(crate) mod notification;
mod people;
pub(crate) mod planner;
pub(crate) mod planning;
mod rows;
pub(crate) mod simulate;
pub(crate) mod user;
mod words;
pub(crate) mod zone;

use std::sync::Arc;

use tokio::sync::Notify;

use crate::events::Events;
use crate::store::Store;
use crate::trace::Traces;
pub(crate) use error::Error;
pub(crate) use event::{Calendar, Draft, Event, Occurrence};
pub(crate) use id::{EventId, NotificationId, PlanId, RuleId, UserId};
pub(crate) use notification::{Notification, Planned, Reason};
pub(crate) use user::{Preferences, Rule, User};
pub(crate) use zone::Zone;

/// The room. Cheap to clone; all clones share one store.
#[derive(Clone, Debug)]
pub(crate) struct Assistant {
    store: Store,
    events: Events,
    /// Something may be due earlier than whoever sends it knows.
    wake: Arc<Notify>,
    /// What the notifications that this process planned are a part of.
    traces: Arc<Traces>,
}

impl Assistant {
    /// Does no I/O: the store is opened by the first verb.
    pub(crate) fn new(store: Store, events: Events) -> Self {
        Self { store, events, wake: Arc::default(), traces: Arc::default() }
    }

    /// Carries out what was accepted, then ends the connections to the database.
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }
}
