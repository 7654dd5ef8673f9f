//! Notifications of changes: lists of tools, prompts and resources, watched resources, completed URL elicitations.

mod changes;
mod resources;
mod subscriber;

use std::time::Duration;

use rmcp::model::{CustomNotification, ResourceUpdatedNotificationParam, ServerNotification};
use rmcp::service::{ServiceError, SubscriptionContext, SubscriptionSendError};
use rmcp::{Peer, RoleServer};
use serde_json::json;
use tokio::time::timeout;

use crate::assistant;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use adjutant_base::config::toolsets::Toolset;
use changes::{Changed, Changes};
pub(crate) use resources::{MAX_WATCHED, can_be_watched, granted_filter, watch};
use resources::{READ_TIMEOUT, changed_resources};
pub use subscriber::SubscriberState;

/// Delay of the watch on files after a new client's handshake, because its first lists take less time then.
const WATCH_DELAY: Duration = Duration::from_millis(20);

/// Interval at which a peer is asked whether its transport has closed.
const CLOSED_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Lists that may have changed.
#[derive(Clone, Copy, Debug, Default)]
struct Lists {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// Notifies a client with a handshake of changes until its connection ends or the application stops.
pub(crate) async fn notify_peer(client: &ClientContext, state: &SubscriberState, peer: &Peer<RoleServer>) {
    let revision = peer.peer_info().and_then(|info| Revision::parse(info.protocol_version.as_str()));
    let contract = revision == Some(Revision::V2024_11_05);
    // The contracts of the single servers declare no list changes.
    if contract && client.selection != ToolsetSelection::All {
        return;
    }
    let stop = &client.app.shutdown;
    let mut changes = Changes::new(&client.app, client.selection);
    // A client requests its lists right after the handshake and waits for them.
    if stop.run_until_cancelled(tokio::time::sleep(WATCH_DELAY)).await.is_none() {
        return;
    }
    changes.watch(&client.app);
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            link = client.links.completed(&client.app) => {
                let params = json!({"elicitationId": link});
                let completed = CustomNotification::new("notifications/elicitation/complete", Some(params));
                if peer.send_notification(ServerNotification::CustomNotification(completed)).await.is_err() {
                    return;
                }
                continue;
            }
            () = stop.cancelled() => return,
            () = closed(peer) => return,
        };
        // At 2024-11-05 the assistant lists templates, which never change.
        if contract && change == Changed::Calendars {
            continue;
        }
        let lists = changed_lists(client, state, change).await;
        let sent = async {
            if lists.tools && !contract {
                peer.notify_tool_list_changed().await?;
            }
            if lists.prompts {
                peer.notify_prompt_list_changed().await?;
            }
            if lists.resources {
                peer.notify_resource_list_changed().await?;
            }
            for uri in changed_resources(client, &state.watched).await {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if sent.await.is_err() {
            return;
        }
    }
}

/// Notifies a client of 2026-07-28 of what it subscribed to, until it ends the subscription or the application stops.
pub(crate) async fn run_subscription(
    client: &ClientContext,
    state: &SubscriberState,
    context: &SubscriptionContext,
) {
    let Some(mut changes) = state.take_changes() else {
        tracing::error!("an acknowledged subscription has no receivers of changes");
        return;
    };
    let accepted = context.accepted();
    let wants = |list: Option<bool>| list == Some(true);
    let sink = context.sink();
    // On a stream the transport ends the subscription and notifies the client.
    let stop = async {
        match client.connection {
            Some(_) => std::future::pending().await,
            None => client.app.shutdown.cancelled().await,
        }
    };
    tokio::pin!(stop);
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            () = context.cancelled() => return,
            () = &mut stop => return,
        };
        let lists = changed_lists(client, state, change).await;
        let sent = async {
            if lists.tools && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await?;
            }
            if lists.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await?;
            }
            if lists.resources && wants(accepted.resources_list_changed) {
                sink.notify_resource_list_changed().await?;
            }
            for uri in changed_resources(client, &state.watched).await {
                sink.notify_resource_updated(uri).await?;
            }
            Ok::<_, SubscriptionSendError>(())
        };
        if sent.await.is_err() {
            return;
        }
    }
}

/// Returns the lists that a change may affect.
async fn changed_lists(client: &ClientContext, state: &SubscriberState, change: Changed) -> Lists {
    match change {
        Changed::Prompts => Lists { prompts: true, resources: true, ..Lists::default() },
        // The annotations of `delegate_task` depend on the agents.
        Changed::Agents => Lists { tools: true, ..Lists::default() },
        Changed::Toolsets => Lists { tools: true, prompts: true, resources: true },
        Changed::Calendars => {
            let now = if client.has(Toolset::Assistant) {
                timeout(READ_TIMEOUT, client.app.user_list.generation(assistant::MAX_LISTED_USERS))
                    .await
                    .ok()
                    .flatten()
            } else {
                None
            };
            let resources = now.is_some_and(|now| state.record_users(now));
            Lists { resources, ..Lists::default() }
        }
    }
}

/// Returns when the peer's transport has closed. It polls, because rmcp has no event for it.
async fn closed(peer: &Peer<RoleServer>) {
    let mut every = tokio::time::interval(CLOSED_POLL_INTERVAL);
    loop {
        every.tick().await;
        if peer.is_transport_closed() {
            return;
        }
    }
}
