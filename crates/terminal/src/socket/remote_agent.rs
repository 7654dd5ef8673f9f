//! Agents of tasks on workers: their connections on the worker, and the same bytes on the hub.
//!
//! The worker accepts the connections of its runs, and reads nothing of them. The hub serves what it gets as it serves a relay on
//! its own socket, but for MCP alone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{BufReader, DuplexStream};
use tokio::net::{UnixListener, UnixStream};

use super::handshake::{Hello, HelloReply};
use super::server::{UserProcess, read_hello, reply};
use adjutant_agents::worker_order::RemoteAgent;
use adjutant_agents::{Agents, Origin, TaskId};
use adjutant_app::App;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config;
use adjutant_host::process;
use adjutant_mcp as mcp;

/// The reason for a process that reaches the socket of a worker from outside of its runs.
const NOT_A_RUN: &str = "a worker listens here, for the agents of its tasks alone";

/// The reason for everything but a toolset.
const TOOLS_ONLY: &str = "the agent of a task on a worker gets the tools of the hub, and nothing else";

/// Returns the home where this process finds its hub: that of the worker of `home`, if it belongs to one of its runs.
pub fn serving_home(home: &Path) -> PathBuf {
    let worker = config::worker(home);
    // A link in the path of the home is followed, as the kernel did.
    let is_of_worker = worker.canonicalize().is_ok_and(|worker| {
        process::folder_of_own_run().is_some_and(|run| run.starts_with(config::spool(&worker)))
    });
    if is_of_worker { worker } else { home.to_owned() }
}

/// Waits for the next connection of a process that belongs to a run of `agents`. All others are refused.
pub async fn accept_agent(listener: &UnixListener, agents: &Agents) -> io::Result<(TaskId, UnixStream)> {
    loop {
        let (stream, _) = listener.accept().await?;
        let Some(process) = UserProcess::of(&stream) else { continue };
        match process.pid.map(|pid| agents.origin(pid)) {
            Some(Origin::Task(task)) => return Ok((task, stream)),
            Some(Origin::Outside | Origin::Exited) | None => {
                tokio::spawn(refuse(stream, NOT_A_RUN.to_owned()));
            }
        }
    }
}

/// Answers the hello of a client with the reason why it is not served.
pub async fn refuse(stream: UnixStream, reason: String) {
    let (input, mut output) = stream.into_split();
    if read_hello(&mut BufReader::new(input)).await.is_some() {
        reply(&mut output, &HelloReply { error: Some(reason), ..HelloReply::new() }).await;
    }
}

/// Serves the agent of a task on a worker, whose relay writes and reads the other end of `stream`, to its end.
pub async fn serve_remote_agent(app: Arc<App>, agent: RemoteAgent, stream: DuplexStream) {
    let (input, mut output) = tokio::io::split(stream);
    let mut input = BufReader::new(input);
    let shutdown = app.shutdown.clone();
    let Some(Some(hello)) = shutdown.run_until_cancelled(read_hello(&mut input)).await else { return };
    let (answer, accepted) = match hello.and_then(accept) {
        Ok(accepted) => (HelloReply::new(), Some(accepted)),
        Err(reason) => (HelloReply { error: Some(reason), ..HelloReply::new() }, None),
    };
    if reply(&mut output, &answer).await.is_none() {
        return;
    }
    let Some((toolset, kind, session)) = accepted else { return };
    // The project of the hub's folder, because the worker has only a copy of it.
    let app = match config::workspace_of(&agent.here, &app.config.home) {
        Some(folder) => app.in_workspace(&folder),
        None => app,
    };
    mcp::serve_stream(app, toolset, kind, mcp::Peer::Remote(agent), session, input, output).await;
}

fn accept(hello: Hello) -> Result<(mcp::ToolsetSelection, ConnectionKind, mcp::AgentSession), String> {
    let Hello { toolset: Some(name), ask: None, user: false, hooked: None, permission: false, .. } = &hello
    else {
        return Err(TOOLS_ONLY.to_owned());
    };
    let toolset =
        mcp::ToolsetSelection::from_name(name).ok_or_else(|| format!("this hub has no toolset `{name}`"))?;
    let is_script = hello.script && !hello.check;
    let kind = if is_script { ConnectionKind::Script } else { ConnectionKind::Socket };
    Ok((toolset, kind, hello.session.unwrap_or_default()))
}
