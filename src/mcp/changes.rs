//! What clients are told of by themselves: that their lists of tools, prompts or resources may be different, and that
//! what a link was about is over.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{ServiceError, SubscriptionContext};
use rmcp::{Peer, RoleServer};
use serde_json::json;
use tokio::sync::watch::Receiver;

use crate::config::rooms::{Room, RoomsConfig};
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, Server};

/// How long the watch on the files waits for a new client's first answers, which take less than it takes.
const SETTLING: Duration = Duration::from_millis(20);

/// How often a peer is asked whether its transport has closed.
const LOOK: Duration = Duration::from_secs(5);

/// What changed on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    Prompts,
    Agents,
    /// Not on disk alone: which rooms a client has.
    Rooms,
}

impl Changed {
    /// Whether the lists of prompts and of resources may be different, and whether that of tools.
    fn lists(self) -> (bool, bool) {
        match self {
            Self::Prompts => (true, false),
            // What delegating may do, and so its annotations, changes with the agents.
            Self::Agents => (false, true),
            Self::Rooms => (true, true),
        }
    }
}

/// The changes of what a server has.
#[derive(Debug)]
pub(crate) struct Changes {
    prompts: Option<Receiver<u64>>,
    agents: Option<Receiver<u64>>,
    rooms: Option<Receiver<RoomsConfig>>,
}

impl Changes {
    /// Watches the files of `handler`'s rooms from now on.
    fn new(handler: &Handler) -> Self {
        let (app, server) = (handler.app(), handler.server());
        Self {
            prompts: server.has(Room::Prompts).then(|| app.prompts.changes()),
            agents: server.has(Room::Agents).then(|| app.agents.definitions().changes()),
            rooms: (server == Server::All).then(|| app.rooms.changes()),
        }
    }

    /// The same, once the files are read: their first reading is no change, and would swallow one.
    fn from_here(handler: &Handler) -> Self {
        let app = handler.app();
        if handler.has(Room::Prompts) && app.prompts.ready().is_none() {
            app.prompts.load();
        }
        if handler.has(Room::Agents) && app.agents.definitions().ready().is_none() {
            app.agents.definitions().load();
        }
        Self::new(handler)
    }

    /// Waits for the next one; for ever where nothing can change.
    async fn next(&mut self) -> Changed {
        tokio::select! {
            () = moved(&mut self.prompts) => Changed::Prompts,
            () = moved(&mut self.agents) => Changed::Agents,
            () = moved(&mut self.rooms) => Changed::Rooms,
        }
    }
}

async fn moved<T>(of: &mut Option<Receiver<T>>) {
    let changed = match of {
        Some(receiver) => receiver.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}

/// Subscriptions of one connection that are about to be acknowledged, and watch already.
#[derive(Debug, Default)]
pub(crate) struct Opening(Mutex<VecDeque<Changes>>);

impl Opening {
    /// Begins to watch for a subscription.
    pub(crate) fn push(&self, handler: &Handler) {
        let changes = Changes::from_here(handler);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(changes);
    }

    /// Returns what watches for a subscription. Of several at once it is the oldest, which has missed nothing.
    pub(crate) fn pop(&self, handler: &Handler) -> Changes {
        let oldest = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        oldest.unwrap_or_else(|| Changes::from_here(handler))
    }
}

/// Tells a client of a handshake revision until its connection ends or the application stops.
pub(crate) async fn tell_peer(handler: &Handler, peer: &Peer<RoleServer>) {
    let revision = peer.peer_info().and_then(|info| Revision::parse(info.protocol_version.as_str()));
    let contract = revision == Some(Revision::V2024_11_05);
    // The contracts of the single servers declare no list changes.
    if contract && handler.server() != Server::All {
        return;
    }
    let stop = &handler.app().shutdown;
    // A client asks for its lists right behind this, and waits for them.
    if stop.run_until_cancelled(tokio::time::sleep(SETTLING)).await.is_none() {
        return;
    }
    let mut changes = Changes::new(handler);
    loop {
        let (prompts, tools) = tokio::select! {
            what = changes.next() => what.lists(),
            link = handler.links().completed(handler.app()) => {
                let about = json!({"elicitationId": link});
                let told = CustomNotification::new("notifications/elicitation/complete", Some(about));
                if peer.send_notification(ServerNotification::CustomNotification(told)).await.is_err() {
                    return;
                }
                continue;
            }
            () = stop.cancelled() => return,
            () = closed(peer) => return,
        };
        let tell = async {
            if tools && !contract {
                peer.notify_tool_list_changed().await?;
            }
            if prompts {
                peer.notify_prompt_list_changed().await?;
                peer.notify_resource_list_changed().await?;
            }
            Ok::<_, ServiceError>(())
        };
        if tell.await.is_err() {
            return;
        }
    }
}

/// Tells a client of 2026-07-28 what it subscribed to, until it ends the subscription or the application stops.
pub(crate) async fn tell_subscriber(handler: &Handler, context: &SubscriptionContext, mut changes: Changes) {
    let accepted = context.accepted();
    let wants = |which: Option<bool>| which == Some(true);
    let sink = context.sink();
    // On a stream the edge ends it, and says so.
    let stop = async {
        match handler.connection() {
            Some(_) => std::future::pending().await,
            None => handler.app().shutdown.cancelled().await,
        }
    };
    tokio::pin!(stop);
    loop {
        let (prompts, tools) = tokio::select! {
            what = changes.next() => what.lists(),
            () = context.cancelled() => return,
            () = &mut stop => return,
        };
        let gone =
            tools && wants(accepted.tools_list_changed) && sink.notify_tool_list_changed().await.is_err()
                || prompts
                    && wants(accepted.prompts_list_changed)
                    && sink.notify_prompt_list_changed().await.is_err()
                || prompts
                    && wants(accepted.resources_list_changed)
                    && sink.notify_resource_list_changed().await.is_err();
        if gone {
            return;
        }
    }
}

/// Ends when the peer's transport has closed, which rmcp only lets us ask for.
async fn closed(peer: &Peer<RoleServer>) {
    let mut every = tokio::time::interval(LOOK);
    loop {
        every.tick().await;
        if peer.is_transport_closed() {
            return;
        }
    }
}
