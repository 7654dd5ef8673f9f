//! The MCP door: newline-delimited JSON-RPC on stdio and the hub's socket, and the handler that HTTP mounts.
//!
//! Read in this order: [`edge`] (bytes to messages), [`service`] (panics and the contracts' shapes), [`handler`]
//! (methods), [`tools`] (what the tools do), [`dialect`] (what differs between revisions), [`error`] (all codes).

pub(crate) mod arguments;
pub(crate) mod assistant;
pub(crate) mod changes;
pub(crate) mod completion;
pub(crate) mod connection;
pub(crate) mod dialect;
pub(crate) mod edge;
pub(crate) mod error;
pub(crate) mod handler;
pub(crate) mod instructions;
pub(crate) mod links;
pub(crate) mod news;
pub(crate) mod popups;
pub(crate) mod prompts;
pub(crate) mod seal;
pub(crate) mod service;
pub(crate) mod skills;
pub(crate) mod tasks;
pub(crate) mod tools;
pub(crate) mod trace;

#[cfg(feature = "fixture")]
pub(crate) mod fixture;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::app::clients::Transport;
use crate::config::log::Edge as Recorded;
use crate::config::rooms::Room;
use crate::recorder::Taped;
use crate::recorder::entry::Direction;
use connection::Connection;
use edge::Edge;
pub(crate) use handler::Handler;
use service::Service;

/// How long the last answers may take to be written once everything else has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Which server a connection asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// All rooms in one.
    All,
    Agents,
    Assistant,
    Codex,
    Popup,
    Prompts,
}

impl Server {
    /// Whether this server has a room; that of all rooms only where the room is not switched off.
    pub(crate) fn has(self, room: Room) -> bool {
        match self {
            Self::All => true,
            Self::Agents => room == Room::Agents,
            Self::Assistant => room == Room::Assistant,
            Self::Codex => room == Room::Codex,
            Self::Popup => room == Room::Popups,
            Self::Prompts => room == Room::Prompts,
        }
    }

    /// Whether this server lists prompts and resources of any room.
    pub(crate) fn has_listings(self) -> bool {
        self.has(Room::Prompts) || self.has(Room::Assistant)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Agents => "agents",
            Self::Assistant => "assistant",
            Self::Codex => "codex",
            Self::Popup => "popup",
            Self::Prompts => "prompts",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::All, Self::Agents, Self::Assistant, Self::Codex, Self::Popup, Self::Prompts]
            .into_iter()
            .find(|server| server.name() == name)
    }
}

/// Serves one connection until its input has ended and what was in flight is answered, or until the
/// application stops. `pid` is the client's process, where the transport knows it.
pub(crate) async fn serve_stream(
    app: Arc<App>,
    server: Server,
    transport: Transport,
    pid: Option<u32>,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin,
) {
    // Whoever ends a script wants its call ended.
    let grace = if transport == Transport::Script { Duration::ZERO } else { app.config.grace };
    let stop = app.shutdown.clone();
    let connection = Arc::new(Connection::of(server));
    let connected = Arc::new(app.clients.enter(transport, server.name(), pid));
    let edge = if transport == Transport::Stdio { Recorded::Stdio } else { Recorded::Socket };
    let about = pid.map_or_else(String::new, |pid| format!(", process {pid}"));
    let tape = app.recorder.tape(edge, &format!("server {}{about}", server.name()));
    let input = Taped::new(input, tape.clone(), Direction::C2s);
    let output = Taped::new(output, tape, Direction::S2c);
    let handler = Handler::new(app.clone(), server, connected).with_connection(connection.clone());
    let session = handler.asker().session;
    let edge = Edge::new(input, connection.clone(), grace, stop);
    converse(Service::new(handler, connection.clone()), edge, &connection, output).await;
    if server.has(Room::Popups) {
        if transport == Transport::Script && !app.shutdown.is_cancelled() {
            app.popups.withdraw(&session).await;
        } else {
            app.popups.gone(&session).await;
        }
    }
}

/// Serves a handler of a test's on one connection, behind the product's edge.
#[cfg(feature = "fixture")]
pub(crate) async fn serve_handler(
    app: &App,
    handler: impl rmcp::ServerHandler,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin,
) {
    let connection = Arc::new(Connection::of(Server::All));
    let edge = Edge::new(input, connection.clone(), app.config.grace, app.shutdown.clone());
    converse(handler, edge, &connection, output).await;
}

/// Answers what comes over `edge` until its end, and writes the answers.
async fn converse<I: AsyncRead + Unpin + Send + 'static>(
    service: impl rmcp::Service<RoleServer>,
    edge: Edge<I>,
    connection: &Connection,
    output: impl AsyncWrite + Unpin,
) {
    let ended = CancellationToken::new();
    let running = rmcp::service::serve_directly_with_ct(service, edge, None, ended.clone());
    let serve = async {
        // The edge ends by itself a grace period after its input; a handler that ignores its cancellation is left.
        let _ = running.waiting().await;
        connection.output.close();
    };
    let write = connection.output.write_to(output);
    tokio::pin!(serve, write);
    tokio::select! {
        () = &mut serve => {
            let _ = tokio::time::timeout(LAST_WORDS, write).await;
        }
        // The client reads no more: nothing that is still running could be told to it.
        _ = &mut write => ended.cancel(),
    }
}
