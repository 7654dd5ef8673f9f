//! Connections: accepted, bounded in number and time, and ended.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Extensions, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use adjutant_agents::TcpConnection;
use adjutant_base::mutex::lock;

/// Timeout from a connection's start, or from the last response, to the end of the next head. Bounds both a slowly
/// arriving head and an unused connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a request's head, and of what is buffered for writing.
const BUFFER: usize = 64 * 1024;

/// Maximum number of admitted connections, if the process may open that many files.
const MAX_CONNECTIONS: u64 = 2048;

/// Maximum number of connections that have not been admitted. A new one replaces the oldest, so that slow connections
/// do not block others.
const MAX_PENDING: usize = 1024;

/// Maximum number of pending connections of one peer. It applies once the oldest is older than [`PENDING_GRACE`],
/// because a client may open many at once.
const MAX_PENDING_PER_PEER: usize = 128;
const PENDING_GRACE: Duration = Duration::from_secs(1);

/// Files reserved for the rest of the process.
const OTHER_FILES: u64 = 128;

/// The message for a request on a connection that cannot be admitted.
pub(crate) const BUSY: &str = "too many connections are open; close some, then try again";

/// The connections of one listener. A connection is admitted with its first complete and permitted request; until
/// then it takes no place from admitted ones.
#[derive(Debug)]
struct Connections {
    places: Arc<Semaphore>,
    pending: Mutex<VecDeque<Arc<Admission>>>,
}

/// The admission of one connection.
#[derive(Debug)]
struct Admission {
    connections: Arc<Connections>,
    place: OnceLock<OwnedSemaphorePermit>,
    peer: IpAddr,
    accepted: Instant,
    /// Ends the connection if it is not admitted.
    displaced: CancellationToken,
}

impl Connections {
    /// Enters a new connection of `peer`. Displaces the oldest pending connection if there are too many.
    fn enter(self: &Arc<Self>, peer: IpAddr) -> Arc<Admission> {
        let admission = Arc::new(Admission {
            connections: self.clone(),
            place: OnceLock::new(),
            peer,
            accepted: Instant::now(),
            displaced: CancellationToken::new(),
        });
        let mut pending = lock(&self.pending);
        let of_peer = pending.iter().filter(|other| other.peer == peer).count();
        let oldest_of_peer = pending.iter().position(|other| other.peer == peer).filter(|oldest| {
            of_peer >= MAX_PENDING_PER_PEER && pending[*oldest].accepted.elapsed() > PENDING_GRACE
        });
        let oldest = oldest_of_peer.or_else(|| (pending.len() >= MAX_PENDING).then_some(0));
        if let Some(oldest) = oldest.and_then(|oldest| pending.remove(oldest)) {
            oldest.displaced.cancel();
        }
        pending.push_back(admission.clone());
        admission
    }

    fn leave(&self, admission: &Arc<Admission>) {
        lock(&self.pending).retain(|other| !Arc::ptr_eq(other, admission));
    }
}

/// Admits the connection of a request with these extensions; false when there are too many.
pub(crate) fn admit(extensions: &Extensions) -> bool {
    let Some(admission) = extensions.get::<Arc<Admission>>() else { return true };
    if admission.place.get().is_some() {
        return true;
    }
    let Ok(place) = admission.connections.places.clone().try_acquire_owned() else { return false };
    admission.connections.leave(admission);
    // A connection has one request at a time.
    let _ = admission.place.set(place);
    true
}

/// Accepts connections until `stop`, serves each with `answer`, and returns when all have ended or `grace` is over.
pub(crate) async fn run<A, F>(
    (listener, tls): (TcpListener, Option<TlsAcceptor>),
    stop: &CancellationToken,
    grace: Duration,
    answer: A,
) where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let entered =
        Arc::new(Connections { places: Arc::new(Semaphore::new(places())), pending: Mutex::default() });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // Ended connections are removed at once, so that the set does not grow with the uptime.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, remote) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                rest(&error).await;
                continue;
            }
        };
        prepare(&stream);
        let link = stream.local_addr().ok().map(|local| Arc::new(TcpConnection::new(local, remote)));
        let admission = entered.enter(remote.ip().to_canonical());
        let (stop, tls, answer) = (stop.clone(), tls.clone(), answer.clone());
        connections.spawn(async move {
            let entry = admission.clone();
            match tls {
                None => serve(stream, link, entry, stop, answer).await,
                Some(tls) => {
                    if let Some(stream) = shake_hands(&tls, stream, &entry, &stop).await {
                        serve(stream, link, entry, stop, answer).await;
                    }
                }
            }
            admission.connections.leave(&admission);
        });
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, ended).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections did not end within the grace period");
    }
    connections.shutdown().await;
}

/// Disables Nagle's algorithm: a small response would wait for the previous acknowledgement, 40 ms on Linux.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
}

/// Does the handshake of TLS, as long as the head of a request may take.
async fn shake_hands(
    tls: &TlsAcceptor,
    stream: TcpStream,
    admission: &Admission,
    stop: &CancellationToken,
) -> Option<impl AsyncRead + AsyncWrite + Unpin + Send + 'static> {
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)) => shaken,
        () = admission.displaced.cancelled() => return None,
        () = stop.cancelled() => return None,
    };
    match shaken {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}

async fn serve<S, A, F>(
    stream: S,
    link: Option<Arc<TcpConnection>>,
    admission: Arc<Admission>,
    stop: CancellationToken,
    answer: A,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>) -> F + Send,
    F: Future<Output = Response<Body>> + Send,
{
    let displaced = admission.displaced.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(admission.clone());
        // Handlers may need the process at the other end, which the request itself does not name.
        if let Some(link) = &link {
            request.extensions_mut().insert(link.clone());
        }
        let answered = answer(request);
        async { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = displaced.cancelled() => return,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Pauses after a failed accept: without free files it succeeds only after some are closed. An accept that the
/// client broke off needs no pause.
async fn rest(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Raises this process's limit of open files to the maximum, and returns how many connections can be admitted.
fn places() -> usize {
    let mut files = getrlimit(Resource::Nofile);
    let wanted = MAX_CONNECTIONS + MAX_PENDING as u64 + OTHER_FILES;
    if files.current.is_some_and(|current| current < wanted) {
        files.current = Some(files.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        if let Err(error) = setrlimit(Resource::Nofile, files) {
            tracing::debug!(%error, "the limit of open files stays as it is");
        }
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    let places = files.saturating_sub(MAX_PENDING as u64 + OTHER_FILES).clamp(16, MAX_CONNECTIONS);
    usize::try_from(places).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_accepted_socket_does_not_wait_for_acknowledgements() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(!stream.nodelay().unwrap());
        prepare(&stream);
        assert!(stream.nodelay().unwrap());
    }
}
