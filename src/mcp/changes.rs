//! What clients are told of by themselves: that their lists of tools, prompts or resources may be different, that a
//! resource they watch is another one, and that what a link was about is over.

mod telling;
mod watched;

use std::time::Duration;

use rmcp::model::{
    CustomNotification, ResourceUpdatedNotificationParam, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{ServiceError, SubscriptionContext, SubscriptionSendError};
use rmcp::{Peer, RoleServer};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::watch::Receiver;
use tokio::time::{Interval, MissedTickBehavior, timeout};

use crate::config::rooms::{Room, RoomsConfig};
use crate::events::Event;
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, Server, assistant};
pub(crate) use telling::Telling;
pub(crate) use watched::{MOST, Watched, can_be_watched};

/// How long the watch on the files waits for a new client's first answers, which take less than it takes.
const SETTLING: Duration = Duration::from_millis(20);

/// How often a peer is asked whether its transport has closed, and the database whether somebody else changed it.
const LOOK: Duration = Duration::from_secs(5);

/// How long one look at the database may take. Whoever waits for a subscription, or to be told of something else, waits
/// no longer when it does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    Prompts,
    Agents,
    /// Not on disk alone: which rooms a client has.
    Rooms,
    /// Users, their calendars and events, it may be.
    Calendars,
}

/// Lists that may be different.
#[derive(Clone, Copy, Debug, Default)]
struct Lists {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// The changes of what a server has.
#[derive(Debug)]
pub(crate) struct Changes {
    prompts: Option<Receiver<u64>>,
    agents: Option<Receiver<u64>>,
    rooms: Option<Receiver<RoomsConfig>>,
    calendars: Option<Calendars>,
}

/// When to look at what the assistant keeps: this process says so, another one does not.
#[derive(Debug)]
struct Calendars {
    events: broadcast::Receiver<Event>,
    every: Interval,
}

impl Changes {
    /// What `handler`'s rooms are told of from now on. Nobody looks at the files for it before [`Self::watch`].
    fn new(handler: &Handler) -> Self {
        let (app, server) = (handler.app(), handler.server());
        let calendars = || {
            let mut every = tokio::time::interval(LOOK);
            every.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Calendars { events: app.events.subscribe(), every }
        };
        Self {
            prompts: server.has(Room::Prompts).then(|| app.prompts.changes()),
            agents: server.has(Room::Agents).then(|| app.agents.definitions().changes()),
            rooms: (server == Server::All).then(|| app.rooms.changes()),
            calendars: server.has(Room::Assistant).then(calendars),
        }
    }

    /// Watches the files of `handler`'s rooms.
    fn watch(&self, handler: &Handler) {
        if self.prompts.is_some() {
            handler.app().prompts.watch();
        }
        if self.agents.is_some() {
            handler.app().agents.definitions().watch();
        }
    }

    /// Waits for the next one; for ever where nothing can change. Nothing is lost when it is dropped.
    async fn next(&mut self) -> Changed {
        tokio::select! {
            () = moved(&mut self.prompts) => Changed::Prompts,
            () = moved(&mut self.agents) => Changed::Agents,
            () = moved(&mut self.rooms) => Changed::Rooms,
            () = due(&mut self.calendars) => Changed::Calendars,
        }
    }

    /// Says which lists a change may have made different.
    async fn lists(handler: &Handler, what: Changed) -> Lists {
        match what {
            Changed::Prompts => Lists { prompts: true, resources: true, ..Lists::default() },
            // What delegating may do, and so its annotations, changes with the agents.
            Changed::Agents => Lists { tools: true, ..Lists::default() },
            Changed::Rooms => Lists { tools: true, prompts: true, resources: true },
            Changed::Calendars => {
                let now = if handler.has(Room::Assistant) {
                    timeout(PATIENCE, handler.app().people(assistant::LISTED)).await.ok().flatten()
                } else {
                    None
                };
                let resources = now.is_some_and(|now| handler.telling().people(now));
                Lists { resources, ..Lists::default() }
            }
        }
    }
}

/// Takes `generation` for what the client has: what was read before it is no change.
fn go_on(of: &mut Option<Receiver<u64>>, generation: u64) {
    if let Some(receiver) = of
        && *receiver.borrow_and_update() != generation
    {
        receiver.mark_changed();
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

async fn due(of: &mut Option<Calendars>) {
    let Some(Calendars { events, every }) = of else { return std::future::pending().await };
    loop {
        tokio::select! {
            _ = every.tick() => return,
            event = events.recv() => match event {
                Ok(Event::CalendarChanged) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Ok(_) => {}
                // The application goes.
                Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
            },
        }
    }
}

/// What is granted of a subscription: of the resources those that are ours, up to a number. rmcp leaves out what the
/// server does not declare.
pub(crate) fn granted(handler: &Handler, requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = requested.clone();
    if let Some(resources) = &mut granted.resource_subscriptions {
        resources.retain(|uri| can_be_watched(handler, uri));
        resources.truncate(MOST);
    }
    granted
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
    let mut changes = Changes::new(handler);
    // A client asks for its lists right behind this, and waits for them.
    if stop.run_until_cancelled(tokio::time::sleep(SETTLING)).await.is_none() {
        return;
    }
    changes.watch(handler);
    loop {
        let what = tokio::select! {
            what = changes.next() => what,
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
        // What a client of the contract lists of the assistant are the templates.
        if contract && what == Changed::Calendars {
            continue;
        }
        let lists = Changes::lists(handler, what).await;
        let tell = async {
            if lists.tools && !contract {
                peer.notify_tool_list_changed().await?;
            }
            if lists.prompts {
                peer.notify_prompt_list_changed().await?;
            }
            if lists.resources {
                peer.notify_resource_list_changed().await?;
            }
            for uri in handler.telling().watched().moved(handler).await {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if tell.await.is_err() {
            return;
        }
    }
}

/// Tells a client of 2026-07-28 what it subscribed to, until it ends the subscription or the application stops.
pub(crate) async fn tell_subscriber(handler: &Handler, context: &SubscriptionContext) {
    let Some(mut changes) = handler.telling().begun() else {
        tracing::error!("a subscription was acknowledged that nothing watches for");
        return;
    };
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
        let what = tokio::select! {
            what = changes.next() => what,
            () = context.cancelled() => return,
            () = &mut stop => return,
        };
        let lists = Changes::lists(handler, what).await;
        let tell = async {
            if lists.tools && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await?;
            }
            if lists.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await?;
            }
            if lists.resources && wants(accepted.resources_list_changed) {
                sink.notify_resource_list_changed().await?;
            }
            for uri in handler.telling().watched().moved(handler).await {
                sink.notify_resource_updated(uri).await?;
            }
            Ok::<_, SubscriptionSendError>(())
        };
        if tell.await.is_err() {
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
