//! A scripted model on loopback: it calls one MCP tool, and once it sees that tool's result it says its last word.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What the model says when it has seen the result of its call.
pub(crate) const LAST_WORD: &str = "FINAL: the prompt has arrived";

/// Serves `POST …/responses` (what Codex asks) and `POST …/chat/completions` (what Copilot asks), streamed or whole.
pub(crate) struct Model {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    stopping: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts a model that calls the MCP tool `tool` with `arguments`, by whatever name the client offers it.
    pub(crate) fn start(tool: &'static str, arguments: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stopping = Arc::new(AtomicBool::new(false));
        let server = std::thread::spawn({
            let (requests, stopping) = (Arc::clone(&requests), Arc::clone(&stopping));
            move || {
                for stream in listener.incoming() {
                    if stopping.load(Ordering::SeqCst) {
                        return;
                    }
                    let (requests, arguments) = (Arc::clone(&requests), arguments.clone());
                    std::thread::spawn(move || {
                        // A client that hangs up has its own test to fail.
                        let _ = answer(stream?, tool, &arguments, &requests);
                        std::io::Result::Ok(())
                    });
                }
            }
        });
        Self { address, requests, stopping, server: Some(server) }
    }

    /// What a client takes for the address of the provider.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of the model requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

fn answer(
    stream: TcpStream,
    tool: &str,
    arguments: &Value,
    requests: &Mutex<Vec<Value>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut start = String::new();
    reader.read_line(&mut start)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let stream = reader.get_mut();

    let path = start.split(' ').nth(1).unwrap_or_default();
    let (kind, body) = match serde_json::from_slice::<Value>(&body) {
        Ok(body) if path.ends_with("/responses") => (Kind::Responses, body),
        Ok(body) if path.ends_with("/chat/completions") => (Kind::Chat, body),
        _ => return respond(stream, "404 Not Found", "application/json", "{}"),
    };
    let streamed = body["stream"] == json!(true);
    let call = kind.offered(&body, tool).filter(|_| !kind.has_result(&body));
    requests.lock().unwrap().push(body);
    let (events, whole) = kind.say(call, arguments);
    if streamed {
        respond(stream, "200 OK", "text/event-stream", &events)
    } else {
        respond(stream, "200 OK", "application/json", &whole.to_string())
    }
}

fn respond(stream: &mut TcpStream, status: &str, content_type: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}

/// A tool as a client offers it to the model.
struct Offered {
    namespace: Option<String>,
    name: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Responses,
    Chat,
}

impl Kind {
    /// Finds the MCP tool among the offered ones: bare in a namespace, or with the server's name before it.
    fn offered(self, body: &Value, tool: &str) -> Option<Offered> {
        body["tools"].as_array()?.iter().find_map(|offered| {
            let named = |value: &Value| {
                let name = value["name"].as_str()?;
                name.ends_with(tool).then(|| name.to_owned())
            };
            match self {
                Self::Chat => named(&offered["function"]).map(|name| Offered { namespace: None, name }),
                Self::Responses => match offered["tools"].as_array() {
                    Some(inner) => inner.iter().find_map(named).map(|name| Offered {
                        namespace: offered["name"].as_str().map(ToOwned::to_owned),
                        name,
                    }),
                    None => named(offered).map(|name| Offered { namespace: None, name }),
                },
            }
        })
    }

    fn has_result(self, body: &Value) -> bool {
        let (list, member, value) = match self {
            Self::Responses => ("input", "type", "function_call_output"),
            Self::Chat => ("messages", "role", "tool"),
        };
        body[list].as_array().is_some_and(|items| items.iter().any(|item| item[member] == value))
    }

    /// The answer as a stream of events and as one JSON value.
    fn say(self, call: Option<Offered>, arguments: &Value) -> (String, Value) {
        match self {
            Self::Responses => {
                let item = match call {
                    Some(Offered { namespace, name }) => {
                        let mut item = json!({
                            "type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
                            "name": name, "arguments": arguments.to_string(),
                        });
                        if let Some(namespace) = namespace {
                            item["namespace"] = json!(namespace);
                        }
                        item
                    }
                    None => json!({
                        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": LAST_WORD, "annotations": []}],
                    }),
                };
                let response = |status: &str, output: Value| {
                    json!({
                        "id": "resp_1", "object": "response", "created_at": 0, "model": "stub-model",
                        "status": status, "output": output,
                        "usage": {
                            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
                            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0},
                            "total_tokens": 2,
                        },
                    })
                };
                let whole = response("completed", json!([item]));
                let events = [
                    json!({"type": "response.created", "response": response("in_progress", json!([]))}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                    json!({"type": "response.completed", "response": whole}),
                ];
                let text = events.iter().map(|event| {
                    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
                });
                (text.collect(), whole)
            }
            Self::Chat => {
                let (message, finish) = match call {
                    Some(Offered { name, .. }) => {
                        let function = json!({"name": name, "arguments": arguments.to_string()});
                        let call =
                            json!({"index": 0, "id": "call_1", "type": "function", "function": function});
                        (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
                    }
                    None => (json!({"role": "assistant", "content": LAST_WORD}), "stop"),
                };
                let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
                let chat = |object: &str, choice: Value| {
                    json!({
                        "id": "chat_1", "object": object, "created": 0, "model": "stub-model",
                        "choices": [choice], "usage": usage,
                    })
                };
                let delta = json!({"index": 0, "delta": message, "finish_reason": null});
                let end = json!({"index": 0, "delta": {}, "finish_reason": finish});
                let whole = json!({"index": 0, "message": message, "finish_reason": finish});
                let chunk = "chat.completion.chunk";
                let events =
                    format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", chat(chunk, delta), chat(chunk, end));
                (events, chat("chat.completion", whole))
            }
        }
    }
}
