//! What one client, or one subscription, knows so far, and so what is still to be told.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::SubscriptionFilter;
use tokio::time::{Instant, timeout_at};

use super::{Changes, PATIENCE, Watched, go_on, granted};
use crate::config::rooms::Room;
use crate::mcp::{Handler, assistant};

/// No number of users: whatever they are, the client does not know it.
const UNKNOWN: u64 = u64::MAX;

/// What was told.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    watched: Watched,
    /// The number of the users that a list or a notification was about last.
    people: Mutex<Option<u64>>,
    /// What goes on watching once the subscription is acknowledged.
    begun: Mutex<Option<Changes>>,
}

impl Telling {
    /// Begins to watch for a subscription. What changes from its acknowledgement on is told, so everything is looked at
    /// before: a first look that came later would swallow a change. What could not be looked at counts as changed.
    pub(crate) async fn begin(handler: &Handler, requested: &SubscriptionFilter) -> Self {
        let end = Instant::now() + PATIENCE;
        let mut changes = Changes::new(handler);
        if handler.has(Room::Prompts) {
            go_on(&mut changes.prompts, handler.catalogue().await.generation);
        }
        if handler.has(Room::Agents) {
            go_on(&mut changes.agents, handler.agents().await.generation);
        }
        changes.watch(handler);
        let granted = granted(handler, requested);
        let people = if handler.has(Room::Assistant) && granted.resources_list_changed == Some(true) {
            let seen = timeout_at(end, handler.app().people(assistant::LISTED)).await;
            Some(seen.ok().flatten().unwrap_or(UNKNOWN))
        } else {
            None
        };
        let watched = Watched::all(handler, granted.resource_subscriptions.unwrap_or_default(), end).await;
        Self { watched, people: Mutex::new(people), begun: Mutex::new(Some(changes)) }
    }

    /// Returns what watches since [`Self::begin`], once.
    pub(super) fn begun(&self) -> Option<Changes> {
        lock(&self.begun).take()
    }

    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Notes of which users the client is told now. Returns whether it knew of others.
    pub(crate) fn people(&self, number: u64) -> bool {
        lock(&self.people).replace(number).is_some_and(|before| before != number)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
