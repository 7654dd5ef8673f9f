//! Connections of the agents that run here to the hubs of their tasks, over NATS.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::claim::Claim;
use super::hub_client::ask;
use crate::protocol::{Body, CHUNK_BYTES, POLL_TIMEOUT, Response};
use adjutant_agents::TaskId;
use adjutant_base::text::hex;

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 64;
/// Time for a connection to be opened. A relay waits five seconds for the reply to its first line.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);
/// Time that one request waits for its response, which the hub may hold back.
const REQUEST_TIMEOUT: Duration = POLL_TIMEOUT.saturating_add(Duration::from_secs(3));
/// Time without a response after which a connection ends, so that its calls get an error.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(12);
/// Pause before the same request is sent again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The way of the agents of a worker to their hubs.
#[derive(Clone)]
pub struct AgentConnections {
    client: async_nats::Client,
    /// The id of the worker.
    worker: Arc<str>,
    /// The claims of the tasks that run here, and the folders of their agents.
    tasks: Arc<watch::Sender<HashMap<TaskId, (Claim, PathBuf)>>>,
    places: Arc<Semaphore>,
}

/// An open connection to the hub of a task.
pub struct AgentConnection {
    client: async_nats::Client,
    worker: Arc<str>,
    claim: Claim,
    stream: String,
    _place: OwnedSemaphorePermit,
}

impl AgentConnections {
    /// Makes the connections of the worker with this id, without I/O.
    pub fn new(client: async_nats::Client, worker: &str) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self { client, worker: worker.into(), tasks: Arc::default(), places }
    }

    /// Lets the agent of a task connect from now on.
    pub(super) fn admit(&self, task: &TaskId, claim: &Claim, folder: PathBuf) {
        self.tasks.send_modify(|tasks| drop(tasks.insert(task.clone(), (claim.clone(), folder))));
    }

    /// Ends what [`Self::admit`] began.
    pub(super) fn dismiss(&self, task: &TaskId) {
        self.tasks.send_modify(|tasks| drop(tasks.remove(task)));
    }

    /// Opens a connection for the agent of a task in the queue of this worker. The error is a sentence fragment for the
    /// agent.
    pub async fn open(&self, task: &TaskId) -> Result<AgentConnection, String> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            format!("the agents of this worker have {MAX_CONNECTIONS} connections, which is the limit")
        })?;
        let open = async {
            // A task may run a moment before the worker has noted it, also after a new start.
            let mut tasks = self.tasks.subscribe();
            let known = tasks.wait_for(|tasks| tasks.contains_key(task)).await;
            let known = known.ok().and_then(|tasks| tasks.get(task).cloned());
            let Some((claim, folder)) = known else { return Err("the worker ends".to_owned()) };
            let folder = folder.canonicalize().unwrap_or(folder);
            let stream = hex::random::<16>().map_err(|error| error.to_string())?;
            let (client, worker) = (self.client.clone(), self.worker.clone());
            let connection = AgentConnection { client, worker, claim, stream, _place: place };
            let stream = connection.stream.clone();
            connection.ask(Body::Open { stream, folder }).await?;
            Ok(connection)
        };
        let opened = timeout(OPEN_TIMEOUT, open).await;
        opened.unwrap_or_else(|_| Err("the hub of this task does not answer; call again later".to_owned()))
    }
}

impl AgentConnection {
    /// Carries the bytes of both directions, until the hub or the agent ends the connection, or the hub is silent.
    pub async fn carry(self, connection: UnixStream) {
        let (mut input, mut output) = connection.into_split();
        let up = async {
            let mut part = vec![0; CHUNK_BYTES];
            for number in 1.. {
                let read = input.read(&mut part).await.unwrap_or(0);
                let (stream, data) = (self.stream.clone(), BASE64_STANDARD.encode(&part[..read]));
                self.ask(Body::Send { stream, number, data }).await?;
                if read == 0 {
                    break;
                }
            }
            // The hub may still answer.
            std::future::pending().await
        };
        let down = async {
            let mut number = 1;
            loop {
                match self.ask(Body::Receive { stream: self.stream.clone(), number }).await? {
                    Response::Data { data } if data.is_empty() => {}
                    Response::Data { data } => {
                        let part = BASE64_STANDARD.decode(data).map_err(|error| error.to_string())?;
                        output.write_all(&part).await.map_err(|error| error.to_string())?;
                        number += 1;
                    }
                    Response::Ended => return Ok(()),
                    _ => return Err("the hub sent an unexpected answer".to_owned()),
                }
            }
        };
        let ended: Result<(), String> = tokio::select! {
            ended = up => ended,
            ended = down => ended,
        };
        if let Err(reason) = ended {
            tracing::info!(reason, task = self.claim.task, "the connection of an agent to its hub ends");
        }
    }

    /// Sends a request until the hub answers it. The error is the hub's refusal, or that it is silent for too long.
    async fn ask(&self, body: Body) -> Result<Response, String> {
        let mut end = Instant::now() + SILENCE_TIMEOUT;
        loop {
            let limit = REQUEST_TIMEOUT.min(end.saturating_duration_since(Instant::now()));
            match ask(&self.client, &self.worker, &self.claim, body.clone(), limit).await {
                Ok(Response::Refused { reason }) => return Err(reason),
                Ok(Response::Later { .. }) => end = Instant::now() + SILENCE_TIMEOUT,
                Ok(response) => return Ok(response),
                Err(reason) if Instant::now() >= end => {
                    return Err(format!("the hub is silent: {reason}"));
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}
