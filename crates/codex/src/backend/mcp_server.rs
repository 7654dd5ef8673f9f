//! `codex mcp-server`, up to 0.153: a turn is a call of a tool, and what happens in it comes as `codex/event`.
//!
//! It works around known faults. Codex does not answer the call of an aborted turn, or answers another call with it
//! later: so a turn ends by its events, and an answer counts only while its own call runs. After a model error the next
//! answer may come at once and empty, because Codex took the end of the old turn for that of the new one: the prompt is
//! sent again, once. A form of a nested MCP server is never forwarded and would hang: the turn is interrupted, and a
//! notice says why.

mod events;

use serde_json::{Map, Value, json};

use super::super::approval::{Approval, ApprovalKind, Decision};
use super::super::event::{CodexEvent, End, EventBatch, Level};
use super::super::jsonrpc::{self, Message, PendingRequests, RpcError};
use super::super::thread_options::{ThreadOptions, TurnInput};
use super::pending_approvals::{PendingApproval, PendingApprovals};
use super::{json_fields, summary};
use adjutant_base::trace_context::Trace;
use events::Events;

/// Members of an approval that are parsed, or do not change what is allowed.
const KNOWN: [&str; 14] = [
    "message",
    "requestedSchema",
    "threadId",
    "codex_elicitation",
    "codex_mcp_tool_call_id",
    "codex_event_id",
    "codex_call_id",
    "codex_approval_id",
    "codex_reason",
    "codex_command",
    "codex_parsed_cmd",
    "codex_cwd",
    "codex_changes",
    "codex_grant_root",
];

/// The purpose of a request of Adjutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Initialize,
    /// A turn, by its number.
    Call(u64),
}

/// The running turn.
#[derive(Debug, Default)]
struct Turn {
    /// Counts turns, to recognise late answers.
    number: u64,
    /// The id of the call.
    call: u64,
    /// Codex's id for it, once it has started.
    id: Option<String>,
    /// The call to repeat if its answer is the end of another turn; `None` once the turn has started.
    retry: Option<Value>,
    /// The model's error, in its words.
    failure: Option<String>,
}

/// The protocol state.
#[derive(Debug, Default)]
pub(crate) struct McpServer {
    requests: PendingRequests<Purpose>,
    initialized: bool,
    held: Vec<u8>,
    pub(super) pending: PendingApprovals,
    pub(super) thread: Option<String>,
    /// The thread's folder.
    folder: Option<String>,
    turns: u64,
    turn: Option<Turn>,
    events: Events,
    version: Option<String>,
    /// 0.92 expects a word where later versions expect an object.
    denies_by_word: bool,
    /// Set when the running turn waits for an answer that nobody can give.
    pub(super) gives_up: bool,
    /// The trace of the turns that start.
    pub(super) trace: Option<Trace>,
}

impl McpServer {
    pub(super) fn new(run: &str) -> Self {
        Self { pending: PendingApprovals::new(run), ..Self::default() }
    }

    pub(super) fn initialize(&mut self, out: &mut Vec<u8>) {
        let client = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": client,
        });
        let id = self.requests.register(Purpose::Initialize);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
        jsonrpc::write_line(out, &request);
    }

    pub(super) fn start(&mut self, start: &ThreadOptions, out: &mut Vec<u8>) {
        let mut arguments = Map::new();
        arguments.insert("prompt".to_owned(), Value::from(start.turn.prompt()));
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
        arguments.extend(json_fields::present(texts).map(|(name, value)| (name.to_owned(), value)));
        if !start.config.is_empty() {
            arguments.insert("config".to_owned(), Value::Object(start.config.clone()));
        }
        self.call(json!({"name": "codex", "arguments": arguments}), out);
    }

    pub(super) fn turn(&mut self, thread: &str, input: &TurnInput, out: &mut Vec<u8>) {
        let arguments = json!({"threadId": thread, "prompt": input.prompt()});
        self.call(json!({"name": "codex-reply", "arguments": arguments}), out);
    }

    fn call(&mut self, mut params: Value, out: &mut Vec<u8>) {
        if let Some(trace) = &self.trace {
            params["_meta"] = trace.members().collect();
        }
        self.turns += 1;
        let number = self.turns;
        let call = self.send_call(number, &params, out);
        self.turn = Some(Turn { number, call, retry: Some(params), ..Turn::default() });
    }

    fn send_call(&mut self, number: u64, params: &Value, out: &mut Vec<u8>) -> u64 {
        let call = self.requests.register(Purpose::Call(number));
        let out = if self.initialized { out } else { &mut self.held };
        let request = json!({"jsonrpc": "2.0", "id": call, "method": "tools/call", "params": params});
        jsonrpc::write_line(out, &request);
        call
    }

    pub(super) fn interrupt(&mut self, out: &mut Vec<u8>) {
        if let Some(turn) = &self.turn {
            let params = json!({"requestId": turn.call, "reason": "interrupted by the user"});
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            jsonrpc::write_line(out, &notice);
        }
    }

    /// Encodes a decision as this version reads it: at the top of the result, unlike any MCP client. The members of MCP
    /// are included for later versions.
    pub(super) fn answer(&self, decision: &Decision) -> Value {
        match decision {
            // This protocol has no approval for ever.
            Decision::Approve | Decision::ApproveAlways => {
                json!({"action": "accept", "content": {}, "decision": "approved"})
            }
            Decision::ApproveForSession => {
                json!({"action": "accept", "content": {}, "decision": "approved_for_session"})
            }
            Decision::Deny { note } if !self.denies_by_word => {
                let rejection = note.as_deref().unwrap_or("the user said no");
                json!({"action": "decline", "decision": {"denied": {"rejection": rejection}}})
            }
            Decision::Deny { .. } | Decision::Content(_) => {
                json!({"action": "decline", "decision": "denied"})
            }
            Decision::Abort => json!({"action": "cancel", "decision": "abort"}),
        }
    }

    pub(super) fn on_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> EventBatch {
        match jsonrpc::parse(line) {
            Message::Notification { method, params } if method == "codex/event" => self.event(&params),
            Message::Notification { method, params } => {
                let notification = Some(summary::of_params(method, &params));
                EventBatch { thread: None, notification, events: Vec::new() }
            }
            Message::Request { id, method, params } => self.on_request(id, method, &params),
            Message::Response { id, answer } => match self.requests.complete(&id) {
                Some(purpose) => self.on_response(purpose, answer, out),
                None => jsonrpc::unreadable(&format!("it answers the request {id}, which nobody sent")),
            },
            Message::Bad(reason) => jsonrpc::unreadable(&reason),
        }
    }

    fn event(&mut self, params: &Value) -> EventBatch {
        let message = &params["msg"];
        let thread = json_fields::text(&params["_meta"]["threadId"]);
        if self.thread.is_none() {
            self.thread.clone_from(&thread);
        }
        let turn = json_fields::text(&message["turn_id"]).or_else(|| json_fields::text(&params["id"]));
        let mut events = match message["type"].as_str().unwrap_or_default() {
            "session_configured" => {
                let ready = events::ready(message, self.version.clone());
                self.folder.clone_from(&ready.cwd);
                vec![CodexEvent::Ready(ready)]
            }
            "task_started" => {
                if let Some(running) = &mut self.turn {
                    running.id.clone_from(&turn);
                    running.retry = None;
                }
                vec![CodexEvent::TurnStarted { turn: turn.unwrap_or_default() }]
            }
            "task_complete" if self.is_running(turn.as_ref()) => {
                let failure = self.turn.as_mut().and_then(|turn| turn.failure.take());
                self.end(if failure.is_some() { End::Failed } else { End::Completed }, failure)
            }
            "turn_aborted" => self.end(End::Interrupted, None),
            "error" => {
                let message = json_fields::words(&message["message"]);
                if let Some(running) = &mut self.turn {
                    running.failure = Some(message.clone());
                    running.retry = None;
                }
                vec![CodexEvent::Notice { level: Level::Error, message }]
            }
            "elicitation_request" => {
                self.gives_up = true;
                let server = json_fields::words(&message["server_name"]);
                let message = format!(
                    "the MCP server `{server}` asks something, which codex mcp-server never forwards; the turn is \
                     interrupted. Use app-server, or the approval policy never"
                );
                vec![CodexEvent::Notice { level: Level::Warning, message }]
            }
            _ => self.events.read(message, turn),
        };
        if matches!(events.last(), Some(CodexEvent::TurnEnded { .. })) {
            self.events.forget();
            let mut withdrawn = self.pending.withdraw_all();
            withdrawn.append(&mut events);
            events = withdrawn;
        }
        let notification = summary::of_event("codex/event".to_owned(), message);
        EventBatch { thread, notification: Some(notification), events }
    }

    /// Returns true if `turn` is the running turn, and not the late end of an earlier one.
    fn is_running(&self, turn: Option<&String>) -> bool {
        self.turn.as_ref().is_some_and(|running| running.id.is_some() && running.id.as_ref() == turn)
    }

    fn end(&mut self, end: End, message: Option<String>) -> Vec<CodexEvent> {
        let Some(turn) = self.turn.take() else { return Vec::new() };
        vec![CodexEvent::TurnEnded { turn: turn.id, end, message }]
    }

    fn on_response(
        &mut self,
        purpose: Purpose,
        answer: Result<Value, RpcError>,
        out: &mut Vec<u8>,
    ) -> EventBatch {
        let events = match (purpose, answer) {
            (Purpose::Initialize, Ok(result)) => {
                self.version = json_fields::text(&result["serverInfo"]["version"]);
                self.denies_by_word = self.version.as_deref().is_some_and(expects_denial_word);
                self.initialized = true;
                jsonrpc::write_line(out, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
                out.append(&mut self.held);
                Vec::new()
            }
            (Purpose::Initialize, Err(fault)) => vec![CodexEvent::Closed { message: Some(fault.message) }],
            (Purpose::Call(number), answer) => self.on_call_response(number, &answer, out),
        };
        EventBatch { thread: self.thread.clone(), notification: None, events }
    }

    /// Handles the answer to a call. Its events came before, if there were any.
    fn on_call_response(
        &mut self,
        number: u64,
        answer: &Result<Value, RpcError>,
        out: &mut Vec<u8>,
    ) -> Vec<CodexEvent> {
        if self.turn.as_ref().is_none_or(|turn| turn.number != number) {
            return Vec::new();
        }
        let (failed, text) = match answer {
            Ok(result) => (result["isError"] == json!(true), json_fields::joined(&result["content"], "\n")),
            Err(fault) => (true, fault.message.clone()),
        };
        if failed {
            let never_began = self.thread.is_none();
            let mut events = self.pending.withdraw_all();
            events.extend(self.end(End::Failed, Some(text.clone())));
            if never_began {
                events.push(CodexEvent::Closed { message: Some(text) });
            }
            return events;
        }
        let retry = self.turn.as_mut().and_then(|turn| turn.retry.take());
        match retry {
            // No event of this turn came, so the answer is the end of the turn before.
            Some(params) if text.is_empty() => {
                let call = self.send_call(number, &params, out);
                if let Some(turn) = &mut self.turn {
                    turn.call = call;
                }
                Vec::new()
            }
            _ => {
                let mut events = self.pending.withdraw_all();
                events.extend(self.end(End::Completed, None));
                events
            }
        }
    }

    fn on_request(&mut self, id: Value, method: String, params: &Value) -> EventBatch {
        let thread = json_fields::text(&params["threadId"]).or_else(|| self.thread.clone());
        let known = |kind| (kind, json_fields::others(params, &KNOWN));
        let unknown =
            || (ApprovalKind::Unknown { method: method.clone(), params: params.clone() }, Map::new());
        let (kind, others) = match params["codex_elicitation"].as_str() {
            Some("exec-approval") => {
                let argv = json_fields::list(&params["codex_command"]).unwrap_or_default();
                let is_empty = argv.iter().all(|argument| argument.trim().is_empty());
                if is_empty { unknown() } else { known(ApprovalKind::Command { argv }) }
            }
            Some("patch-approval") => known(ApprovalKind::Patch {
                changes: json_fields::changes_by_path(&params["codex_changes"]),
                grant_root: json_fields::folder(&params["codex_grant_root"]),
            }),
            _ => unknown(),
        };
        let (choices, session_scope) = kind.choices();
        let approval = Approval {
            id: self.pending.next_id(),
            thread: thread.clone().unwrap_or_default(),
            turn: self.turn.as_ref().and_then(|turn| turn.id.clone()),
            item: json_fields::text(&params["codex_call_id"]),
            kind,
            folder: json_fields::folder(&params["codex_cwd"]).or_else(|| self.folder.clone()),
            reason: json_fields::text(&params["codex_reason"])
                .or_else(|| json_fields::text(&params["message"])),
            choices,
            session_scope,
            always_scope: None,
            others,
        };
        let notification = Some(summary::of_params(method.clone(), params));
        let of = thread.clone().unwrap_or_default();
        let (offer, secrets) = (Value::Null, Vec::new());
        let asked = PendingApproval { request: id, method, thread: of, offer, secrets };
        let events = vec![self.pending.insert(asked, approval)];
        EventBatch { thread, notification, events }
    }
}

/// Returns true if a version expects the bare word `denied`. The version that changed it is not known; a denial in the
/// wrong form still denies, without its note.
fn expects_denial_word(version: &str) -> bool {
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    version.starts_with("0.") && minor.is_some_and(|minor| minor < 120)
}
