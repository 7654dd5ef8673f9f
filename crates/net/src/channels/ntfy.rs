//! The ntfy channel: messages out over HTTP, and nonces of pressed buttons in.
//!
//! The phone cannot reach this machine, so a button posts its nonce to a second topic, and the hub reads that topic.
//! Everybody who knows the topic can post to it, so only a valid nonce has an effect.

use std::sync::{Arc, Once};
use std::time::Duration;

use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::{Error, MAX_ACTIONS, Message};
use adjutant_base::config::channels::NtfyConfig;
use adjutant_base::text::{clip, escape_invisible};
use adjutant_base::trace_context::{Trace, current};

/// Timeout of connecting and of publishing.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The first pause between two attempts to read the reply topic, and the maximum.
const RETRY_INTERVALS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));

/// Timeout of the stream. ntfy sends something every 45 s, so a connection that is silent for longer is dead.
const STREAM_TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum bytes of one message on the reply topic; a nonce is far shorter.
const MAX_REPLY_BYTES: usize = 16 * 1024;

/// Maximum bytes of a body, because ntfy turns more into an attachment.
const MAX_BODY_BYTES: usize = 2000;

/// The ntfy channel. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ntfy {
    config: Arc<NtfyConfig>,
    client: reqwest::Client,
}

/// One line of the reply topic's stream.
#[derive(Debug, Deserialize)]
struct StreamEvent {
    id: String,
    event: String,
    #[serde(default)]
    message: String,
}

impl Ntfy {
    /// Makes the channel without connecting.
    pub fn new(config: NtfyConfig) -> Result<Self, Error> {
        static TLS: Once = Once::new();
        TLS.call_once(|| {
            // It fails only if the same provider is installed already.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let client =
            reqwest::Client::builder().connect_timeout(REQUEST_TIMEOUT).user_agent("adjutant").build();
        let client = client.map_err(|error| unreachable(&error))?;
        Ok(Self { config: Arc::new(config), client })
    }

    /// Returns whether the configuration allows bodies to be sent.
    pub fn takes_bodies(&self) -> bool {
        self.config.body
    }

    /// Returns whether a notification shows this body from beginning to end.
    pub fn shows_whole(&self, body: &str) -> bool {
        self.config.body && escape_invisible::escape(body).len() <= MAX_BODY_BYTES
    }

    /// Returns whether pressed buttons can be received.
    pub fn takes_actions(&self) -> bool {
        self.config.reply_topic.is_some()
    }

    /// Sends a message; its body only if the configuration allows it.
    pub async fn show(&self, message: &Message) -> Result<(), Error> {
        let body = if self.config.body { escape_invisible::escape(&message.body) } else { "".into() };
        let body = clip::bytes(&body, MAX_BODY_BYTES);
        let reply_url = self.config.reply_topic.as_deref().map(|topic| self.url(topic));
        let actions = message.actions.iter().take(MAX_ACTIONS).filter_map(|action| {
            let url = reply_url.as_deref()?;
            Some(json!({
                "action": "http",
                "label": escape_invisible::escape_line(&action.label),
                "url": url,
                "method": "POST",
                "body": action.nonce,
                "clear": true,
            }))
        });
        let mut json = json!({
            "topic": self.config.topic,
            "title": escape_invisible::escape_line(&message.title),
            // An empty message would be shown as the word `triggered`.
            "message": if body.is_empty() { "Adjutant" } else { &body },
            "priority": if message.urgent { 5 } else { 3 },
            "actions": actions.collect::<Vec<Value>>(),
        });
        if let Some(link) = &message.link {
            json["click"] = Value::from(link.as_str());
        }
        let mut request =
            self.authorised(self.client.post(&self.config.server)).timeout(REQUEST_TIMEOUT).json(&json);
        for (name, value) in current().iter().flat_map(Trace::headers) {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        if response.status().is_success() { Ok(()) } else { Err(Error::Status(response.status().as_u16())) }
    }

    /// Reads the reply topic until `stop` and sends the nonce of each pressed button to `pressed`. Does nothing without
    /// a reply topic.
    pub async fn listen(&self, pressed: Sender<String>, stop: CancellationToken) {
        let Some(topic) = &self.config.reply_topic else { return };
        let url = format!("{}/json", self.url(topic));
        let mut last: Option<String> = None;
        let mut pause = RETRY_INTERVALS.0;
        loop {
            let end = stop.run_until_cancelled(self.read_replies(&url, &mut last, &pressed)).await;
            match end {
                None | Some(Ok(StreamEnd::ReceiverClosed)) => return,
                Some(Ok(StreamEnd::Closed)) => pause = RETRY_INTERVALS.0,
                Some(Err(error)) => {
                    tracing::warn!(%error, "the replies of the phone cannot be read");
                    pause = (pause * 2).min(RETRY_INTERVALS.1);
                }
            }
            if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Reads the stream until its end. Replies since `last` come first, as far as the server keeps them.
    async fn read_replies(
        &self,
        url: &str,
        last: &mut Option<String>,
        pressed: &Sender<String>,
    ) -> Result<StreamEnd, Error> {
        let url = match last.as_deref() {
            Some(id) => format!("{url}?since={id}"),
            None => url.to_owned(),
        };
        let response =
            self.authorised(self.client.get(url)).send().await.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(Error::Status(response.status().as_u16()));
        }
        let mut stream = response.bytes_stream();
        let mut buffer: Vec<u8> = Vec::new();
        // The rest of a line that is too long is skipped: after a reconnect the server would send it again.
        let mut too_long = false;
        loop {
            let piece = match tokio::time::timeout(STREAM_TIMEOUT, stream.next()).await {
                Ok(Some(piece)) => piece.map_err(|error| unreachable(&error))?,
                Ok(None) | Err(_) => return Ok(StreamEnd::Closed),
            };
            buffer.extend_from_slice(&piece);
            while let Some(end) = memchr::memchr(b'\n', &buffer) {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                if std::mem::take(&mut too_long) || line.len() > MAX_REPLY_BYTES {
                    continue;
                }
                let Ok(event) = serde_json::from_slice::<StreamEvent>(&line) else { continue };
                if event.event == "message" {
                    // The id becomes a part of a URL; ids of ntfy are letters and digits.
                    if event.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                        *last = Some(event.id);
                    }
                    if pressed.send(event.message).await.is_err() {
                        return Ok(StreamEnd::ReceiverClosed);
                    }
                }
            }
            if buffer.len() > MAX_REPLY_BYTES {
                buffer.clear();
                too_long = true;
            }
        }
    }

    fn url(&self, topic: &str) -> String {
        format!("{}/{topic}", self.config.server.trim_end_matches('/'))
    }

    fn authorised(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.config.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

/// The reason why a stream ended without an error.
enum StreamEnd {
    Closed,
    ReceiverClosed,
}

/// Returns the error without the address, because topics are secrets.
fn unreachable(error: &reqwest::Error) -> Error {
    let kind = match error {
        error if error.is_timeout() => "it took too long",
        error if error.is_connect() => "no connection",
        error if error.is_builder() => "its address or the system's certificates are unusable",
        _ => "the connection broke",
    };
    Error::Unreachable(kind.to_owned())
}
