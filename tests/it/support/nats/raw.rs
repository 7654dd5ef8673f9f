//! A client of NATS's own text protocol, which sends what a worker would not send.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::support::DEADLINE;

/// A message of a subscription.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
}

impl Message {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap_or_default()
    }
}

/// A connection.
pub(crate) struct RawNats {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
    subscriptions: u32,
    messages: Vec<Message>,
}

impl RawNats {
    /// Connects, with the `credentials.json` of a worker where it is given.
    pub(crate) fn connect(url: &str, credentials: Option<&Value>) -> Self {
        let address = url.rsplit_once('/').map_or(url, |(_, address)| address);
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        let mut client = Self { reader, stream, subscriptions: 0, messages: Vec::new() };
        let info = client.line();
        let info: Value = serde_json::from_str(info.strip_prefix("INFO ").unwrap()).unwrap();
        let mut connect =
            json!({"verbose": false, "pedantic": false, "protocol": 1, "lang": "test", "version": "1"});
        if let Some(credentials) = credentials {
            let key = KeyPair::from_seed(credentials["seed"].as_str().unwrap()).unwrap();
            let signature = key.sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap();
            connect["jwt"] = credentials["jwt"].clone();
            connect["sig"] = BASE64_URL_SAFE_NO_PAD.encode(signature).into();
        }
        assert_eq!(client.send(&format!("CONNECT {connect}\r\n")), None);
        client
    }

    /// Subscribes to a subject. Returns the refusal of the server.
    pub(crate) fn subscribe(&mut self, subject: &str) -> Option<String> {
        self.subscriptions += 1;
        self.send(&format!("SUB {subject} {}\r\n", self.subscriptions))
    }

    /// Publishes a message. Returns the refusal of the server.
    pub(crate) fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) -> Option<String> {
        let mut text = format!("PUB {subject} {reply} {}\r\n", payload.len()).into_bytes();
        text.extend_from_slice(payload);
        text.extend_from_slice(b"\r\n");
        self.send(&String::from_utf8(text).unwrap())
    }

    /// Returns the next message that `wanted` accepts; the others before it are dropped.
    pub(crate) fn next(&mut self, wanted: impl Fn(&Message) -> bool) -> Message {
        loop {
            if let Some(place) = self.messages.iter().position(&wanted) {
                return self.messages.drain(..=place).next_back().unwrap();
            }
            let line = self.line();
            self.take(&line);
        }
    }

    /// Returns the messages that have arrived.
    pub(crate) fn arrived(&mut self) -> Vec<Message> {
        assert_eq!(self.send(""), None);
        std::mem::take(&mut self.messages)
    }

    /// Sends operations and waits until the server has read them. Returns its error.
    fn send(&mut self, text: &str) -> Option<String> {
        self.stream.write_all(format!("{text}PING\r\n").as_bytes()).unwrap();
        let mut refusal = None;
        loop {
            match self.line() {
                line if line == "PONG" => return refusal,
                line if line.starts_with("-ERR") => refusal = Some(line),
                line => self.take(&line),
            }
        }
    }

    fn take(&mut self, line: &str) {
        if line == "PING" {
            return self.stream.write_all(b"PONG\r\n").unwrap();
        }
        let Some(rest) = line.strip_prefix("MSG ") else { return };
        let parts: Vec<&str> = rest.split(' ').collect();
        let length: usize = parts[parts.len() - 1].parse().unwrap();
        let mut payload = vec![0; length + 2];
        self.reader.read_exact(&mut payload).unwrap();
        payload.truncate(length);
        self.messages.push(Message { subject: parts[0].to_owned(), payload });
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server closed the connection");
        line.trim_end().to_owned()
    }
}
