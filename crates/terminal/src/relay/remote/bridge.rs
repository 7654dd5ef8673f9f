//! Between the lines of a relay and the HTTP of one hub: each line is a POST, the messages of its response are lines, and
//! those that the hub sends by itself come on a GET.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, LONGEST_EXCHANGE, Response};
use adjutant_base::mutex::lock;
use adjutant_mcp::deliveries::{DELIVERED, INPUT_ENDED};
use adjutant_mcp::error;
use adjutant_net::http_client;

/// Requests without an answer at the same time; further lines of the client wait.
const MAX_CONCURRENT_CALLS: usize = 64;
/// How long the hub may take for a message that has no answer.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of a session may take.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before an ended stream of the hub's messages is opened again.
const REOPEN_INTERVAL: Duration = Duration::from_millis(200);

/// Lines of the client that no hub has taken.
pub(super) type UnacceptedLines = Arc<Mutex<Vec<Vec<u8>>>>;

/// One hub, and the session there.
struct Bridge {
    endpoint: Endpoint,
    /// The id of the session and its protocol version, after the handshake.
    session: Mutex<Option<(String, String)>>,
    output: tokio::sync::Mutex<OwnedWriteHalf>,
    unaccepted: UnacceptedLines,
    /// Cancelled when the hub is gone, or its session.
    lost: CancellationToken,
}

/// The reason why the hub is given up.
enum Fault {
    /// It has not taken the line, so another hub may.
    NotAccepted,
    /// It may have taken the line.
    Lost,
}

/// Relays until the hub is lost, or until the client's end: then the session is ended.
pub(super) async fn serve(endpoint: Endpoint, stream: UnixStream, unaccepted: UnacceptedLines) {
    let (input, output) = stream.into_split();
    let (session, lost) = (Mutex::default(), CancellationToken::new());
    let output = tokio::sync::Mutex::new(output);
    let bridge = Arc::new(Bridge { endpoint, session, output, unaccepted, lost });
    let mut input = BufReader::new(input);
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS));
    let (mut calls, mut listening) = (JoinSet::new(), JoinSet::new());
    let mut line = Vec::new();
    loop {
        tokio::select! {
            () = bridge.lost.cancelled() => return,
            Some(_) = calls.join_next() => continue,
            read = input.read_until(b'\n', &mut line) => if !matches!(read, Ok(1..)) { break },
        }
        let line = std::mem::take(&mut line);
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            // The relay's own, for a hub on its socket.
            DELIVERED => continue,
            INPUT_ENDED => break,
            _ => {}
        }
        let is_call = !method.is_empty() && !message["id"].is_null() || message.is_array();
        if !is_call || method == "initialize" {
            // What follows counts on it.
            let is_ready = method == "notifications/initialized";
            bridge.post(line, message).await;
            if is_ready && listening.is_empty() {
                let bridge = bridge.clone();
                listening.spawn(async move { bridge.listen().await });
            }
            continue;
        }
        let place = tokio::select! {
            () = bridge.lost.cancelled() => return,
            place = places.clone().acquire_owned() => place,
        };
        let bridge = bridge.clone();
        calls.spawn(async move {
            bridge.post(line, message).await;
            drop(place);
        });
    }
    // The relay itself ends what takes too long.
    tokio::select! {
        () = bridge.lost.cancelled() => return,
        () = async { while calls.join_next().await.is_some() {} } => {}
    }
    listening.shutdown().await;
    let headers = bridge.session_headers();
    if !headers.is_empty() {
        let ended = bridge.endpoint.send("DELETE", headers, b"", DELETE_TIMEOUT).await;
        tracing::debug!(status = ended.map_or(0, |ended| ended.status), "the session was ended");
    }
}

impl Bridge {
    /// Sends a line of the client, and passes on what comes back. Gives the hub up where that is impossible.
    async fn post(&self, line: Vec<u8>, message: Value) {
        let fault = tokio::select! {
            () = self.lost.cancelled() => return,
            sent = self.exchange(&line, &message) => sent.err(),
        };
        match fault {
            None => return,
            Some(Fault::NotAccepted) => lock(&self.unaccepted).push(line),
            Some(Fault::Lost) => {}
        }
        self.lost.cancel();
    }

    async fn exchange(&self, line: &[u8], message: &Value) -> Result<(), Fault> {
        let has_answer = !message["method"].is_null() && !message["id"].is_null();
        let opens = message["method"] == "initialize";
        let headers = self.headers(message);
        let has_session = headers.iter().any(|(name, _)| *name == "mcp-session-id");
        let timeout = if has_answer { LONGEST_EXCHANGE } else { NOTIFICATION_TIMEOUT };
        let sent = self.endpoint.send("POST", headers, line.trim_ascii(), timeout).await;
        let Response { status, session, mut messages } = sent.map_err(|error| match error {
            http_client::Error::Unreachable { .. } => Fault::NotAccepted,
            _ => Fault::Lost,
        })?;
        match status {
            200..=299 => {}
            // The session is unknown, or the hub takes no more connections.
            404 if has_session => return Err(Fault::NotAccepted),
            503 => return Err(Fault::NotAccepted),
            502 | 504 => return Err(Fault::Lost),
            _ => {
                let answer = messages.next().await.ok().flatten();
                return self.reject(message, status, answer).await;
            }
        }
        let mut answered = false;
        while let Some(one) = messages.next().await.map_err(|_| Fault::Lost)? {
            if has_answer && !answered {
                let parsed: Value = serde_json::from_slice(&one).unwrap_or_default();
                answered = parsed["id"] == message["id"] && parsed["method"].is_null();
                if opens && answered {
                    let version = parsed["result"]["protocolVersion"].as_str().map(str::to_owned);
                    *lock(&self.session) = session.clone().zip(version);
                }
            }
            self.write(one).await?;
        }
        if has_answer && !answered { Err(Fault::Lost) } else { Ok(()) }
    }

    /// Passes on the rejection of a request, or makes one.
    async fn reject(&self, message: &Value, status: u16, answer: Option<Vec<u8>>) -> Result<(), Fault> {
        if message["id"].is_null() || message["method"].is_null() {
            tracing::debug!(status, "the hub rejected a message that has no answer");
            return Ok(());
        }
        let own = answer.filter(|answer| {
            serde_json::from_slice::<Value>(answer)
                .is_ok_and(|answer| answer["error"].is_object() && answer["id"] == message["id"])
        });
        let made = || {
            let reason = match status {
                401 | 403 => {
                    format!("the hub does not accept the token of this connection (status {status})")
                }
                _ => format!("the hub rejected the request with status {status}"),
            };
            error::hub_gone(&message["id"].to_string(), &reason).into_bytes()
        };
        self.write(own.unwrap_or_else(made)).await
    }

    /// Passes on what the hub sends by itself, until its session is gone.
    async fn listen(&self) {
        loop {
            let headers = self.session_headers();
            if headers.is_empty() {
                return;
            }
            match self.endpoint.send("GET", headers, b"", LONGEST_EXCHANGE).await {
                Ok(Response { status: 200..=299, mut messages, .. }) => {
                    while let Ok(Some(message)) = messages.next().await {
                        if self.write(message).await.is_err() {
                            return;
                        }
                    }
                }
                // The session has ended.
                Ok(Response { status: 404, .. }) | Err(_) => return self.lost.cancel(),
                // The server sends nothing by itself.
                Ok(_) => return,
            }
            tokio::time::sleep(REOPEN_INTERVAL).await;
        }
    }

    async fn write(&self, mut line: Vec<u8>) -> Result<(), Fault> {
        line.push(b'\n');
        self.output.lock().await.write_all(&line).await.map_err(|_| Fault::Lost)
    }

    fn session_headers(&self) -> Vec<(&'static str, String)> {
        let session = lock(&self.session).clone();
        session.map_or_else(Vec::new, |(id, version)| {
            vec![("mcp-session-id", id), ("mcp-protocol-version", version)]
        })
    }

    /// Returns the headers of a message. One of 2026-07-28 names its version itself and belongs to no session.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let params = &message["params"];
        let Some(version) = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() else {
            return if message["method"] == "initialize" { Vec::new() } else { self.session_headers() };
        };
        let mut headers = vec![("mcp-protocol-version", version.to_owned())];
        headers.extend(message["method"].as_str().map(|method| ("mcp-method", method.to_owned())));
        let name = params["name"].as_str().or_else(|| params["uri"].as_str());
        headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        headers
    }
}
