//! The socket of a worker, for the agents of its tasks.

use std::path::Path;
use std::time::Duration;

use tokio::net::UnixListener;

use super::super::output::Failure;
use adjutant_agents::Agents;
use adjutant_base::config;
use adjutant_terminal::socket;
use adjutant_workers::AgentConnections;

/// Pause after a connection that could not be accepted, most likely for lack of files.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Listens in the folder of a worker, which this process must have claimed.
pub(super) fn listen(folder: &Path) -> Result<UnixListener, Failure> {
    let path = socket::place(&config::default_socket(folder));
    let listener = socket::listen(&path)?;
    listener.set_nonblocking(true)?;
    socket::link_for_runs(folder, &path);
    Ok(UnixListener::from_std(listener)?)
}

/// Connects the agents of the worker's tasks to their hubs, for as long as it runs.
pub(super) async fn serve(agents: Agents, listener: UnixListener, connections: AgentConnections) {
    // Before that the runs that an earlier process left are not known as such.
    agents.runs_adopted().await;
    loop {
        match socket::accept_agent(&listener, &agents).await {
            Ok((task, stream)) => {
                let connections = connections.clone();
                tokio::spawn(async move {
                    match connections.open(&task).await {
                        Ok(connection) => connection.carry(stream).await,
                        Err(reason) => socket::refuse(stream, reason).await,
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept the connection of an agent");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}
