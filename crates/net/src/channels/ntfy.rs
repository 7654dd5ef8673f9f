//! A phone through ntfy: plain HTTP, notifications out, and nonces of pressed buttons in.
//!
//! The phone cannot reach this machine, so a button posts its nonce to a second topic, and we listen there. Whoever
//! knows that topic can post to it; only a nonce that is still good means anything.

use std::sync::{Arc, Once};
use std::time::Duration;

use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::{Error, MOST_ACTIONS, Notice};
use adjutant_base::config::channels::Phone;
use adjutant_base::text::escape_invisible;
use adjutant_base::trace_context::{Trace, current};

/// How long publishing may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The first and the longest pause between two attempts to listen.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));

/// ntfy says something every 45 s; a connection that is silent for longer is dead.
const SILENCE: Duration = Duration::from_mins(2);

/// Bytes of one message on the reply topic; a nonce is far shorter.
const MAX_BYTES: usize = 16 * 1024;

/// Bytes of a notice's body; ntfy turns more into an attachment.
const BODY: usize = 2000;

/// A phone. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ntfy {
    phone: Arc<Phone>,
    client: reqwest::Client,
}

/// One line of the reply topic's stream.
#[derive(Debug, Deserialize)]
struct Heard {
    id: String,
    event: String,
    #[serde(default)]
    message: String,
}

impl Ntfy {
    /// Connects to nothing yet.
    pub fn new(phone: Phone) -> Result<Self, Error> {
        static TLS: Once = Once::new();
        TLS.call_once(|| {
            // Another part of the program may have chosen before; one is as good as the other.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let client =
            reqwest::Client::builder().connect_timeout(REQUEST_TIMEOUT).user_agent("adjutant").build();
        let client = client.map_err(|error| unreachable(&error))?;
        Ok(Self { phone: Arc::new(phone), client })
    }

    /// Whether bodies may leave this machine.
    pub fn takes_bodies(&self) -> bool {
        self.phone.body
    }

    /// Whether buttons can be answered.
    pub fn takes_actions(&self) -> bool {
        self.phone.reply_topic.is_some()
    }

    /// Sends a notice. Its body goes only where the person allowed that.
    pub async fn show(&self, notice: &Notice) -> Result<(), Error> {
        let body =
            if self.phone.body { clipped(&escape_invisible::plain(&notice.body)) } else { String::new() };
        let answer = self.phone.reply_topic.as_deref().map(|topic| self.url(topic));
        let actions = notice.actions.iter().take(MOST_ACTIONS).filter_map(|action| {
            let url = answer.as_deref()?;
            Some(json!({
                "action": "http",
                "label": escape_invisible::line(&action.label),
                "url": url,
                "method": "POST",
                "body": action.nonce,
                "clear": true,
            }))
        });
        let message = json!({
            "topic": self.phone.topic,
            "title": escape_invisible::line(&notice.title),
            // An empty message would be shown as the word `triggered`.
            "message": if body.is_empty() { "Adjutant".to_owned() } else { body },
            "priority": if notice.urgent { 5 } else { 3 },
            "actions": actions.collect::<Vec<Value>>(),
        });
        let mut request =
            self.authorised(self.client.post(&self.phone.server)).timeout(REQUEST_TIMEOUT).json(&message);
        for (name, value) in current().iter().flat_map(Trace::headers) {
            request = request.header(name, value);
        }
        let answer = request.send().await.map_err(|error| unreachable(&error))?;
        if answer.status().is_success() { Ok(()) } else { Err(Error::Refused(answer.status().as_u16())) }
    }

    /// Listens for pressed buttons until `stop` and gives each nonce to `pressed`. Does nothing without a reply topic.
    pub async fn listen(&self, pressed: Sender<String>, stop: CancellationToken) {
        let Some(topic) = &self.phone.reply_topic else { return };
        let url = format!("{}/json", self.url(topic));
        let mut last: Option<String> = None;
        let mut pause = PAUSES.0;
        loop {
            let heard = stop.run_until_cancelled(self.hear(&url, &mut last, &pressed)).await;
            match heard {
                None | Some(Ok(End::NobodyListens)) => return,
                Some(Ok(End::Stream)) => pause = PAUSES.0,
                Some(Err(error)) => {
                    tracing::warn!(%error, "the phone's answers cannot be heard");
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
            if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Reads the stream once. What was posted while nobody listened comes first, as far as the server keeps it.
    async fn hear(
        &self,
        url: &str,
        last: &mut Option<String>,
        pressed: &Sender<String>,
    ) -> Result<End, Error> {
        let url = match last.as_deref() {
            Some(id) => format!("{url}?since={id}"),
            None => url.to_owned(),
        };
        let answer =
            self.authorised(self.client.get(url)).send().await.map_err(|error| unreachable(&error))?;
        if !answer.status().is_success() {
            return Err(Error::Refused(answer.status().as_u16()));
        }
        let mut stream = answer.bytes_stream();
        let mut buffer: Vec<u8> = Vec::new();
        // The rest of a line that is too long is skipped: after a reconnect the server would send it again.
        let mut too_long = false;
        loop {
            let piece = match tokio::time::timeout(SILENCE, stream.next()).await {
                Ok(Some(piece)) => piece.map_err(|error| unreachable(&error))?,
                Ok(None) | Err(_) => return Ok(End::Stream),
            };
            buffer.extend_from_slice(&piece);
            while let Some(end) = memchr::memchr(b'\n', &buffer) {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                if std::mem::take(&mut too_long) || line.len() > MAX_BYTES {
                    continue;
                }
                let Ok(heard) = serde_json::from_slice::<Heard>(&line) else { continue };
                if heard.event == "message" {
                    // It goes into an address; ntfy's are letters and digits.
                    if heard.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                        *last = Some(heard.id);
                    }
                    if pressed.send(heard.message).await.is_err() {
                        return Ok(End::NobodyListens);
                    }
                }
            }
            if buffer.len() > MAX_BYTES {
                buffer.clear();
                too_long = true;
            }
        }
    }

    fn url(&self, topic: &str) -> String {
        format!("{}/{topic}", self.phone.server.trim_end_matches('/'))
    }

    fn authorised(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.phone.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

/// Why listening ended without a fault.
enum End {
    Stream,
    NobodyListens,
}

/// Says what went wrong, without the address: topics are secrets.
fn unreachable(error: &reqwest::Error) -> Error {
    let kind = match error {
        error if error.is_timeout() => "it took too long",
        error if error.is_connect() => "no connection",
        error if error.is_builder() => "its address or the system's certificates are unusable",
        _ => "the connection broke",
    };
    Error::Unreachable(kind.to_owned())
}

fn clipped(text: &str) -> String {
    if text.len() <= BODY {
        return text.to_owned();
    }
    let end = (0..=BODY).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
