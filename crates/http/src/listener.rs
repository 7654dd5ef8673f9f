//! Connections: accepted, bounded in number and time, and ended.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use adjutant_agents::TcpConnection;

/// How long a client may take from a connection's start, or from the last answer, to the end of the next head.
/// It bounds both a head that drips in and a connection that is kept for nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a request's head, and of what is buffered for writing.
const BUFFER: usize = 64 * 1024;

/// Connections at once, where the process may open that many files.
const CONNECTIONS: u64 = 1024;

/// Files that the rest of the process keeps for itself.
const OTHER_FILES: u64 = 128;

/// What one connection too many is told before it is closed.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
    retry-after: 1\r\nconnection: close\r\nx-content-type-options: nosniff\r\ncontent-length: 58\r\n\r\n\
    Too many connections are open. Close some, then try again.";

/// Accepts connections until `stop`, serves each with `answer`, and returns when all have ended or `grace` is over.
pub(crate) async fn run<A, F>(listener: TcpListener, stop: &CancellationToken, grace: Duration, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(places()));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // Ended connections are taken out as they end, so that the set does not grow with the uptime.
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
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                let link = stream.local_addr().ok().map(|local| Arc::new(TcpConnection::new(local, remote)));
                let connection = serve(stream, link, stop.clone(), answer.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(_) => {
                let _ = turn_away(stream).await;
            }
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, ended).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections did not end within the grace period");
    }
    connections.shutdown().await;
}

/// Without this a small answer waits for the acknowledgement of the one before it, 40 ms on Linux.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY is not to be had");
    }
}

async fn serve<A, F>(stream: TcpStream, link: Option<Arc<TcpConnection>>, stop: CancellationToken, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Send,
    F: Future<Output = Response<Body>> + Send,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        // Who is at the other end may have to be known; a request says nothing about that by itself.
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
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Tells one connection too many; never waits for it.
async fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    tokio::time::timeout(Duration::from_millis(100), async {
        stream.write_all(BUSY).await?;
        stream.shutdown().await
    })
    .await?
}

/// An accept that failed for want of files succeeds again when some are closed; one that the client broke off
/// needs no rest.
async fn rest(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn places() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let places = CONNECTIONS.min(files.saturating_sub(OTHER_FILES)).max(16);
    usize::try_from(places).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_answer_says_its_own_length() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
    }

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
