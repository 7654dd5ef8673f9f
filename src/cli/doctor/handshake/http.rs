//! MCP over HTTP as a client speaks it, to a hub on this machine.

use std::time::Duration;

use futures::StreamExt as _;
use serde_json::{Value, json};

use adjutant_app::agent_processes::CHECK_HEADER;
use adjutant_net::http_client::{HttpRequest, Server, StreamingResponse, Token};

/// Timeout for each whole answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an answer.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The hub's HTTP endpoint.
pub(super) struct Endpoint {
    pub(super) server: Server,
    pub(super) url: String,
    /// The bearer token, if the hub needs one.
    pub(super) token: Option<Token>,
}

/// The relevant parts of an answer.
struct Answer {
    session: Option<String>,
    /// The first message of the body; `null` without one.
    message: Value,
}

impl Endpoint {
    /// Does the handshake, sends one request in the session, and ends it. Returns both answers.
    pub(super) async fn handshake(
        &self,
        initialize: &Value,
        request: impl Fn(u64) -> Value,
    ) -> Result<Vec<Value>, String> {
        let first = self.send("POST", Vec::new(), initialize.to_string()).await?;
        let session = first.session.ok_or("the handshake opened no session")?;
        let own = || vec![("mcp-session-id", session.clone())];
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send("POST", own(), ready.to_string()).await?;
        let second = self.send("POST", own(), request(2).to_string()).await?;
        self.send("DELETE", own(), String::new()).await?;
        Ok(vec![first.message, second.message])
    }

    /// Sends one request without a session.
    pub(super) async fn stateless(
        &self,
        request: &Value,
        method: &str,
        version: &str,
    ) -> Result<Value, String> {
        let headers = vec![("mcp-protocol-version", version.to_owned()), ("mcp-method", method.to_owned())];
        Ok(self.send("POST", headers, request.to_string()).await?.message)
    }

    async fn send(
        &self,
        method: &str,
        mut headers: Vec<(&'static str, String)>,
        body: String,
    ) -> Result<Answer, String> {
        headers.push(("accept", "application/json, text/event-stream".to_owned()));
        headers.push(("content-type", "application/json".to_owned()));
        // What starts a client counts as an agent, and here that is the user's shell.
        headers.push((CHECK_HEADER, "doctor".to_owned()));
        let request = HttpRequest {
            method,
            url: &self.url,
            headers,
            login: None,
            token: self.token.as_ref(),
            body,
            max_bytes: MAX_BYTES,
            timeout: ANSWER_TIMEOUT,
        };
        let response = self.server.send_streaming(request).await.map_err(|error| error.to_string())?;
        let StreamingResponse { status, headers, mut body } = response;
        if !(200..300).contains(&status) {
            return Err(format!("status {status}"));
        }
        let mut bytes = Vec::new();
        while let Some(part) = body.next().await {
            bytes.extend_from_slice(&part.map_err(|error| error.to_string())?);
        }
        let session = headers.into_iter().find(|(name, _)| name == "mcp-session-id");
        let text = String::from_utf8_lossy(&bytes);
        // The body is the message, or has it as its first event.
        let events = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        let message =
            events.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(Value::is_object);
        Ok(Answer { session: session.map(|(_, value)| value), message: message.unwrap_or_default() })
    }
}
