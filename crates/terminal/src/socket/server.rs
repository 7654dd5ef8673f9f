//! The hub's side: takes connections, reads the hello, and hands the stream to the protocol or to the person's door.

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

use super::hello::{
    Ask, ClientStatus, ConfigStatus, HOOKED, HOOKED_TEXT, Hello, Hooked, HookedCommand, LONGEST, NUMBER,
    PATIENCE, Status, WaitingStatus, Welcome,
};
use super::person;
use super::relays::{Relays, Written};
use crate::app::App;
use crate::app::activity::What;
use crate::app::clients::Transport;
use crate::app::rooms::Changed;
use crate::app::waiting::Waiting;
use crate::events::Event;
use crate::mcp;

/// Connections at once. A client uses one; past this somebody leaks them, and the hub must not run out of files.
const CONNECTIONS: usize = 512;

/// Connections of people's programs beside those: clients that leak must not keep a person out.
const PEOPLE: usize = 64;

/// Makes one-time login links for the console; `None` when there is no console.
pub(crate) type Links = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Serves until `app.shutdown`, and then until the connections have ended.
pub(crate) async fn serve(app: Arc<App>, listener: UnixListener, links: Links) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    let door = Door {
        app,
        links,
        clients: Arc::new(Semaphore::new(CONNECTIONS)),
        people: Arc::new(Semaphore::new(PEOPLE)),
        relays: Arc::default(),
    };
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = door.app.shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of files, most likely: what is connected goes on, and a moment later there may be room.
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
        connections.spawn(door.clone().take(stream, pid));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// What every connection needs.
#[derive(Clone)]
struct Door {
    app: Arc<App>,
    links: Links,
    clients: Arc<Semaphore>,
    people: Arc<Semaphore>,
    relays: Arc<Relays>,
}

/// What follows a hello.
enum Follows {
    Mcp {
        server: mcp::Server,
        script: bool,
        place: OwnedSemaphorePermit,
    },
    /// A person's acts.
    Acts(OwnedSemaphorePermit),
    Nothing,
}

impl Door {
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
            Follows::Mcp { server, script, place: _place } => {
                let entered = pid.filter(|_| !script).and_then(|pid| self.relays.enter(pid)).map(Arc::new);
                let output = Written::new(entered.clone(), output);
                let transport = if script { Transport::Script } else { Transport::Socket };
                mcp::serve_stream(app, server, transport, pid, input, output).await;
            }
            Follows::Acts(_place) => {
                let admit = || self.relays.admit(&app, pid);
                shutdown.run_until_cancelled(person::serve(&app, input, output, admit)).await;
            }
            Follows::Nothing => {}
        }
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
        let mut bounded = input.take(LONGEST as u64);
        timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await.ok()?.ok()?;
        let mut answer = Welcome::new();
        let mut workspace = None;
        let greeted = match serde_json::from_slice::<Hello>(&line) {
            // What a newer client asks for may be none of the questions that are known here.
            Err(_) => Err("the first line is no hello that this hub knows".to_owned()),
            Ok(hello) if hello.number != NUMBER => {
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
        timeout(PATIENCE, output.write_all(&line)).await.ok()?.ok()?;
        Some((follows, workspace))
    }

    /// Says what follows a hello that can be read, or why nothing does; puts into `answer` what was asked for.
    async fn consider(
        &self,
        hello: &Hello,
        pid: Option<u32>,
        answer: &mut Welcome,
    ) -> Result<Follows, String> {
        let full = |most| format!("{most} clients are connected, there is no room for one more");
        match hello {
            Hello { ask: Some(Ask::Status), .. } => {
                answer.status = Some(status(&self.app).await);
                Ok(Follows::Nothing)
            }
            Hello { ask: Some(Ask::Open), .. } => {
                self.relays.admit(&self.app, pid)?;
                let link = (self.links)();
                answer.link = Some(link.ok_or("this hub runs without the console (--http off)")?);
                Ok(Follows::Nothing)
            }
            Hello { hooked: Some(hooked), .. } => {
                note(&self.app, hooked);
                Ok(Follows::Nothing)
            }
            Hello { person: true, .. } => {
                self.relays.admit(&self.app, pid)?;
                Ok(Follows::Acts(self.people.clone().try_acquire_owned().map_err(|_| full(PEOPLE))?))
            }
            Hello { server: None, .. } => Err("the hello names no server".to_owned()),
            Hello { server: Some(name), .. } => {
                let place = self.clients.clone().try_acquire_owned().map_err(|_| full(CONNECTIONS))?;
                let server = mcp::Server::from_name(name);
                let server = server.ok_or_else(|| format!("this hub has no server `{name}`"))?;
                Ok(Follows::Mcp { server, script: hello.script, place })
            }
        }
    }
}

/// Puts what a hook did among what happened. It is the client's word, so it is short.
fn note(app: &App, hooked: &Hooked) {
    let short = |text: &str| -> String { text.chars().take(HOOKED_TEXT).collect() };
    let who = format!("{}, by its hook", short(&hooked.client));
    for HookedCommand { name, expanded } in hooked.commands.iter().take(HOOKED) {
        let prompt = short(name);
        let (what, event) = match expanded {
            Ok(bytes) => (What::Expanded { prompt, bytes: *bytes }, Event::PromptExpanded),
            Err(reason) => (What::Refused { prompt, reason: short(reason) }, Event::PromptRefused),
        };
        app.activity.record(&who, what);
        app.events.send(event);
    }
}

async fn status(app: &App) -> Status {
    let clients = app.clients.all().into_iter().map(|client| ClientStatus {
        check: client.is_check(),
        server: client.server.to_owned(),
        name: client.name,
        version: client.version,
        revision: client.revision,
        pid: client.pid,
        calls: client.calls,
    });
    let Waiting { questions, approvals, untold: failed_notifications } = app.waiting().await;
    let Changed { waiting: waiting_for_restart, fault } = app.rooms.file();
    Status {
        http: app.listening.http.get().copied(),
        socket: app.listening.socket.get().cloned(),
        uptime_seconds: app.started.elapsed().unwrap_or_default().as_secs(),
        clients: clients.collect(),
        waiting: WaitingStatus { questions, approvals, failed_notifications },
        config: ConfigStatus { waiting_for_restart, fault },
    }
}
