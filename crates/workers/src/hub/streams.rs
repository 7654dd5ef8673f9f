//! Connections of agents on workers: each is a stream of bytes that its worker asks for, part by part.
//!
//! One part of each direction is on its way. A request that comes again gets the same reply, because the first one may have been
//! lost. The fence is checked at each request, and a stream that is not asked for ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Hub;
use super::requests::{STALE, refused};
use crate::protocol::{CHUNK_BYTES, POLL_TIMEOUT, Response};
use adjutant_agents::Error;
use adjutant_agents::worker_order::{Lease, RemoteAgent};

/// Streams at the same time, of all workers and of one task.
pub(super) const MAX_STREAMS: usize = 128;
const MAX_STREAMS_OF_TASK: usize = 16;

/// Time after which a stream ends for which its worker does not ask.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the search for such streams.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the search for open streams when the hub stops.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The agents that connect, with the ends of their streams.
pub type Arrivals = mpsc::Sender<(RemoteAgent, DuplexStream)>;

/// The key of a stream: the worker, and the name that the worker gave it.
type Key = (String, String);

/// The streams of a hub.
#[derive(Default)]
pub(super) struct Streams(Mutex<HashMap<Key, Arc<Stream>>>);

struct Stream {
    lease: Lease,
    up: AsyncMutex<Up>,
    down: AsyncMutex<Down>,
    /// Cancelled when a newer request for a part has come: the reply to the older one may be lost.
    newest: Mutex<CancellationToken>,
    used: Mutex<Instant>,
    /// Whether the hub has ended it and the worker knows.
    ended: AtomicBool,
}

/// The direction from the agent.
struct Up {
    /// The part that is passed on, or is being passed on.
    number: u64,
    part: Vec<u8>,
    passed: usize,
    output: WriteHalf<DuplexStream>,
}

/// The direction to the agent.
struct Down {
    /// The last part that was sent.
    number: u64,
    part: Vec<u8>,
    input: ReadHalf<DuplexStream>,
}

impl Stream {
    fn is_of(&self, lease: &Lease) -> bool {
        (&self.lease.task, self.lease.fence) == (&lease.task, lease.fence)
    }

    /// Returns the time since the worker asked last.
    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Streams {
    fn find(&self, key: &Key, lease: &Lease) -> Option<Arc<Stream>> {
        let streams = self.lock();
        let found = streams.get(key).filter(|stream| stream.is_of(lease))?;
        *found.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(found.clone())
    }

    fn remove(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Adds a stream and returns the hub's end of it; `None` where it is there. The error is a sentence fragment.
    fn add(&self, key: Key, lease: Lease) -> Result<Option<DuplexStream>, String> {
        let mut streams = self.lock();
        if streams.get(&key).is_some_and(|stream| stream.is_of(&lease)) {
            return Ok(None);
        }
        streams.retain(|_, stream| !stream.ended.load(Ordering::SeqCst));
        let of_task = streams.values().filter(|stream| stream.lease.task == lease.task).count();
        if streams.len() >= MAX_STREAMS || of_task >= MAX_STREAMS_OF_TASK {
            return Err(format!(
                "agents on workers have {} connections, of which {of_task} are of this task; {MAX_STREAMS} and \
                 {MAX_STREAMS_OF_TASK} are the limits",
                streams.len()
            ));
        }
        let (of_hub, of_worker) = tokio::io::duplex(CHUNK_BYTES);
        let (input, output) = tokio::io::split(of_worker);
        let stream = Stream {
            lease,
            up: AsyncMutex::new(Up { number: 0, part: Vec::new(), passed: 0, output }),
            down: AsyncMutex::new(Down { number: 0, part: Vec::new(), input }),
            newest: Mutex::default(),
            used: Mutex::new(Instant::now()),
            ended: AtomicBool::new(false),
        };
        streams.insert(key, Arc::new(stream));
        Ok(Some(of_hub))
    }

    /// Ends the streams for which nobody asks, for as long as it runs.
    pub(super) async fn end_idle(&self) {
        loop {
            tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
            self.lock().retain(|_, stream| stream.idle() < IDLE_TIMEOUT);
        }
    }

    /// Waits until the workers know the end of their streams. One that does not ask counts as gone.
    pub(super) async fn all_ended(&self) {
        let is_open =
            |stream: &Arc<Stream>| !stream.ended.load(Ordering::SeqCst) && stream.idle() < 2 * POLL_TIMEOUT;
        while self.lock().values().any(is_open) {
            tokio::time::sleep(END_CHECK_INTERVAL).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Stream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// Opens a stream for the agent of a task that the worker holds.
    pub(super) async fn open(
        &self,
        lease: &Lease,
        worker: (&str, &str),
        stream: String,
        folder: PathBuf,
    ) -> Result<Response, Error> {
        let key = (worker.0.to_owned(), stream);
        let Some(agent) = self.agents.agent_on_worker(lease, worker, folder).await? else {
            return Ok(refused(STALE.to_owned()));
        };
        let end = match self.streams.add(key.clone(), lease.clone()) {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(Response::Opened),
            Err(reason) => return Ok(refused(reason)),
        };
        if self.arrivals.send((agent, end)).await.is_err() {
            self.streams.remove(&key);
            return Ok(refused("the hub stops".to_owned()));
        }
        Ok(Response::Opened)
    }

    /// Passes a part on to the hub's end, or says that the worker must send it again.
    pub(super) async fn send(
        &self,
        lease: &Lease,
        key: Key,
        number: u64,
        data: &str,
    ) -> Result<Response, Error> {
        let stream = match self.stream(lease, &key).await? {
            Ok(stream) => stream,
            Err(refusal) => return Ok(refusal),
        };
        let passing = async {
            let up = &mut *stream.up.lock().await;
            if number == up.number + 1 && up.passed == up.part.len() {
                let Ok(part) = BASE64_STANDARD.decode(data) else {
                    return Ok(refused("a part is not base64".to_owned()));
                };
                if part.len() > CHUNK_BYTES {
                    return Ok(refused("a part is too large".to_owned()));
                }
                (up.number, up.part, up.passed) = (number, part, 0);
                if up.part.is_empty() {
                    let _ = up.output.shutdown().await;
                }
            } else if number != up.number {
                return Ok(refused(format!("part {number} came after part {}", up.number)));
            }
            // What is written stays written when the time is over.
            while up.passed < up.part.len() {
                // After an error the hub has ended the stream, which the reply to the next request for a part says.
                up.passed = match up.output.write(&up.part[up.passed..]).await {
                    Ok(written) => up.passed + written,
                    Err(_) => up.part.len(),
                };
            }
            Ok(Response::Written)
        };
        timeout(POLL_TIMEOUT, passing).await.unwrap_or_else(|_| {
            Ok(Response::Later { reason: "the hub has not read what the agent sent before".to_owned() })
        })
    }

    /// Returns the part with this number, as soon as there is one.
    pub(super) async fn receive(&self, lease: &Lease, key: Key, number: u64) -> Result<Response, Error> {
        let stream = match self.stream(lease, &key).await? {
            Ok(stream) => stream,
            Err(refusal) => return Ok(refusal),
        };
        let newest = CancellationToken::new();
        std::mem::replace(&mut *stream.newest.lock().unwrap_or_else(PoisonError::into_inner), newest.clone())
            .cancel();
        let Down { number: last, part, input } = &mut *stream.down.lock().await;
        if number == *last + 1 {
            let mut next = vec![0; CHUNK_BYTES];
            let read = newest.run_until_cancelled(timeout(POLL_TIMEOUT, input.read(&mut next))).await;
            let Some(Ok(read)) = read else { return Ok(Response::Data { data: String::new() }) };
            next.truncate(read.unwrap_or(0));
            if next.is_empty() {
                stream.ended.store(true, Ordering::SeqCst);
                return Ok(Response::Ended);
            }
            (*last, *part) = (number, next);
        } else if number != *last || number == 0 {
            return Ok(refused(format!("part {number} is not the one after part {last}")));
        }
        Ok(Response::Data { data: BASE64_STANDARD.encode(part) })
    }

    /// Returns a stream of a task that the worker still holds, or the refusal.
    async fn stream(&self, lease: &Lease, key: &Key) -> Result<Result<Arc<Stream>, Response>, Error> {
        if !self.agents.is_held_by(lease, &key.0).await? {
            self.streams.remove(key);
            return Ok(Err(refused(STALE.to_owned())));
        }
        let found = self.streams.find(key, lease);
        Ok(found.ok_or_else(|| refused("the hub does not have this connection any more".to_owned())))
    }
}
