//! The hub's side: takes connections, reads the hello, and hands the stream to the protocol.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::hello::{Ask, ClientStatus, Hello, LONGEST, NUMBER, PATIENCE, Status, Welcome};
use crate::app::App;
use crate::app::clients::Transport;
use crate::mcp;

/// Connections at once. A client uses one; past this somebody leaks them, and the hub must not run out of files.
const CONNECTIONS: usize = 512;

/// Makes one-time login links for the console; `None` when there is no console.
pub(crate) type Links = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Serves until `app.shutdown`, and then until the connections have ended.
pub(crate) async fn serve(app: Arc<App>, listener: UnixListener, links: Links) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = app.shutdown.cancelled() => break,
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
        let peer_pid = match stream.peer_cred() {
            // What the kernel says counts, not what the client says of itself.
            Ok(peer) if peer.uid() == own => peer.pid().and_then(|pid| u32::try_from(pid).ok()),
            Ok(peer) => {
                tracing::warn!(peer.uid = peer.uid(), "turned away another user");
                continue;
            }
            Err(error) => {
                tracing::warn!(error = %error, "turned away a connection of an unknown user");
                continue;
            }
        };
        let (input, output) = stream.into_split();
        let place = free.clone().try_acquire_owned().ok();
        let (app, links) = (app.clone(), links.clone());
        connections.spawn(async move {
            let shutdown = app.shutdown.clone();
            let greeted = tokio::select! {
                () = shutdown.cancelled() => return,
                greeted = greet(app, BufReader::new(input), output, links, place.is_some()) => greeted,
            };
            if let Some(mut relayed) = greeted {
                relayed.pid = peer_pid.unwrap_or(relayed.pid);
                relayed.serve().await;
            }
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// A greeted connection.
struct Relayed {
    app: Arc<App>,
    server: mcp::Server,
    pid: u32,
    input: BufReader<OwnedReadHalf>,
    output: OwnedWriteHalf,
}

impl Relayed {
    async fn serve(self) {
        mcp::serve_stream(self.app, self.server, Transport::Socket, Some(self.pid), self.input, self.output)
            .await;
    }
}

/// Reads the hello and answers it. Returns the connection when a stream is to follow.
async fn greet(
    app: Arc<App>,
    mut input: BufReader<OwnedReadHalf>,
    mut output: OwnedWriteHalf,
    links: Links,
    free: bool,
) -> Option<Relayed> {
    let mut line = Vec::new();
    let mut bounded = (&mut input).take(LONGEST as u64);
    timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await.ok()?.ok()?;
    let hello = serde_json::from_slice::<Hello>(&line);
    let server = match &hello {
        Ok(Hello { server: Some(name), .. }) => mcp::Server::from_name(name),
        _ => None,
    };
    let mut answer = Welcome::new();
    match &hello {
        Err(_) => answer.error = Some("the first line is not a hello".to_owned()),
        Ok(hello) if hello.number != NUMBER => {
            answer.error =
                Some(format!("this hub is adjutant {}, the client {}", answer.adjutant, hello.adjutant));
        }
        Ok(Hello { ask: Some(Ask::Status), .. }) => answer.status = Some(status(&app)),
        Ok(Hello { ask: Some(Ask::Open), .. }) => {
            answer.link = links();
            if answer.link.is_none() {
                answer.error = Some("this hub runs without the console (--http off)".to_owned());
            }
        }
        Ok(_) if !free => {
            answer.error =
                Some(format!("{CONNECTIONS} clients are connected, there is no room for one more"));
        }
        Ok(Hello { server: None, .. }) => answer.error = Some("the hello names no server".to_owned()),
        Ok(Hello { server: Some(name), .. }) if server.is_none() => {
            answer.error = Some(format!("this hub has no server `{name}`"));
        }
        Ok(_) => {}
    }
    let follows = answer.error.is_none();
    let mut line = serde_json::to_vec(&answer).ok()?;
    line.push(b'\n');
    timeout(PATIENCE, output.write_all(&line)).await.ok()?.ok()?;
    let Hello { pid, workspace, .. } = hello.ok()?;
    let app = match workspace.filter(|folder| folder.is_absolute()) {
        Some(folder) => app.in_workspace(&folder),
        None => app,
    };
    server.filter(|_| follows).map(|server| Relayed { app, server, pid, input, output })
}

fn status(app: &App) -> Status {
    let clients = app.clients.all().into_iter().map(|client| ClientStatus {
        server: client.server.to_owned(),
        name: client.name,
        version: client.version,
        revision: client.revision,
        pid: client.pid,
        calls: client.calls,
    });
    Status {
        http: app.listening.http.get().copied(),
        socket: app.listening.socket.get().cloned(),
        uptime_seconds: app.started.elapsed().unwrap_or_default().as_secs(),
        clients: clients.collect(),
    }
}
