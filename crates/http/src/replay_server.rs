//! A loopback server that replays a recording of HTTP: each request gets the response of the matching recorded request.
//!
//! Every program that knows the address may send requests, if it uses the listener's own name. A replay is as
//! confidential as its recording, so the guard of the hub's routes is in front here too.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use hyper::body::Incoming;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::host_guard;
use super::host_guard::Names;
use super::mcp_endpoint::head;
use super::{body, listener, responses};
use adjutant_host::recorder::replay::{Due, Heard, Player};

/// Maximum bytes of a body; a longer one is not compared.
const LONGEST: usize = 32 << 20;
/// Time for which open responses may continue after `stop`.
const GRACE: Duration = Duration::from_millis(500);

/// A player, and the requests that wait for its messages.
struct Stage {
    player: Mutex<Cast>,
    names: Names,
}

struct Cast {
    player: Player,
    /// The open responses by the number of the recorded request. The recording bounds the messages sent to them.
    open: HashMap<u64, UnboundedSender<Due>>,
    /// Called after each request.
    heard: Box<dyn Fn(&Player) + Send>,
}

/// Answers until `stop`, and returns the player. `heard` is called after each request.
pub async fn replay(
    listener: TcpListener,
    address: SocketAddr,
    player: Player,
    stop: CancellationToken,
    heard: impl Fn(&Player) + Send + 'static,
) -> Option<Player> {
    let cast = Cast { player, open: HashMap::new(), heard: Box::new(heard) };
    let stage = Arc::new(Stage { player: Mutex::new(cast), names: Names::new(address, &[]) });
    let answering = stage.clone();
    listener::run(listener, &stop, GRACE, move |request| {
        let stage = answering.clone();
        async move { stage.answer(request).await }
    })
    .await;
    Arc::into_inner(stage)
        .map(|stage| stage.player.into_inner().unwrap_or_else(PoisonError::into_inner).player)
}

impl Stage {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, incoming) = request.into_parts();
        if let Some(refusal) = self.names.refusal(&parts.method, &parts.uri, &parts.headers) {
            return responses::invalid(refusal.status(), None, refusal.message());
        }
        if !listener::admit(&parts.extensions) {
            return responses::invalid(StatusCode::SERVICE_UNAVAILABLE, None, listener::BUSY);
        }
        let line = if parts.method == Method::POST {
            match body::read(&parts.headers, incoming, LONGEST).await {
                Ok(bytes) => bytes.trim_ascii().to_vec(),
                Err(fault) => return responses::invalid(fault.status(), None, fault.message()),
            }
        } else {
            json!({"id": "HTTP", "method": parts.method.as_str()}).to_string().into_bytes()
        };
        let mut answers = match self.hear(&line, &head(parts.method.as_str(), &parts.headers, str::to_owned))
        {
            Ok(answers) => answers,
            Err(Some(refusal)) if parts.method == Method::POST => return json_body(refusal),
            Err(_) if parts.method == Method::POST => return empty(StatusCode::ACCEPTED),
            Err(_) => return empty(StatusCode::METHOD_NOT_ALLOWED),
        };
        // No response comes if the recording ends before, or waits for a different request.
        let Some(first) = answers.next().await else { return empty(StatusCode::SERVICE_UNAVAILABLE) };
        self.begin(&first, answers)
    }

    /// Passes a request to the player. Returns the messages of its response, or the answer to a request that is not in
    /// the recording.
    fn hear(
        &self,
        line: &[u8],
        head: &adjutant_host::recorder::http_head::Head,
    ) -> Result<UnboundedReceiver<Due>, Option<Vec<u8>>> {
        let mut cast = self.cast();
        let Cast { player, open, heard } = &mut *cast;
        let call = match player.hear(line) {
            Heard::Known { call } => call,
            Heard::Unknown { answer } => {
                heard(player);
                return Err(answer);
            }
        };
        player.asked_with(call, head);
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
        open.retain(|call, _| player.goes_on(*call) || stays(*call));
        heard(player);
        Ok(answers)
    }

    /// Makes a response from its recorded head and the following messages.
    fn begin(&self, first: &Due, answers: UnboundedReceiver<Due>) -> Response<Body> {
        let answered = self.cast().player.calls.get(&first.call).and_then(|call| call.answered.clone());
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

    fn cast(&self) -> MutexGuard<'_, Cast> {
        self.player.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn json_body(bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
