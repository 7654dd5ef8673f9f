//! `codex mcp-server`, up to 0.153: a turn is a call of a tool, and what happens in it comes as `codex/event`.
//!
//! Its known faults are met here. A call whose turn was aborted is never answered, and what answers it later answers
//! another one: a turn ends by its events, an answer counts only while its own call is the one that runs. After a
//! model error the next answer may come at once and empty, for a worker took the old turn's end for the new one's:
//! the prompt is sent again, once. A form of a nested MCP server is never forwarded, and would hang: the turn is
//! interrupted, and the person told why.

mod events;

use serde_json::{Map, Value, json};

use super::super::approval::{Approval, Decision, Wants};
use super::super::happened::{End, Happened, Heard, Level, Notified};
use super::super::peer::{self, Fault, Ids, Message};
use super::super::settings::Start;
use super::{Asked, Pending, read, send, summary, unusable};
use crate::trace::Trace;
use events::Events;

/// What a request of ours was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Initialize,
    /// A turn, by its number here.
    Call(u64),
}

/// The turn that runs.
#[derive(Debug, Default)]
struct Turn {
    /// Ours, to know late answers by.
    number: u64,
    /// The id of the call.
    call: u64,
    /// Codex's name for it, once it has begun.
    id: Option<String>,
    /// What to send again if the answer is the end of another turn; gone once the turn has really begun.
    again: Option<Value>,
    /// The model failed, in these words.
    failure: Option<String>,
}

/// The conversation.
#[derive(Debug)]
pub(in crate::codex) struct McpServer {
    ids: Ids<Purpose>,
    greeted: bool,
    held: Vec<u8>,
    pub(super) pending: Pending,
    pub(super) thread: Option<String>,
    turns: u64,
    turn: Option<Turn>,
    events: Events,
    version: Option<String>,
    /// 0.92 wants a word where later versions want an object.
    plain_denial: bool,
    /// What the turns that begin are a part of.
    pub(super) trace: Option<Trace>,
}

impl McpServer {
    pub(super) fn new(run: &str) -> Self {
        Self {
            ids: Ids::default(),
            greeted: false,
            held: Vec::new(),
            pending: Pending::new(run),
            thread: None,
            turns: 0,
            turn: None,
            events: Events::default(),
            version: None,
            plain_denial: false,
            trace: None,
        }
    }

    pub(super) fn greet(&mut self, out: &mut Vec<u8>) {
        let client = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": client,
        });
        let id = self.ids.next(Purpose::Initialize);
        send(out, &json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}));
    }

    pub(super) fn start(&mut self, start: &Start, out: &mut Vec<u8>) {
        let mut arguments = Map::new();
        arguments.insert("prompt".to_owned(), Value::from(start.prompt.as_str()));
        let texts = [
            ("cwd", &start.cwd),
            ("model", &start.model),
            ("sandbox", &start.sandbox),
            ("approval-policy", &start.approval_policy),
            ("profile", &start.profile),
            ("base-instructions", &start.base_instructions),
            ("developer-instructions", &start.developer_instructions),
            ("compact-prompt", &start.compact_prompt),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                arguments.insert(name.to_owned(), Value::from(value.as_str()));
            }
        }
        if !start.config.is_empty() {
            arguments.insert("config".to_owned(), Value::Object(start.config.clone()));
        }
        self.call(json!({"name": "codex", "arguments": arguments}), out);
    }

    pub(super) fn turn(&mut self, thread: &str, prompt: &str, out: &mut Vec<u8>) {
        let arguments = json!({"threadId": thread, "prompt": prompt});
        self.call(json!({"name": "codex-reply", "arguments": arguments}), out);
    }

    fn call(&mut self, mut params: Value, out: &mut Vec<u8>) {
        if let Some(trace) = &self.trace {
            params["_meta"] = trace.members().collect();
        }
        self.turns += 1;
        let number = self.turns;
        let call = self.send_call(number, &params, out);
        self.turn = Some(Turn { number, call, again: Some(params), ..Turn::default() });
    }

    fn send_call(&mut self, number: u64, params: &Value, out: &mut Vec<u8>) -> u64 {
        let call = self.ids.next(Purpose::Call(number));
        let out = if self.greeted { out } else { &mut self.held };
        send(out, &json!({"jsonrpc": "2.0", "id": call, "method": "tools/call", "params": params}));
        call
    }

    pub(super) fn interrupt(&mut self, out: &mut Vec<u8>) {
        if let Some(turn) = &self.turn {
            let params = json!({"requestId": turn.call, "reason": "interrupted by the person"});
            send(out, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
        }
    }

    /// Writes a decision as this version takes it: at the top of the result, which no MCP client would do. The MCP
    /// members stand beside it for a version that may come to want them.
    pub(super) fn answer(&self, decision: &Decision) -> Value {
        match decision {
            Decision::Approve => json!({"action": "accept", "content": {}, "decision": "approved"}),
            Decision::ApproveForSession => {
                json!({"action": "accept", "content": {}, "decision": "approved_for_session"})
            }
            Decision::Deny { note } if !self.plain_denial => {
                let rejection = note.as_deref().unwrap_or("the person said no");
                json!({"action": "decline", "decision": {"denied": {"rejection": rejection}}})
            }
            Decision::Deny { .. } | Decision::Content(_) => {
                json!({"action": "decline", "decision": "denied"})
            }
            Decision::Abort => json!({"action": "cancel", "decision": "abort"}),
        }
    }

    pub(super) fn hear(&mut self, line: &[u8], out: &mut Vec<u8>) -> Heard {
        match peer::parse(line) {
            Message::Notification { method, params } if method == "codex/event" => self.event(&params, out),
            Message::Notification { method, params } => {
                let summary = summary::of_params(&params);
                Heard { thread: None, notified: Some(Notified { method, summary }), happened: Vec::new() }
            }
            Message::Request { id, method, params } => self.asked(id, method, &params),
            Message::Response { id, answer } => match self.ids.answered(&id) {
                Some(purpose) => self.answered(purpose, answer, out),
                None => unusable(&format!("it answers the request {id}, which nobody sent")),
            },
            Message::Bad(reason) => unusable(&reason),
        }
    }

    fn event(&mut self, params: &Value, out: &mut Vec<u8>) -> Heard {
        let message = &params["msg"];
        let thread = read::text(&params["_meta"]["threadId"]);
        if self.thread.is_none() {
            self.thread.clone_from(&thread);
        }
        let turn = read::text(&message["turn_id"]).or_else(|| read::text(&params["id"]));
        let mut happened = match message["type"].as_str().unwrap_or_default() {
            "session_configured" => vec![Happened::Ready(events::ready(message, self.version.clone()))],
            "task_started" => {
                if let Some(running) = &mut self.turn {
                    running.id.clone_from(&turn);
                    running.again = None;
                }
                vec![Happened::TurnStarted { turn: turn.unwrap_or_default() }]
            }
            "task_complete" if self.is_running(turn.as_ref()) => {
                let failure = self.turn.as_mut().and_then(|turn| turn.failure.take());
                self.end(if failure.is_some() { End::Failed } else { End::Completed }, failure)
            }
            "turn_aborted" => self.end(End::Interrupted, None),
            "error" => {
                let message = read::words(&message["message"]);
                if let Some(running) = &mut self.turn {
                    running.failure = Some(message.clone());
                    running.again = None;
                }
                vec![Happened::Notice { level: Level::Error, message }]
            }
            "elicitation_request" => {
                self.interrupt(out);
                let server = read::words(&message["server_name"]);
                let message = format!(
                    "the MCP server `{server}` asks something, which codex mcp-server never forwards; the turn is \
                     interrupted. Use app-server, or the approval policy never"
                );
                vec![Happened::Notice { level: Level::Warning, message }]
            }
            _ => self.events.read(message, turn),
        };
        if matches!(happened.last(), Some(Happened::TurnEnded { .. })) {
            self.events.forget();
            let mut gone = self.pending.take_back_all();
            gone.append(&mut happened);
            happened = gone;
        }
        let notified = Notified { method: "codex/event".to_owned(), summary: summary::of_event(message) };
        Heard { thread, notified: Some(notified), happened }
    }

    /// Tells whether `turn` is the turn that runs, and not the late end of an earlier one.
    fn is_running(&self, turn: Option<&String>) -> bool {
        self.turn.as_ref().is_some_and(|running| running.id.is_some() && running.id.as_ref() == turn)
    }

    fn end(&mut self, end: End, message: Option<String>) -> Vec<Happened> {
        let Some(turn) = self.turn.take() else { return Vec::new() };
        vec![Happened::TurnEnded { turn: turn.id, end, message }]
    }

    fn answered(&mut self, purpose: Purpose, answer: Result<Value, Fault>, out: &mut Vec<u8>) -> Heard {
        let happened = match (purpose, answer) {
            (Purpose::Initialize, Ok(result)) => {
                self.version = read::text(&result["serverInfo"]["version"]);
                self.plain_denial = self.version.as_deref().is_some_and(denies_plainly);
                self.greeted = true;
                send(out, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
                out.append(&mut self.held);
                Vec::new()
            }
            (Purpose::Initialize, Err(fault)) => vec![Happened::Closed { message: Some(fault.message) }],
            (Purpose::Call(number), answer) => self.call_answered(number, &answer, out),
        };
        Heard { thread: self.thread.clone(), notified: None, happened }
    }

    /// The answer to a call. The events have told most of it, unless there were none.
    fn call_answered(
        &mut self,
        number: u64,
        answer: &Result<Value, Fault>,
        out: &mut Vec<u8>,
    ) -> Vec<Happened> {
        if self.turn.as_ref().is_none_or(|turn| turn.number != number) {
            return Vec::new();
        }
        let (failed, text) = match answer {
            Ok(result) => (result["isError"] == json!(true), read::joined(&result["content"], "\n")),
            Err(fault) => (true, fault.message.clone()),
        };
        if failed {
            let never_began = self.thread.is_none();
            let mut happened = self.pending.take_back_all();
            happened.extend(self.end(End::Failed, Some(text.clone())));
            if never_began {
                happened.push(Happened::Closed { message: Some(text) });
            }
            return happened;
        }
        let again = self.turn.as_mut().and_then(|turn| turn.again.take());
        match again {
            // Nothing of this turn was seen: what was answered is the end of the one before.
            Some(params) if text.is_empty() => {
                let call = self.send_call(number, &params, out);
                if let Some(turn) = &mut self.turn {
                    turn.call = call;
                }
                Vec::new()
            }
            _ => {
                let mut happened = self.pending.take_back_all();
                happened.extend(self.end(End::Completed, None));
                happened
            }
        }
    }

    fn asked(&mut self, id: Value, method: String, params: &Value) -> Heard {
        let thread = read::text(&params["threadId"]).or_else(|| self.thread.clone());
        let wants = match params["codex_elicitation"].as_str() {
            Some("exec-approval") => Wants::Command {
                argv: read::list(&params["codex_command"]),
                cwd: read::folder(&params["codex_cwd"]),
            },
            Some("patch-approval") => {
                Wants::Patch { changes: read::changes_by_path(&params["codex_changes"]) }
            }
            _ => Wants::Unknown { method: method.clone(), params: params.clone() },
        };
        let known = !matches!(wants, Wants::Unknown { .. });
        let approval = Approval {
            id: self.pending.name(&id),
            thread: thread.clone().unwrap_or_default(),
            turn: self.turn.as_ref().and_then(|turn| turn.id.clone()),
            item: read::text(&params["codex_call_id"]),
            wants,
            reason: read::text(&params["codex_reason"]).or_else(|| read::text(&params["message"])),
            choices: if known { vec![Decision::Approve, Decision::ApproveForSession] } else { Vec::new() },
        };
        let notified = Some(Notified { method: method.clone(), summary: summary::of_params(params) });
        let of = thread.clone().unwrap_or_default();
        let happened = vec![self.pending.ask(Asked { request: id, method, thread: of }, approval)];
        Heard { thread, notified, happened }
    }
}

/// Tells whether a version wants the bare word `denied`. Where it changed between the two that were tried is not
/// known; a denial that is not understood is still a denial, only without its words.
fn denies_plainly(version: &str) -> bool {
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    version.starts_with("0.") && minor.is_some_and(|minor| minor < 120)
}
