//! A fake model server on loopback: it answers by a script and keeps its requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The server's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A completion with this text.
    Say(String),
    /// A status, with the request's own text in the body.
    Refuse(u16),
    /// A permanent redirect to this address.
    Redirect(String),
    /// A body that is not a completion.
    Body(String),
    /// Never answers.
    Silence,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The first line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Request {
    /// The texts of the messages, the system's first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server; it ends with the test's process.
pub(crate) struct ModelEndpoint {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<Arc<Script>>>,
}

impl ModelEndpoint {
    /// Starts a server that answers by a script.
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let script: Arc<Mutex<Arc<Script>>> = Arc::new(Mutex::new(Arc::new(script)));
        std::thread::spawn({
            let (requests, script) = (requests.clone(), script.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    let (requests, script) = (requests.clone(), script.clone());
                    // A client that hangs up fails in its own test.
                    std::thread::spawn(move || serve(stream, &requests, &script));
                }
            }
        });
        Self { address, requests, script }
    }

    /// Starts a server with one constant answer.
    pub(crate) fn always(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::start(move |_| Reply::Say(text.clone()))
    }

    /// Answers by another script from now on.
    pub(crate) fn set_script(&self, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, requests: &Mutex<Vec<Request>>, script: &Mutex<Arc<Script>>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
        let mut body = vec![0_u8; length];
        reader.read_exact(&mut body).ok()?;
        let request = Request { head, body: serde_json::from_slice(&body).ok()? };
        requests.lock().unwrap().push(request.clone());
        let script = script.lock().unwrap().clone();
        let (status, text) = match script(&request) {
            Reply::Say(text) => {
                let message = json!({"role": "assistant", "content": text});
                let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
                (200, json!({"id": "c", "object": "chat.completion", "choices": [choice]}).to_string())
            }
            Reply::Refuse(status) => (status, json!({"error": {"message": request.head}}).to_string()),
            Reply::Redirect(to) => {
                write!(writer, "HTTP/1.1 308 Scripted\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
                    .ok()?;
                continue;
            }
            Reply::Body(text) => (200, text),
            Reply::Silence => {
                // Until the client gives up.
                let _ = reader.read_line(&mut String::new());
                return None;
            }
        };
        let length = text.len();
        write!(
            writer,
            "HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{text}"
        )
        .ok()?;
    }
}
