//! MCP over HTTP as a client speaks it, to a hub on this machine: one connection a request.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Timeout for connecting, and for each part of an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an answer.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The hub's HTTP endpoint.
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    /// The bearer token, if the hub needs one.
    pub(super) token: Option<String>,
}

/// The relevant parts of an answer.
struct Answer {
    session: Option<String>,
    /// The first message of the body; `null` without one.
    message: Value,
}

impl Endpoint {
    /// Does the handshake, sends one request in the session, and ends it. Returns both answers.
    pub(super) fn handshake(
        &self,
        initialize: &Value,
        request: impl Fn(u64) -> Value,
    ) -> Result<Vec<Value>, String> {
        let first = self.send("POST", &[], &initialize.to_string())?;
        let session = first.session.ok_or("the handshake opened no session")?;
        let own = [("mcp-session-id", session.as_str())];
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send("POST", &own, &ready.to_string())?;
        let second = self.send("POST", &own, &request(2).to_string())?;
        self.send("DELETE", &own, "")?;
        Ok(vec![first.message, second.message])
    }

    /// Sends one request without a session.
    pub(super) fn stateless(&self, request: &Value, method: &str, version: &str) -> Result<Value, String> {
        let headers = [("mcp-protocol-version", version), ("mcp-method", method)];
        Ok(self.send("POST", &headers, &request.to_string())?.message)
    }

    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Result<Answer, String> {
        let broken = |error: std::io::Error| format!("it does not answer: {error}");
        let mut stream = TcpStream::connect_timeout(&self.address, CONNECT_TIMEOUT).map_err(broken)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT)).map_err(broken)?;
        // HTTP 1.0 has no chunks: the answer ends with the connection.
        let mut head = format!(
            "{method} /mcp HTTP/1.0\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        let token = self.token.as_ref().map(|token| ("authorization", format!("Bearer {token}")));
        let given = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        for (name, value) in given.chain(token) {
            head.extend([name, ": ", &value, "\r\n"]);
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).map_err(broken)?;
        let mut bytes = Vec::new();
        stream.take(MAX_BYTES).read_to_end(&mut bytes).map_err(broken)?;
        parse(&String::from_utf8_lossy(&bytes))
    }
}

/// Parses an answer. Its message is the body, or the first event of the body.
fn parse(text: &str) -> Result<Answer, String> {
    let (head, body) = text.split_once("\r\n\r\n").ok_or("the answer is not HTTP")?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    if !status.starts_with('2') {
        return Err(format!("status {status}"));
    }
    let session = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    let events = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    let message = events.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(Value::is_object);
    Ok(Answer { session, message: message.unwrap_or_default() })
}
