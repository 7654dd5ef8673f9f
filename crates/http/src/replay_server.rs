//! A loopback server that replays a recording of HTTP: each request gets the response of the matching recorded request.
//!
//! Every program that knows the address may send requests, if it uses the listener's own name. A replay is as
//! confidential as its recording, so the guard of the hub's routes is in front here too.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::HeaderName;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use hyper::body::Incoming;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::host_guard::{self, Names};
use super::mcp_endpoint::head;
use super::response_builders::{empty, json};
use super::{body, listener, rejections};
use adjutant_base::mutex::lock;
use adjutant_host::recorder::http_head::Head;
use adjutant_host::recorder::replay::{Due, LineMatch, Player};

/// Maximum bytes of a body; a longer one is not compared.
const MAX_BODY_BYTES: usize = 32 << 20;
/// Time for which open responses may continue after `stop`.
const GRACE: Duration = Duration::from_millis(500);

struct ReplayServer {
    replay: Mutex<Replay>,
    names: Names,
}

/// A player, and the requests that wait for its messages.
struct Replay {
    player: Player,
    /// The open responses by the number of the recorded request. The recording bounds the messages sent to them.
    open: HashMap<u64, UnboundedSender<Due>>,
    /// Called after each request.
    on_request: Box<dyn Fn(&Player) + Send>,
}

/// Answers until `stop`, and returns the player. `on_request` is called after each request.
pub async fn replay(
    listener: TcpListener,
    address: SocketAddr,
    player: Player,
    stop: CancellationToken,
    on_request: impl Fn(&Player) + Send + 'static,
) -> Option<Player> {
    let replay = Replay { player, open: HashMap::new(), on_request: Box::new(on_request) };
    let server = Arc::new(ReplayServer { replay: Mutex::new(replay), names: Names::new(address, &[], None) });
    let answering = server.clone();
    listener::run((listener, None), &stop, GRACE, move |request| {
        let server = answering.clone();
        async move { server.answer(request).await }
    })
    .await;
    Arc::into_inner(server)
        .map(|server| server.replay.into_inner().unwrap_or_else(PoisonError::into_inner).player)
}

impl ReplayServer {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, incoming) = request.into_parts();
        if let Some((status, message)) = self.names.refusal(&parts.method, &parts.uri, &parts.headers) {
            return rejections::invalid(status, None, message);
        }
        if !listener::admit(&parts.extensions) {
            return rejections::invalid(StatusCode::SERVICE_UNAVAILABLE, None, listener::BUSY);
        }
        let line = if parts.method == Method::POST {
            match body::read(&parts.headers, incoming, MAX_BODY_BYTES).await {
                Ok(bytes) => bytes.trim_ascii().to_vec(),
                Err((status, message)) => return rejections::invalid(status, None, message),
            }
        } else {
            json!({"id": "HTTP", "method": parts.method.as_str()}).to_string().into_bytes()
        };
        let head = head(parts.method.as_str(), &parts.headers, str::to_owned);
        let mut answers = match self.on_request(&line, &head) {
            Ok(answers) => answers,
            Err(Some(refusal)) if parts.method == Method::POST => return json(StatusCode::OK, refusal),
            Err(_) if parts.method == Method::POST => return empty(StatusCode::ACCEPTED),
            Err(_) => return empty(StatusCode::METHOD_NOT_ALLOWED),
        };
        // No response comes if the recording ends before, or waits for a different request.
        let Some(first) = answers.next().await else { return empty(StatusCode::SERVICE_UNAVAILABLE) };
        self.begin(&first, answers)
    }

    /// Passes a request to the player. Returns the messages of its response, or the answer to a request that is not in
    /// the recording.
    fn on_request(&self, line: &[u8], head: &Head) -> Result<UnboundedReceiver<Due>, Option<Vec<u8>>> {
        let mut replay = lock(&self.replay);
        let Replay { player, open, on_request } = &mut *replay;
        let call = match player.on_line(line) {
            LineMatch::Known { call } => call,
            LineMatch::Unknown { answer } => {
                on_request(player);
                return Err(answer);
            }
        };
        player.on_request_head(call, head);
        let (sender, answers) = unbounded();
        open.insert(call, sender);
        while let Some(due) = player.due() {
            if let Some(sender) = open.get(&due.call) {
                // The client may be gone.
                let _ = sender.unbounded_send(due);
            }
        }
        // A stream of a GET stays open until its client leaves or opens it again.
        let stays = |call: u64| player.calls.get(&call).is_some_and(|call| call.asked.start == "GET");
        open.retain(|call, _| player.has_more(*call) || stays(*call));
        on_request(player);
        Ok(answers)
    }

    /// Makes a response from its recorded head and the following messages.
    fn begin(&self, first: &Due, answers: UnboundedReceiver<Due>) -> Response<Body> {
        let answered =
            lock(&self.replay).player.calls.get(&first.call).and_then(|call| call.answered.clone());
        let Some(answered) = answered.filter(|_| first.is_head) else {
            return empty(StatusCode::SERVICE_UNAVAILABLE);
        };
        let stream = answered.is_stream();
        let bodies = answers.map(move |Due { lead, bytes, .. }| {
            let whole = if stream { [&lead[..], b"data: ", &bytes, b"\n\n"].concat() } else { bytes };
            Ok::<_, Infallible>(Bytes::from(whole))
        });
        let mut response = Response::new(Body::from_stream(bodies));
        let status = answered.status().and_then(|status| StatusCode::from_u16(status).ok());
        *response.status_mut() = status.unwrap_or(StatusCode::OK);
        for (name, value) in answered.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(HeaderName::from_static(name), value);
            }
        }
        host_guard::harden(response.headers_mut());
        response
    }
}
