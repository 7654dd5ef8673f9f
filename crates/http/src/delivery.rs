//! Delivery of responses: the content of a response counts as delivered once the client has its bytes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Extensions, Response};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, sleep};

use adjutant_agents::TcpConnection;
use adjutant_host::process;

/// Timeout for the client to acknowledge a response after its last byte was sent.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The first and the longest pause before the connection is checked: the last bytes may still be on their way to the
/// socket, and the kernel delays acknowledgements by up to 40 ms.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));

/// The delivery of a response. A response that was dropped before its end is lost.
pub(crate) struct Delivery {
    connection: Option<Arc<TcpConnection>>,
    ends: Option<Ends>,
}

/// The two ends of a delivery; exactly one runs.
struct Ends {
    received: BoxFuture<'static, ()>,
    lost: Box<dyn FnOnce() + Send>,
    /// Returns whether the response has an outcome that must arrive. Otherwise the connection is not checked.
    has_outcome: Box<dyn Fn() -> bool + Send>,
}

impl Delivery {
    /// Creates the delivery of the response to a request with these extensions: either `received` runs, or `lost`.
    /// Waits for the client's acknowledgement only if `has_outcome` returns true.
    pub(crate) fn new(
        extensions: &Extensions,
        has_outcome: impl Fn() -> bool + Send + 'static,
        received: impl Future<Output = ()> + Send + 'static,
        lost: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (received, lost, has_outcome) = (received.boxed(), Box::new(lost), Box::new(has_outcome));
        Self { connection: extensions.get().cloned(), ends: Some(Ends { received, lost, has_outcome }) }
    }

    /// Follows `response` to its end.
    pub(crate) fn follow(self, response: Response<Body>) -> Response<Body> {
        response.map(|body| Body::new(FollowedBody { body, delivery: Some(self) }))
    }

    /// Records that all bytes were handed to the connection.
    fn sent(mut self) {
        let connection = self.connection.take();
        let Some(Ends { received, lost, has_outcome }) = self.ends.take() else { return };
        if !has_outcome() {
            let _ = received.now_or_never();
            return;
        }
        tokio::spawn(async move {
            if is_acknowledged(connection.as_deref()).await { received.await } else { lost() }
        });
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(ends) = self.ends.take() {
            if (ends.has_outcome)() {
                tracing::info!("the connection of a response ended before its end");
            }
            (ends.lost)();
        }
    }
}

/// Waits until the peer of a connection has all bytes; false when the connection broke before, or
/// [`ACKNOWLEDGE_TIMEOUT`] is over. True at once without a connection.
pub(crate) async fn is_acknowledged(connection: Option<&TcpConnection>) -> bool {
    let Some(connection) = connection else { return true };
    let end = Instant::now() + ACKNOWLEDGE_TIMEOUT;
    let mut pause = PAUSES.0;
    loop {
        sleep(pause).await;
        match process::unacknowledged_bytes(connection.local, connection.remote) {
            Some(0) => return true,
            Some(_) if Instant::now() < end => pause = (pause * 2).min(PAUSES.1),
            unacknowledged => {
                tracing::info!(client = %connection.remote, bytes = unacknowledged, "a response did not arrive whole");
                return false;
            }
        }
    }
}

/// The body of a response with its delivery.
struct FollowedBody {
    body: Body,
    delivery: Option<Delivery>,
}

impl FollowedBody {
    fn sent(&mut self) {
        if let Some(delivery) = self.delivery.take() {
            delivery.sent();
        }
    }
}

impl HttpBody for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.sent();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for FollowedBody {
    fn drop(&mut self) {
        // A body of a known length is not polled again after its last byte.
        if self.body.is_end_stream() {
            self.sent();
        }
    }
}
