//! The server of the socket: accepts connections, reads the hello, and passes the stream to MCP or to the control API.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::control;
use super::handshake::{
    ClientStatus, ConfigStatus, HELLO_TIMEOUT, HELLO_VERSION, Hello, HelloReply, HookCommand, HookReport,
    MAX_HELLO_BYTES, MAX_HOOK_CHARS, MAX_HOOK_COMMANDS, Query, Status, WaitingStatus,
};
use super::principal::{ControlPeer, Tickets};
use super::relay_writer::RelayWriter;
use adjutant_app::App;
use adjutant_app::activity_log::ActivityKind;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_app::pending_counts::PendingCounts;
use adjutant_app::toolset_switches::PendingChanges;
use adjutant_base::events::Event;
use adjutant_host::files::replaced_watchers;
use adjutant_mcp as mcp;

/// Connections at once. A client uses one; past this somebody leaks them, and the hub must not run out of files.
const MAX_CONNECTIONS: usize = 512;

/// Connections of the control API beside those, because clients that leak must not keep the user out.
const MAX_CONTROL_CLIENTS: usize = 64;

/// Makes one-time login links for the console; `None` when there is no console.
pub type Links = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Serves until `app.shutdown`, and then until the connections have ended. `relay` is a process that serves a client
/// itself, if there is one: like a relay's, its parent is an agent.
pub async fn serve(
    app: Arc<App>,
    listener: UnixListener,
    links: Links,
    relay: Option<u32>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    let server = Server {
        app,
        links,
        clients: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        control_slots: Arc::new(Semaphore::new(MAX_CONTROL_CLIENTS)),
        tickets: Arc::default(),
    };
    let _entry = relay.map(|pid| server.app.agent_processes.register_relay(pid));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = server.app.shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of files, most likely: existing connections continue, and later there may be room.
                tracing::warn!(error = %error, "cannot take a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let own = rustix::process::geteuid().as_raw();
        let pid = match stream.peer_cred() {
            // What the kernel says counts, not what the client says of itself. A process of another namespace
            // has the number 0 here.
            Ok(peer) if peer.uid() == own => {
                peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0)
            }
            Ok(peer) => {
                tracing::warn!(peer.uid = peer.uid(), "turned away another user");
                continue;
            }
            Err(error) => {
                tracing::warn!(error = %error, "turned away a connection of an unknown user");
                continue;
            }
        };
        connections.spawn(server.clone().take(stream, pid));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// The shared state of all connections.
#[derive(Clone)]
struct Server {
    app: Arc<App>,
    links: Links,
    clients: Arc<Semaphore>,
    control_slots: Arc<Semaphore>,
    tickets: Arc<Tickets>,
}

/// What follows a hello.
enum Follows {
    Mcp {
        server: mcp::ToolsetSelection,
        script: bool,
        session: mcp::AgentSession,
        place: OwnedSemaphorePermit,
    },
    /// Requests of the control API.
    Control(OwnedSemaphorePermit),
    Nothing,
}

impl Server {
    /// Serves one connection of the process `pid` to its end.
    async fn take(self, stream: UnixStream, pid: Option<u32>) {
        let (input, mut output) = stream.into_split();
        let mut input = BufReader::new(input);
        let shutdown = self.app.shutdown.clone();
        let greeted = shutdown.run_until_cancelled(self.greet(&mut input, &mut output, pid)).await;
        let Some(Some((follows, workspace))) = greeted else { return };
        let app = match workspace.filter(|folder| folder.is_absolute()) {
            Some(folder) => self.app.in_workspace(&folder),
            None => self.app.clone(),
        };
        match follows {
            Follows::Mcp { server, script, session, place: _place } => {
                let entry = pid.map(|pid| match script {
                    true => self.app.agent_processes.register_script(pid),
                    false => self.app.agent_processes.register_relay(pid),
                });
                let output = RelayWriter::new(entry, output);
                let transport = if script { ConnectionKind::Script } else { ConnectionKind::Socket };
                mcp::serve_stream(app, server, transport, pid, session, input, output).await;
            }
            Follows::Control(_place) => {
                let peer = ControlPeer { app, ..self.peer(pid) };
                shutdown.run_until_cancelled(control::serve(&peer, input, output)).await;
            }
            Follows::Nothing => {}
        }
    }

    fn peer(&self, pid: Option<u32>) -> ControlPeer {
        ControlPeer { app: self.app.clone(), tickets: self.tickets.clone(), pid }
    }

    /// Reads the hello and answers it. Returns what follows, and the client's workspace; `None` when the client
    /// does not read or write in time.
    async fn greet(
        &self,
        input: &mut BufReader<OwnedReadHalf>,
        output: &mut OwnedWriteHalf,
        pid: Option<u32>,
    ) -> Option<(Follows, Option<PathBuf>)> {
        let mut line = Vec::new();
        let mut bounded = input.take(MAX_HELLO_BYTES as u64);
        timeout(HELLO_TIMEOUT, bounded.read_until(b'\n', &mut line)).await.ok()?.ok()?;
        let mut answer = HelloReply::new();
        let mut workspace = None;
        let greeted = match serde_json::from_slice::<Hello>(&line) {
            // What a newer client asks for may be none of the questions that are known here.
            Err(_) => Err("the first line is no hello that this hub knows".to_owned()),
            Ok(hello) if hello.number != HELLO_VERSION => {
                Err(format!("this hub is adjutant {}, the client {}", answer.adjutant, hello.adjutant))
            }
            Ok(mut hello) => {
                workspace = hello.workspace.take();
                self.consider(&hello, pid, &mut answer).await
            }
        };
        let follows = greeted.unwrap_or_else(|refusal| {
            answer.error = Some(refusal);
            Follows::Nothing
        });
        let mut line = serde_json::to_vec(&answer).ok()?;
        line.push(b'\n');
        timeout(HELLO_TIMEOUT, output.write_all(&line)).await.ok()?.ok()?;
        Some((follows, workspace))
    }

    /// Says what follows a hello that can be read, or why nothing does; puts into `answer` what was asked for.
    async fn consider(
        &self,
        hello: &Hello,
        pid: Option<u32>,
        answer: &mut HelloReply,
    ) -> Result<Follows, String> {
        let full = |limit| format!("{limit} clients are connected, there is no room for one more");
        match hello {
            Hello { ask: Some(Query::Status), .. } => {
                answer.status = Some(status(&self.app).await);
                Ok(Follows::Nothing)
            }
            Hello { ask: Some(Query::Open), .. } => {
                self.peer(pid).require_user().map_err(|refusal| refusal.message)?;
                let link = (self.links)();
                answer.link = Some(link.ok_or("this hub runs without the console (--http off)")?);
                Ok(Follows::Nothing)
            }
            Hello { hooked: Some(hooked), .. } => {
                note(&self.app, hooked);
                Ok(Follows::Nothing)
            }
            Hello { user: true, .. } => {
                self.peer(pid).require_no_agent().map_err(|refusal| refusal.message)?;
                Ok(Follows::Control(
                    self.control_slots.clone().try_acquire_owned().map_err(|_| full(MAX_CONTROL_CLIENTS))?,
                ))
            }
            Hello { toolset: None, .. } => Err("the hello names no toolset".to_owned()),
            Hello { toolset: Some(name), .. } => {
                let place = self.clients.clone().try_acquire_owned().map_err(|_| full(MAX_CONNECTIONS))?;
                let server = mcp::ToolsetSelection::from_name(name);
                let server = server.ok_or_else(|| format!("this hub has no toolset `{name}`"))?;
                let session = hello.session.clone().unwrap_or_default();
                Ok(Follows::Mcp { server, script: hello.script, session, place })
            }
        }
    }
}

/// Puts what a hook did among what happened. It is the client's word, so it is short.
fn note(app: &App, hooked: &HookReport) {
    let short = |text: &str| -> String { text.chars().take(MAX_HOOK_CHARS).collect() };
    let who = format!("{}, by its hook", short(&hooked.client));
    for HookCommand { name, expanded } in hooked.commands.iter().take(MAX_HOOK_COMMANDS) {
        let prompt = short(name);
        let (what, event) = match expanded {
            Ok(bytes) => (ActivityKind::Expanded { prompt, bytes: *bytes }, Event::PromptExpanded),
            Err(reason) => (ActivityKind::Rejected { prompt, reason: short(reason) }, Event::PromptRefused),
        };
        app.activity.record(&who, what);
        app.events.send(event);
    }
}

async fn status(app: &App) -> Status {
    let clients = app.clients.all().into_iter().map(|client| ClientStatus {
        check: client.is_check(),
        toolset: client.server.to_owned(),
        name: client.name,
        version: client.version,
        revision: client.revision,
        pid: client.pid,
        calls: client.calls,
    });
    let PendingCounts { questions, approvals, failed_notifications } = app.pending_counts().await;
    let PendingChanges { settings: waiting_for_restart, fault } = app.toolsets.pending_changes();
    Status {
        http: app.listening.http.get().copied(),
        socket: app.listening.socket.get().cloned(),
        uptime_seconds: app.started.elapsed().unwrap_or_default().as_secs(),
        clients: clients.collect(),
        waiting: WaitingStatus { questions, approvals, failed_notifications },
        config: ConfigStatus { waiting_for_restart, fault },
        replaced_watchers: replaced_watchers(),
    }
}
