//! Streamable HTTP as a client speaks it: requests to one hub, and the messages of its responses.

use std::time::Duration;

use futures::StreamExt as _;

use adjutant_net::http_client::{Error, HttpRequest, Server, StreamingResponse, Token};

/// Bytes of one message. An answer holds a text twice, once in quotes within quotes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// How long one exchange may last: a call may wait for a user, and a stream lasts as long as its session. A machine that
/// went away is noticed by the kernel long before.
pub(super) const LONGEST_EXCHANGE: Duration = Duration::from_hours(24);

/// The endpoint of a hub.
pub(super) struct Endpoint {
    pub(super) server: Server,
    pub(super) url: String,
    pub(super) token: Option<Token>,
}

impl Endpoint {
    /// Sends a request, and returns its response with the status.
    pub(super) async fn send(
        &self,
        method: &str,
        headers: Vec<(&'static str, String)>,
        body: &[u8],
        timeout: Duration,
    ) -> Result<Response, Error> {
        let accept =
            if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        let mut headers = headers;
        headers.push(("accept", accept.to_owned()));
        if !body.is_empty() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let request = HttpRequest {
            method,
            url: &self.url,
            headers,
            login: None,
            token: self.token.as_ref(),
            body: String::from_utf8_lossy(body).into_owned(),
            // A stream as a whole has no bound, each of its messages has.
            max_bytes: usize::MAX,
            timeout,
        };
        let StreamingResponse { status, headers, body } = self.server.send_streaming(request).await?;
        let header =
            |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let is_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let session = header("mcp-session-id");
        Ok(Response {
            status,
            session,
            messages: Messages { body, buffer: Vec::new(), is_stream, is_over: false },
        })
    }
}

/// The head of a response, and its unread messages.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) messages: Messages,
}

/// The messages of a body: the whole of it, or one in each event.
pub(super) struct Messages {
    body: futures::stream::BoxStream<'static, Result<Vec<u8>, Error>>,
    buffer: Vec<u8>,
    is_stream: bool,
    is_over: bool,
}

impl Messages {
    /// Returns the next message in one line, without its end; `None` at the end of the body.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            while self.is_stream
                && let Some(event) = take_event(&mut self.buffer)
            {
                if let Some(message) = data_of(&event) {
                    return Ok(Some(message));
                }
            }
            if self.is_over {
                // An event that does not end is not one.
                let rest = std::mem::take(&mut self.buffer);
                let is_message = !self.is_stream && !rest.trim_ascii().is_empty();
                return Ok(is_message.then(|| in_one_line(&rest)));
            }
            match self.body.next().await {
                Some(bytes) => self.buffer.extend_from_slice(&bytes?),
                None => self.is_over = true,
            }
            if self.buffer.len() > MAX_MESSAGE_BYTES {
                return Err(Error::TooLarge { host: "the hub".to_owned(), max_bytes: MAX_MESSAGE_BYTES });
            }
        }
    }
}

/// Takes the first whole event, which an empty line ends.
fn take_event(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut line_start = 0;
    while let Some(length) = buffer[line_start..].iter().position(|byte| *byte == b'\n') {
        let line = &buffer[line_start..line_start + length];
        let next = line_start + length + 1;
        if line.is_empty() || line == b"\r" {
            return Some(buffer.drain(..next).collect());
        }
        line_start = next;
    }
    None
}

/// Returns the data of an event; `None` for a comment, and for an event that only opens the stream.
fn data_of(event: &[u8]) -> Option<Vec<u8>> {
    let lines = event.split(|byte| *byte == b'\n');
    let data: Vec<&[u8]> =
        lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii).collect();
    let data = data.join(&b' ');
    (!data.is_empty()).then_some(data)
}

/// Returns JSON without line ends: they are white space, because a text has them as escapes.
fn in_one_line(json: &[u8]) -> Vec<u8> {
    json.trim_ascii().iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::{data_of, in_one_line, take_event};

    #[test]
    fn events_are_taken_apart_however_they_end() {
        let mut buffer =
            b": ping\n\nid: 0\nretry: 3\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: {"
                .to_vec();
        let mut found = Vec::new();
        while let Some(event) = take_event(&mut buffer) {
            found.push(data_of(&event).map(|data| String::from_utf8(data).unwrap()));
        }
        assert_eq!(found, [None, None, Some("{\"a\": 1}".to_owned())]);
        assert_eq!(buffer, b"data: {");
        assert_eq!(in_one_line(b"{\r\n \"a\": 1\n}\n"), b"{   \"a\": 1 }");
    }
}
