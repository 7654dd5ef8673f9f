//! Serving of one byte stream: a connection on stdio or on the hub's socket.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::agent_session::AgentSession;
use crate::client_context::ClientContext;
use crate::connection::Connection;
use crate::deliveries::Deliveries;
use crate::handler::Handler;
use crate::stream_service::StreamService;
use crate::toolset::ToolsetSelection;
use crate::transport::StreamTransport;
use adjutant_agents::worker_order::RemoteAgent;
use adjutant_app::App;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::recorder::RecordedConnection;
use adjutant_base::config::toolsets::Toolset;
use adjutant_host::recorder::RecordedStream;
use adjutant_host::recorder::format::Direction;

/// Time for the last answers to be written when everything else has ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The other end of a byte stream.
#[derive(Debug)]
pub enum Peer {
    /// A process of this machine, if it is known.
    Process(Option<u32>),
    /// The agent of a task on a worker.
    Remote(RemoteAgent),
}

/// Serves one connection until its input has ended and what was in flight is answered, or until the
/// application stops. `session` is the agent's session.
pub async fn serve_stream(
    app: Arc<App>,
    selection: ToolsetSelection,
    kind: ConnectionKind,
    peer: Peer,
    mut session: AgentSession,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin,
) {
    let (pid, remote) = match peer {
        Peer::Process(pid) => (pid, None),
        Peer::Remote(agent) => (None, Some(Arc::new(agent))),
    };
    if let Some(agent) = &remote {
        session.move_here(agent);
    }
    // A script ends its input to end its call.
    let grace = if kind == ConnectionKind::Script { Duration::ZERO } else { app.config.grace };
    let stop = app.shutdown.clone();
    let relay = session.acknowledges().then(|| session.id.clone()).filter(|_| kind != ConnectionKind::Stdio);
    let deliveries = Deliveries::new(app.questions.clone(), relay);
    let connection = Arc::new(Connection::new(selection).with_deliveries(deliveries));
    let connected = Arc::new(app.clients.register(kind, selection.name(), pid));
    let recorded =
        if kind == ConnectionKind::Stdio { RecordedConnection::Stdio } else { RecordedConnection::Socket };
    let process = pid.map_or_else(String::new, |pid| format!(", process {pid}"));
    let recording = app.recorder.recording(recorded, &format!("server {}{process}", selection.name()));
    let input = RecordedStream::new(input, recording.clone(), Direction::C2s);
    let output = RecordedStream::new(output, recording, Direction::S2c);
    let client = ClientContext::new(app.clone(), selection, connected)
        .with_connection(connection.clone(), session)
        .of_worker(remote);
    let session = client.asker().session;
    if client.session.returns && selection.has(Toolset::Questions) {
        app.questions.session_resumed(&session).await;
    }
    let handler = Handler::new(client);
    let transport = StreamTransport::new(input, connection.clone(), grace, stop);
    run(StreamService::new(handler, connection.clone()), transport, &connection, output).await;
    connection.deliveries.clear();
    if selection.has(Toolset::Questions) {
        if kind == ConnectionKind::Script && !app.shutdown.is_cancelled() {
            app.questions.withdraw(&session).await;
        } else {
            app.questions.session_closed(&session).await;
        }
    }
}

/// Serves `handler` on one connection over the hub's transport; for the conformance server of the tests.
pub async fn serve_handler(
    app: &App,
    handler: impl rmcp::ServerHandler,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin,
) {
    let connection = Arc::new(Connection::new(ToolsetSelection::All));
    let transport = StreamTransport::new(input, connection.clone(), app.config.grace, app.shutdown.clone());
    run(handler, transport, &connection, output).await;
}

/// Answers the messages of a transport until its end, and writes the answers.
async fn run<I: AsyncRead + Unpin + Send + 'static>(
    service: impl rmcp::Service<RoleServer>,
    transport: StreamTransport<I>,
    connection: &Connection,
    output: impl AsyncWrite + Unpin,
) {
    let ended = CancellationToken::new();
    let running = rmcp::service::serve_directly_with_ct(service, transport, None, ended.clone());
    let serve = async {
        // The transport ends a grace period after its input, and does not wait for a handler that ignores cancellation.
        let _ = running.waiting().await;
        connection.output.close();
    };
    let write = connection.output.write_to(output);
    tokio::pin!(serve, write);
    tokio::select! {
        () = &mut serve => {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, write).await;
        }
        // The client has stopped reading, so no running request could be answered.
        _ = &mut write => ended.cancel(),
        () = connection.confirm_written() => {}
    }
    connection.deliveries.flushed(connection.output.flushed()).await;
}
