//! A fake ntfy server on loopback, with the part of its protocol that the hub uses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::DEADLINE;

/// The fake; its threads end with the test's process.
pub(crate) struct Ntfy {
    address: SocketAddr,
    published: Receiver<Value>,
    listening: Receiver<String>,
}

type Streams = Arc<Mutex<Vec<TcpStream>>>;

impl Ntfy {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (publish, published) = channel();
        let (listen, listening) = channel();
        let streams = Streams::default();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (publish, listen, streams) = (publish.clone(), listen.clone(), streams.clone());
                std::thread::spawn(move || serve(stream, &publish, &listen, &streams));
            }
        });
        Self { address, published, listening }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for the next notification, with the headers of its trace as `trace`.
    pub(crate) fn next_notification(&self) -> Value {
        self.published.recv_timeout(DEADLINE).expect("a notice for the phone")
    }

    /// Waits for a subscriber of a topic, and returns its path.
    pub(crate) fn next_subscriber(&self) -> String {
        self.listening.recv_timeout(DEADLINE).expect("the hub listens for answers")
    }

    /// Presses a button as the app does: posts its body to its address.
    pub(crate) fn press(&self, action: &Value) {
        assert_eq!((action["action"].as_str(), action["method"].as_str()), (Some("http"), Some("POST")));
        let path = action["url"].as_str().unwrap().strip_prefix(&self.url()).unwrap().to_owned();
        self.post(&path, action["body"].as_str().unwrap());
    }

    /// Posts a message to a path.
    pub(crate) fn post(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

fn serve(stream: TcpStream, publish: &Sender<Value>, listen: &Sender<String>, streams: &Streams) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = String::new();
        let mut length = 0;
        let mut trace = serde_json::Map::new();
        while let Ok(1..) = reader.read_line(&mut head) {
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            for name in ["traceparent", "tracestate", "baggage"] {
                if let Some(value) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
                    trace.insert(name.to_owned(), Value::from(value.trim()));
                }
            }
            if head.ends_with("\r\n\r\n") {
                break;
            }
        }
        let Some((method, rest)) = head.split_once(' ') else { return };
        let path = rest.split(' ').next().unwrap().to_owned();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        match (method, path.as_str()) {
            ("POST", "/") => {
                let mut notice: Value = serde_json::from_slice(&body).unwrap();
                if !trace.is_empty() {
                    notice["trace"] = Value::Object(trace);
                }
                publish.send(notice).unwrap();
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
            }
            ("POST", _) => {
                let text = String::from_utf8(body).unwrap();
                let line = json!({"id": "m1", "event": "message", "topic": &path[1..], "message": text});
                for listener in streams.lock().unwrap().iter_mut() {
                    let _ = writeln!(listener, "{line}");
                }
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
                return;
            }
            _ => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n").unwrap();
                stream.write_all(b"{\"id\":\"o1\",\"event\":\"open\"}\n").unwrap();
                streams.lock().unwrap().push(stream);
                listen.send(path).unwrap();
                return;
            }
        }
    }
}
