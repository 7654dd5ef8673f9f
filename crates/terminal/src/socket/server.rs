//! The server of the socket: accepts connections, reads the hello, and passes the stream to MCP or to the control API.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::control;
use super::handshake::{
    ClientStatus, HELLO_TIMEOUT, HELLO_VERSION, Hello, HelloReply, HookCommand, HookReport, MAX_HELLO_BYTES,
    MAX_HOOK_CHARS, MAX_HOOK_COMMANDS, Query, Status,
};
use super::permission;
use super::principal::{ControlPeer, Tickets};
use super::relay_writer::RelayWriter;
use adjutant_app::App;
use adjutant_app::activity_log::ActivityKind;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::events::Event;
use adjutant_host::file_catalogue::replaced_watchers;
use adjutant_host::process::{self, Ancestor};
use adjutant_mcp as mcp;

/// Maximum connections. A client uses one; more mean that clients leak them, and the hub must not run out of files.
const MAX_CONNECTIONS: usize = 512;

/// Maximum additional connections of the control API, so that clients that leak do not keep the user out.
const MAX_CONTROL_CLIENTS: usize = 64;

/// Makes one-time login links for the console; `None` without a console. With a process, the link is for a browser that
/// starts below it.
pub type Links = Arc<dyn Fn(Option<Ancestor>) -> Option<String> + Send + Sync>;

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
                // Most likely out of files: existing connections continue, and later ones may succeed.
                tracing::warn!(error = %error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(UserProcess { pid }) = UserProcess::of(&stream) else { continue };
        connections.spawn(server.clone().serve_connection(stream, pid));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// A process of this user at the other end of a connection.
pub(super) struct UserProcess {
    /// `None` for a process of another namespace, which the kernel does not number here.
    pub(super) pid: Option<u32>,
}

impl UserProcess {
    /// Returns the process at the other end; `None` for one of another user.
    pub(super) fn of(stream: &UnixStream) -> Option<Self> {
        let own = rustix::process::geteuid().as_raw();
        match stream.peer_cred() {
            // The kernel's number counts, not the client's claim. A process of another namespace has the number 0 here.
            Ok(peer) if peer.uid() == own => {
                let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
                Some(Self { pid })
            }
            Ok(peer) => {
                tracing::warn!(peer.uid = peer.uid(), "rejected another user");
                None
            }
            Err(error) => {
                tracing::warn!(error = %error, "rejected a connection of an unknown user");
                None
            }
        }
    }
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

/// The use of a connection after its hello.
enum Purpose {
    Mcp {
        toolset: mcp::ToolsetSelection,
        script: bool,
        check: bool,
        session: mcp::AgentSession,
        slot: OwnedSemaphorePermit,
    },
    /// Requests of the control API.
    Control(OwnedSemaphorePermit),
    /// A call of a tool to decide.
    Permission(OwnedSemaphorePermit),
    /// The connection ends after the answer.
    Done,
}

impl Server {
    /// Serves one connection of the process `pid` to its end.
    async fn serve_connection(self, stream: UnixStream, pid: Option<u32>) {
        let (input, mut output) = stream.into_split();
        let mut input = BufReader::new(input);
        let shutdown = self.app.shutdown.clone();
        let greeting = Box::pin(shutdown.run_until_cancelled(self.greet(&mut input, &mut output, pid))).await;
        let Some(Some((purpose, workspace))) = greeting else { return };
        let app = match workspace.filter(|folder| folder.is_absolute()) {
            Some(folder) => self.app.in_workspace(&folder),
            None => self.app.clone(),
        };
        match purpose {
            Purpose::Mcp { toolset, script, check, session, slot: _slot } => {
                let entry = pid.map(|pid| {
                    if script {
                        self.app.agent_processes.register_script(pid)
                    } else {
                        self.app.agent_processes.register_relay(pid)
                    }
                });
                let output = RelayWriter::new(entry, output);
                let kind = if script && !check { ConnectionKind::Script } else { ConnectionKind::Socket };
                mcp::serve_stream(app, toolset, kind, mcp::Peer::Process(pid), session, input, output).await;
            }
            Purpose::Control(_slot) => {
                let peer = ControlPeer { app, ..self.peer(pid) };
                Box::pin(shutdown.run_until_cancelled(control::serve(&peer, input, output))).await;
            }
            Purpose::Permission(_slot) => {
                shutdown.run_until_cancelled(permission::serve(&self.peer(pid), input, output)).await;
            }
            Purpose::Done => {}
        }
    }

    fn peer(&self, pid: Option<u32>) -> ControlPeer {
        ControlPeer { app: self.app.clone(), tickets: self.tickets.clone(), pid }
    }

    /// Reads the hello and answers it. Returns the purpose of the connection and the client's workspace; `None` if the client
    /// does not read or write in time.
    async fn greet(
        &self,
        input: &mut BufReader<OwnedReadHalf>,
        output: &mut OwnedWriteHalf,
        pid: Option<u32>,
    ) -> Option<(Purpose, Option<PathBuf>)> {
        let mut answer = HelloReply::new();
        let mut workspace = None;
        let accepted = match read_hello(input).await? {
            Err(reason) => Err(reason),
            Ok(mut hello) => {
                workspace = hello.workspace.take();
                self.accept(&hello, pid, &mut answer).await
            }
        };
        let purpose = accepted.unwrap_or_else(|reason| {
            answer.error = Some(reason);
            Purpose::Done
        });
        reply(output, &answer).await?;
        Some((purpose, workspace))
    }

    /// Returns the purpose of a valid hello, or why it is rejected. Adds the answer of a query to `answer`.
    async fn accept(
        &self,
        hello: &Hello,
        pid: Option<u32>,
        answer: &mut HelloReply,
    ) -> Result<Purpose, String> {
        let full = |limit| format!("{limit} clients are connected, which is the limit");
        match hello {
            Hello { ask: Some(Query::Status), .. } => {
                answer.status = Some(status(&self.app).await);
                Ok(Purpose::Done)
            }
            Hello { ask: Some(query @ (Query::Link | Query::Browser)), .. } => {
                self.peer(pid).require_user().map_err(|refusal| refusal.message)?;
                let opener = pid.filter(|_| *query == Query::Browser).and_then(process::session_leader);
                let link = (self.links)(opener);
                let why = self.app.listening.http_fault.get().map_or("--http off", String::as_str);
                answer.link = Some(link.ok_or_else(|| format!("this hub runs without the console ({why})"))?);
                Ok(Purpose::Done)
            }
            Hello { ask: Some(Query::CalendarChanged), .. } => {
                self.app.assistant.changed_elsewhere();
                Ok(Purpose::Done)
            }
            Hello { hooked: Some(hooked), .. } => {
                record_hook(&self.app, hooked);
                Ok(Purpose::Done)
            }
            Hello { permission: true, .. } => {
                let slot = self.clients.clone().try_acquire_owned();
                Ok(Purpose::Permission(slot.map_err(|_| full(MAX_CONNECTIONS))?))
            }
            Hello { user: true, .. } => {
                self.peer(pid).require_no_agent().map_err(|rejection| rejection.message)?;
                let slot = self.control_slots.clone().try_acquire_owned();
                Ok(Purpose::Control(slot.map_err(|_| full(MAX_CONTROL_CLIENTS))?))
            }
            Hello { toolset: None, .. } => Err("the hello names no toolset".to_owned()),
            Hello { toolset: Some(name), .. } => {
                let slot = self.clients.clone().try_acquire_owned().map_err(|_| full(MAX_CONNECTIONS))?;
                let toolset = mcp::ToolsetSelection::from_name(name);
                let toolset = toolset.ok_or_else(|| format!("this hub has no toolset `{name}`"))?;
                let session = hello.session.clone().unwrap_or_default();
                Ok(Purpose::Mcp { toolset, script: hello.script, check: hello.check, session, slot })
            }
        }
    }
}

/// Reads the hello of a client, or the reason why it is rejected; `None` if the client does not write in time.
pub(super) async fn read_hello(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Result<Hello, String>> {
    let mut line = Vec::new();
    let mut bounded = input.take(MAX_HELLO_BYTES as u64);
    timeout(HELLO_TIMEOUT, bounded.read_until(b'\n', &mut line)).await.ok()?.ok()?;
    Some(match serde_json::from_slice::<Hello>(&line) {
        // A newer client may send a query that this hub does not know.
        Err(_) => Err("the first line is not a hello that this hub knows".to_owned()),
        Ok(hello) if hello.number != HELLO_VERSION => {
            Err(format!("this hub is adjutant {}, the client {}", env!("CARGO_PKG_VERSION"), hello.adjutant))
        }
        Ok(hello) => Ok(hello),
    })
}

/// Answers a hello; `None` if the client does not read in time.
pub(super) async fn reply(output: &mut (impl AsyncWrite + Unpin), answer: &HelloReply) -> Option<()> {
    let mut line = serde_json::to_vec(answer).ok()?;
    line.push(b'\n');
    timeout(HELLO_TIMEOUT, output.write_all(&line)).await.ok()?.ok()
}

/// Records the expansions of a hook in the activity log. The texts are untrusted, so they are cut.
fn record_hook(app: &App, hooked: &HookReport) {
    let short = |text: &str| -> String { text.chars().take(MAX_HOOK_CHARS).collect() };
    let actor = format!("{}, by its hook", short(&hooked.client));
    for HookCommand { name, expanded } in hooked.commands.iter().take(MAX_HOOK_COMMANDS) {
        let prompt = short(name);
        let (kind, event) = match expanded {
            Ok(bytes) => (ActivityKind::Expanded { prompt, bytes: *bytes }, Event::PromptExpanded),
            Err(reason) => (ActivityKind::Rejected { prompt, reason: short(reason) }, Event::PromptRefused),
        };
        app.activity.record(&actor, kind);
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
    // A store that does not answer makes both wait.
    let (database_fault, waiting) = tokio::join!(app.database_fault(), app.pending_counts());
    Status {
        http: app.listening.http.get().copied(),
        console: app.listening.console.get().cloned(),
        http_fault: app.listening.http_fault.get().cloned(),
        database_fault,
        socket: app.listening.socket.get().cloned(),
        uptime_seconds: app.started.elapsed().unwrap_or_default().as_secs(),
        clients: clients.collect(),
        waiting,
        config: app.toolsets.pending_changes(),
        replaced_watchers: replaced_watchers(),
    }
}
