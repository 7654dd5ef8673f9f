//! A scripted model on loopback: it follows its script, and after a tool's result it gives its final text.

mod vendors;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// The model's text after the result of its call.
pub(crate) const FINAL_TEXT: &str = "FINAL: the prompt has arrived";

/// The model's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    /// Gives its final text.
    Answer,
    /// Calls this MCP tool, by the name under which the client offers it.
    Call { tool: &'static str, arguments: Value },
    /// Calls these, each after the result of the one before.
    Calls(Vec<(&'static str, Value)>),
    /// Does these, each after the result of the one before.
    Steps(Vec<Script>),
    /// Makes the client's shell run a command.
    Shell(String),
    /// Makes the client's shell run a command outside of its sandbox, which the user has to approve.
    Escalated(String),
    /// Never answers.
    Silence,
    /// Fails with this status.
    Refuse(&'static str),
    /// Reacts to the latest prompt of the user, by a word in it; for Codex and Copilot only.
    Turns(Vec<Turn>),
}

/// A turn of a longer conversation.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// A word of the prompt that begins it.
    pub(crate) on: &'static str,
    pub(crate) does: Script,
    /// The model's final text of the turn.
    pub(crate) says: &'static str,
}

/// Serves `POST …/responses` (for Codex), `POST …/chat/completions` (for Copilot and opencode), `POST …/messages` (for
/// Claude Code) and `POST …:generateContent` (for Gemini CLI), streamed or whole.
pub(crate) struct Model {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    stopping: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts a model.
    pub(crate) fn start(script: Script) -> Self {
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
                    let (requests, script) = (Arc::clone(&requests), script.clone());
                    std::thread::spawn(move || {
                        // A client that hangs up fails in its own test.
                        let _ = answer(stream?, &script, &requests);
                        std::io::Result::Ok(())
                    });
                }
            }
        });
        Self { address, requests, stopping, server: Some(server) }
    }

    /// The provider's address for a client.
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

fn answer(stream: TcpStream, script: &Script, requests: &Mutex<Vec<Value>>) -> std::io::Result<()> {
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
        Ok(body) if path.split('?').next().is_some_and(|path| path.ends_with("/messages")) => {
            (Kind::Messages, body)
        }
        Ok(body) if path.contains("enerateContent") => (Kind::Gemini, body),
        _ => return respond(stream, "404 Not Found", "application/json", "{}"),
    };
    let streamed = body["stream"] == json!(true) || path.contains(":streamGenerateContent");
    // A longer conversation is what the pictures of the documentation show.
    let tokens = if matches!(script, Script::Turns(_)) { [9_120, 4_096, 240] } else { [7, 3, 5] };
    let (script, text, last_word) = match script {
        Script::Turns(turns) => turn(turns, &body),
        script => (script, 0, FINAL_TEXT),
    };
    let results = kind.results(&body, text);
    let call = match script {
        Script::Calls(calls) => {
            let (tool, arguments) = calls.get(results).cloned().unwrap_or_default();
            if tool.is_empty() { None } else { kind.call(&body, &Script::Call { tool, arguments }) }
        }
        Script::Steps(steps) => steps.get(results).and_then(|step| kind.call(&body, step)),
        script if results == 0 => kind.call(&body, script),
        _ => None,
    };
    let number = {
        let mut requests = requests.lock().unwrap();
        requests.push(body);
        requests.len()
    };
    if let Script::Refuse(status) = script {
        let error = json!({"error": {"message": "as the script says", "type": "scripted"}});
        return respond(stream, status, "application/json", &error.to_string());
    }
    if matches!(script, Script::Silence) {
        return std::io::copy(stream, &mut std::io::sink()).map(drop);
    }
    let (events, whole) = kind.say(call, last_word, number, tokens);
    if streamed {
        respond(stream, "200 OK", "text/event-stream", &events)
    } else {
        respond(stream, "200 OK", "application/json", &whole.to_string())
    }
}

/// The script of a request's turn, the length of the conversation before it, and its final text.
fn turn<'a>(turns: &'a [Turn], body: &Value) -> (&'a Script, usize, &'a str) {
    let input = body["input"].as_array().or(body["messages"].as_array());
    let input = input.map(Vec::as_slice).unwrap_or_default();
    let found = input.iter().enumerate().rev().find_map(|(at, item)| {
        let text = item["content"].to_string();
        let turn = turns.iter().find(|turn| item["role"] == "user" && text.contains(turn.on))?;
        Some((&turn.does, at, turn.says))
    });
    found.unwrap_or((&Script::Answer, 0, FINAL_TEXT))
}

fn respond(stream: &mut TcpStream, status: &str, content_type: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nRetry-After: 1\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}

/// A tool as a client offers it to the model.
struct Offered {
    namespace: Option<String>,
    name: String,
}

/// The shells that clients offer, and how each takes a command.
fn shells(command: &str) -> [(&'static str, Value); 6] {
    [
        ("exec_command", json!({"cmd": command, "yield_time_ms": 30_000})),
        ("shell_command", json!({"command": command, "timeout_ms": 60_000})),
        ("shell", json!({"command": ["bash", "-lc", command], "timeout_ms": 60_000})),
        ("bash", json!({"command": command, "description": "as the script says", "timeout": 60_000})),
        ("Bash", json!({"command": command, "description": "as the script says", "timeout": 60_000})),
        ("run_shell_command", json!({"command": command, "description": "as the script says"})),
    ]
}

#[derive(Clone, Copy)]
enum Kind {
    Responses,
    Chat,
    Messages,
    Gemini,
}

impl Kind {
    /// The call of the script, as this client offers it.
    fn call(self, body: &Value, script: &Script) -> Option<(Offered, Value)> {
        match script {
            // With the server's name before it, or bare in a namespace. A client may have its own tool of that name.
            Script::Call { tool, arguments } => {
                let ours = self.offered(body, |name| name.ends_with(tool) && name.contains("adjutant"));
                let found = ours.or_else(|| self.offered(body, |name| name.ends_with(tool)))?;
                Some((found, arguments.clone()))
            }
            Script::Shell(command) => shells(command)
                .into_iter()
                .find_map(|(tool, arguments)| Some((self.offered(body, |name| name == tool)?, arguments))),
            Script::Escalated(command) => {
                let (offered, mut arguments) = self.call(body, &Script::Shell(command.clone()))?;
                arguments["sandbox_permissions"] = json!("require_escalated");
                arguments["justification"] = json!("May I?");
                Some((offered, arguments))
            }
            Script::Answer
            | Script::Calls(_)
            | Script::Steps(_)
            | Script::Refuse(_)
            | Script::Silence
            | Script::Turns(_) => None,
        }
    }

    /// Finds a tool among the offered ones.
    fn offered(self, body: &Value, wanted: impl Fn(&str) -> bool) -> Option<Offered> {
        body["tools"].as_array()?.iter().find_map(|offered| {
            let named = |value: &Value| {
                let name = value["name"].as_str()?;
                wanted(name).then(|| name.to_owned())
            };
            match self {
                Self::Chat => named(&offered["function"]).map(|name| Offered { namespace: None, name }),
                Self::Messages => named(offered).map(|name| Offered { namespace: None, name }),
                Self::Gemini => {
                    let name = offered["functionDeclarations"].as_array()?.iter().find_map(named)?;
                    Some(Offered { namespace: None, name })
                }
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

    /// Counts the tool results after the first `before` parts of the conversation.
    fn results(self, body: &Value, before: usize) -> usize {
        let list = match self {
            Self::Responses => "input",
            Self::Chat | Self::Messages => "messages",
            Self::Gemini => "contents",
        };
        let count = |item: &Value| match self {
            Self::Responses => usize::from(item["type"] == "function_call_output"),
            Self::Chat => usize::from(item["role"] == "tool"),
            Self::Messages => vendors::messages_results(item),
            Self::Gemini => vendors::gemini_results(item),
        };
        body[list].as_array().into_iter().flatten().skip(before).map(count).sum()
    }

    /// The answer as a stream of events and as one JSON value; `number` makes its ids unique. The tokens are those that were
    /// read, that came from the cache, and that were written.
    fn say(
        self,
        call: Option<(Offered, Value)>,
        last_word: &str,
        number: usize,
        [read, cached, written]: [u64; 3],
    ) -> (String, Value) {
        match self {
            Self::Messages => {
                vendors::messages(call.map(|(tool, input)| (tool.name, input)), last_word, number)
            }
            Self::Gemini => vendors::gemini(call.map(|(tool, input)| (tool.name, input)), last_word),
            Self::Responses => {
                let item = match call {
                    Some((Offered { namespace, name }, arguments)) => {
                        let mut item = json!({
                            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
                            "status": "completed",
                            "name": name, "arguments": arguments.to_string(),
                        });
                        if let Some(namespace) = namespace {
                            item["namespace"] = json!(namespace);
                        }
                        item
                    }
                    None => json!({
                        "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": last_word, "annotations": []}],
                    }),
                };
                let response = |status: &str, output: Value| {
                    json!({
                        "id": "resp_1", "object": "response", "created_at": 0, "model": "stub-model",
                        "status": status, "output": output,
                        "usage": {
                            "input_tokens": read, "input_tokens_details": {"cached_tokens": cached},
                            "output_tokens": written, "output_tokens_details": {"reasoning_tokens": 0},
                            "total_tokens": read + written,
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
                    Some((Offered { name, .. }, arguments)) => {
                        let function = json!({"name": name, "arguments": arguments.to_string()});
                        let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
                        (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
                    }
                    None => (json!({"role": "assistant", "content": last_word}), "stop"),
                };
                let usage = json!({
                    "prompt_tokens": read, "prompt_tokens_details": {"cached_tokens": cached},
                    "completion_tokens": written, "total_tokens": read + written,
                });
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
