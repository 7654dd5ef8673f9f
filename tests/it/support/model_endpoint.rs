//! A model's server on loopback that says what a test tells it, and keeps what it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A completion with this text.
    Say(String),
    /// A status, with the request's own text in the body.
    Refuse(u16),
    /// A body that is no completion.
    Body(String),
    /// Never answers.
    Silence,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The first line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    /// The texts of the talk, the system's first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

type Script = dyn Fn(&Asked) -> Reply + Send + Sync;

/// The server; it ends with the test's process.
pub(crate) struct Oracle {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    script: Arc<Mutex<Arc<Script>>>,
}

impl Oracle {
    /// Starts a server that answers by a script.
    pub(crate) fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let script: Arc<Mutex<Arc<Script>>> = Arc::new(Mutex::new(Arc::new(script)));
        std::thread::spawn({
            let (asked, script) = (asked.clone(), script.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    let (asked, script) = (asked.clone(), script.clone());
                    // A client that hangs up has its own test to fail.
                    std::thread::spawn(move || serve(stream, &asked, &script));
                }
            }
        });
        Self { address, asked, script }
    }

    /// Starts a server that always says the same.
    pub(crate) fn saying(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::start(move |_| Reply::Say(text.clone()))
    }

    /// Answers by another script from now on.
    pub(crate) fn change(&self, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it was asked so far, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<Asked>>, script: &Mutex<Arc<Script>>) -> Option<()> {
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
        let request = Asked { head, body: serde_json::from_slice(&body).ok()? };
        asked.lock().unwrap().push(request.clone());
        let script = script.lock().unwrap().clone();
        let (status, text) = match script(&request) {
            Reply::Say(text) => {
                let message = json!({"role": "assistant", "content": text});
                let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
                (200, json!({"id": "c", "object": "chat.completion", "choices": [choice]}).to_string())
            }
            Reply::Refuse(status) => (status, json!({"error": {"message": request.head}}).to_string()),
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
            "HTTP/1.1 {status} as told\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{text}"
        )
        .ok()?;
    }
}
