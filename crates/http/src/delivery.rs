//! Delivery of responses: what a response holds counts as delivered once the other end has its bytes.

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

/// How long the other end may take to acknowledge a response whose last byte was sent.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The first pause before a look at the connection, and the longest: the last bytes may still be on their way to the
/// socket, and the kernel delays acknowledgements by up to 40 ms.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));

/// The delivery of a response. A response that was dropped before its end is lost.
pub(crate) struct Delivery {
    connection: Option<Arc<TcpConnection>>,
    ends: Option<Ends>,
}

/// The ends of a delivery, of which one runs.
struct Ends {
    received: BoxFuture<'static, ()>,
    lost: Box<dyn FnOnce() + Send>,
    /// Whether the response holds something that has to arrive. Otherwise the connection is not looked at.
    has_outcome: Box<dyn Fn() -> bool + Send>,
}

impl Delivery {
    /// Creates the delivery of the response to a request with these extensions: either `received` runs, or `lost`.
    /// Only where `has_outcome` says so, the other end's acknowledgement is waited for.
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

    /// Notes that all bytes were handed to the connection.
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
            (ends.lost)();
        }
    }
}

/// Waits until the other end of a connection has all bytes; false when the connection was broken before.
pub(crate) async fn is_acknowledged(connection: Option<&TcpConnection>) -> bool {
    let Some(connection) = connection else { return true };
    let end = Instant::now() + ACKNOWLEDGE_TIMEOUT;
    let mut pause = PAUSES.0;
    loop {
        sleep(pause).await;
        match process::unacknowledged_bytes(connection.local, connection.remote) {
            Some(0) => return true,
            Some(_) if Instant::now() < end => pause = (pause * 2).min(PAUSES.1),
            Some(_) | None => return false,
        }
    }
}

/// The body of a response whose delivery is followed.
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
