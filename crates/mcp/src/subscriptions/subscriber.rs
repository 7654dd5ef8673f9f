//! State of one subscription, or of one connection of a client with a handshake: what the client knows so far.

use std::sync::Mutex;

use rmcp::model::SubscriptionFilter;
use tokio::time::{Instant, timeout_at};

use super::changes::Changes;
use super::resources::{READ_TIMEOUT, WatchedResources, granted_filter, watch_all};
use crate::assistant;
use crate::client_context::ClientContext;
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::mutex::lock;

/// A generation that no list of users has, so that the next one counts as changed.
const UNKNOWN_GENERATION: u64 = u64::MAX;

/// The state of one subscriber.
#[derive(Debug, Default)]
pub struct SubscriberState {
    pub(crate) watched: WatchedResources,
    /// The generation of the last list of users that the client read or was notified of.
    users: Mutex<Option<u64>>,
    /// The receivers that a subscription uses once it is acknowledged.
    changes: Mutex<Option<Changes>>,
}

impl SubscriberState {
    /// Starts to watch for a subscription, before it is acknowledged: a first read after the acknowledgement would
    /// miss a change between the two. A resource that could not be read counts as changed.
    pub async fn begin(client: &ClientContext, requested: &SubscriptionFilter) -> Self {
        let end = Instant::now() + READ_TIMEOUT;
        let mut changes = Changes::new(&client.app, client.selection);
        if client.has(Toolset::Prompts) {
            changes.mark_prompts_known(client.prompts().await.generation);
        }
        if client.has(Toolset::Agents) {
            changes.mark_agents_known(client.agents().await.generation);
        }
        changes.watch(&client.app);
        let granted = granted_filter(client, requested);
        let users = if client.has(Toolset::Assistant) && granted.resources_list_changed == Some(true) {
            let generation =
                timeout_at(end, client.app.user_list.generation(assistant::MAX_LISTED_USERS)).await;
            Some(generation.ok().flatten().unwrap_or(UNKNOWN_GENERATION))
        } else {
            None
        };
        let watched = watch_all(client, granted.resource_subscriptions.unwrap_or_default(), end).await;
        Self { watched, users: Mutex::new(users), changes: Mutex::new(Some(changes)) }
    }

    /// Returns the receivers since [`Self::begin`], once.
    pub(super) fn take_changes(&self) -> Option<Changes> {
        lock(&self.changes).take()
    }

    /// Records the generation of the list of users that the client knows now. Returns whether it knew a different one.
    pub(crate) fn record_users(&self, generation: u64) -> bool {
        lock(&self.users).replace(generation).is_some_and(|before| before != generation)
    }
}
