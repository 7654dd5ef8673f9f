//! The events of a session as `codex/event` messages of 0.92.

use std::collections::HashMap;

use rmcp::model::RequestId;
use serde_json::{Map, Value, json};

use adjutant_codex::approval::{Approval, ApprovalKind};
use adjutant_codex::event::{CodexEvent, End, Item, ItemKind, ItemState, Level};
use adjutant_codex::patch::FileChange;

/// The events of one call.
#[derive(Debug)]
pub(super) struct Events {
    thread: String,
    meta: Value,
    turn: String,
    /// The kinds of the unfinished items, by their ids.
    kinds: HashMap<String, &'static str>,
    last_message: Option<String>,
}

impl Events {
    pub(super) fn new(thread: &str, call: &RequestId) -> Self {
        let meta = json!({"requestId": call, "threadId": thread});
        Self {
            thread: thread.to_owned(),
            meta,
            turn: String::new(),
            kinds: HashMap::new(),
            last_message: None,
        }
    }

    /// Returns the parameters of the notifications of an event.
    pub(super) fn params(&mut self, event: &CodexEvent) -> Vec<Value> {
        let messages = self.messages(event);
        let envelope = |message: Value| json!({"_meta": self.meta, "id": self.turn, "msg": message});
        messages.into_iter().map(envelope).collect()
    }

    /// Returns the parameters of a warning about a request that is denied, because this client cannot be asked.
    pub(super) fn refusal(&self, approval: &Approval) -> Value {
        let message = format!("denied, because this client cannot be asked: {}", approval.line());
        json!({"_meta": self.meta, "id": self.turn, "msg": {"type": "warning", "message": message}})
    }

    fn messages(&mut self, event: &CodexEvent) -> Vec<Value> {
        match event {
            CodexEvent::Ready(ready) => vec![json!({
                "type": "session_configured", "session_id": self.thread, "thread_id": self.thread,
                "model": ready.model, "cwd": ready.cwd,
            })],
            CodexEvent::TurnStarted { turn } => {
                self.turn.clone_from(turn);
                vec![json!({"type": "task_started", "turn_id": turn, "model_context_window": null})]
            }
            CodexEvent::TurnEnded { end: End::Completed, .. } => {
                vec![
                    json!({"type": "task_complete", "turn_id": self.turn, "last_agent_message": self.last_message}),
                ]
            }
            CodexEvent::TurnEnded { end: End::Interrupted, .. } => {
                vec![json!({"type": "turn_aborted", "turn_id": self.turn, "reason": "interrupted"})]
            }
            CodexEvent::TurnEnded { end: End::Failed, message, .. } => {
                vec![json!({"type": "error", "message": message, "codex_error_info": "other"})]
            }
            CodexEvent::ItemStarted { item } => {
                self.kinds.insert(item.id.clone(), item.kind.name());
                let mut messages = self.item("item_started", item);
                messages.extend(self.item_begin(item));
                messages
            }
            CodexEvent::ItemGrew { id, text } => self.delta(id, text).into_iter().collect(),
            CodexEvent::ItemEnded { item } => {
                self.kinds.remove(&item.id);
                let mut messages = self.item("item_completed", item);
                messages.extend(self.item_end(item));
                messages
            }
            CodexEvent::ApprovalRequested { approval } => {
                self.approval_request(approval).into_iter().collect()
            }
            CodexEvent::Diff { diff } => vec![json!({"type": "turn_diff", "unified_diff": diff})],
            CodexEvent::Usage(usage) => {
                let total = json!({
                    "input_tokens": usage.input, "cached_input_tokens": usage.cached,
                    "output_tokens": usage.output, "reasoning_output_tokens": usage.reasoning,
                    "total_tokens": usage.total,
                });
                vec![
                    json!({"type": "token_count", "info": {"total_token_usage": total}, "rate_limits": null}),
                ]
            }
            CodexEvent::Notice { level: Level::Error, message } => {
                vec![json!({"type": "stream_error", "message": message})]
            }
            CodexEvent::Notice { level: Level::Warning | Level::Info, message } => {
                vec![json!({"type": "warning", "message": message})]
            }
            CodexEvent::Steered { .. }
            | CodexEvent::ApprovalResolved { .. }
            | CodexEvent::Limits(_)
            | CodexEvent::SubAgent { .. }
            | CodexEvent::Closed { .. } => Vec::new(),
        }
    }

    fn item(&self, kind: &str, item: &Item) -> Vec<Value> {
        let mut value = match &item.kind {
            ItemKind::User { text } => {
                json!({"type": "UserMessage", "content": [{"type": "text", "text": text, "text_elements": []}]})
            }
            ItemKind::Agent { text } if text.is_empty() => json!({"type": "AgentMessage", "content": []}),
            ItemKind::Agent { text } => {
                json!({"type": "AgentMessage", "content": [{"type": "Text", "text": text}]})
            }
            ItemKind::Reasoning { text } => {
                json!({"type": "Reasoning", "summary_text": [text], "raw_content": []})
            }
            ItemKind::Command { .. }
            | ItemKind::Patch { .. }
            | ItemKind::Tool { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Error { .. }
            | ItemKind::Other { .. } => {
                return Vec::new();
            }
        };
        value["id"] = item.id.as_str().into();
        vec![json!({"type": kind, "thread_id": self.thread, "turn_id": self.turn, "item": value})]
    }

    fn item_begin(&self, item: &Item) -> Option<Value> {
        let message = match &item.kind {
            ItemKind::Command { command, cwd, .. } => {
                json!({"type": "exec_command_begin", "command": [command], "cwd": cwd, "parsed_cmd": [], "source": "agent"})
            }
            ItemKind::Patch { changes } => {
                json!({"type": "patch_apply_begin", "auto_approved": false, "changes": by_path(changes)})
            }
            ItemKind::Tool { server, tool, arguments, .. } => json!({
                "type": "mcp_tool_call_begin",
                "invocation": {"server": server, "tool": tool, "arguments": arguments},
            }),
            ItemKind::User { .. }
            | ItemKind::Agent { .. }
            | ItemKind::Reasoning { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Error { .. }
            | ItemKind::Other { .. } => {
                return None;
            }
        };
        Some(self.with_call_id(item, message))
    }

    fn item_end(&mut self, item: &Item) -> Option<Value> {
        let ok = item.state == ItemState::Done;
        let message = match &item.kind {
            ItemKind::User { text } => {
                return Some(json!({"type": "user_message", "message": text, "images": []}));
            }
            ItemKind::Agent { text } => {
                self.last_message = Some(text.clone());
                return Some(json!({"type": "agent_message", "message": text}));
            }
            ItemKind::Reasoning { text } => return Some(json!({"type": "agent_reasoning", "text": text})),
            ItemKind::Command { command, cwd, output, exit_code } => json!({
                "type": "exec_command_end", "command": [command], "cwd": cwd, "parsed_cmd": [], "source": "agent",
                "stdout": output, "stderr": "", "aggregated_output": output, "formatted_output": output,
                "exit_code": exit_code.unwrap_or(-1), "duration": {"secs": 0, "nanos": 0},
            }),
            ItemKind::Patch { changes } => json!({
                "type": "patch_apply_end", "stdout": "", "stderr": "", "success": ok, "changes": by_path(changes),
            }),
            ItemKind::Tool { server, tool, arguments, result } => {
                let outcome = if ok {
                    json!({"Ok": {"content": [{"type": "text", "text": result}]}})
                } else {
                    json!({"Err": result})
                };
                json!({
                    "type": "mcp_tool_call_end", "result": outcome, "duration": {"secs": 0, "nanos": 0},
                    "invocation": {"server": server, "tool": tool, "arguments": arguments},
                })
            }
            ItemKind::Error { message } => return Some(json!({"type": "warning", "message": message})),
            ItemKind::Plan { .. } | ItemKind::Other { .. } => return None,
        };
        Some(self.with_call_id(item, message))
    }

    fn with_call_id(&self, item: &Item, mut message: Value) -> Value {
        message["call_id"] = item.id.as_str().into();
        message["turn_id"] = self.turn.as_str().into();
        message
    }

    fn delta(&self, id: &str, text: &str) -> Option<Value> {
        let kind = match *self.kinds.get(id)? {
            "agent" => "agent_message_content_delta",
            "reasoning" => "reasoning_content_delta",
            // Codex sends the output of a command in base64; the whole output at the command's end is enough.
            _ => return None,
        };
        let thread = &self.thread;
        Some(json!({"type": kind, "thread_id": thread, "turn_id": self.turn, "item_id": id, "delta": text}))
    }

    fn approval_request(&self, approval: &Approval) -> Option<Value> {
        let mut message = match &approval.kind {
            ApprovalKind::Command { argv } => {
                let cwd = &approval.folder;
                json!({"type": "exec_approval_request", "command": argv, "cwd": cwd, "parsed_cmd": []})
            }
            ApprovalKind::Patch { changes, grant_root } => {
                let mut message =
                    json!({"type": "apply_patch_approval_request", "changes": by_path(changes)});
                if let Some(root) = grant_root {
                    message["grant_root"] = root.as_str().into();
                }
                message
            }
            ApprovalKind::Network { .. }
            | ApprovalKind::Elicitation { .. }
            | ApprovalKind::ToolCall { .. }
            | ApprovalKind::Permissions { .. }
            | ApprovalKind::Input { .. }
            | ApprovalKind::Unknown { .. } => return None,
        };
        message["call_id"] = json!(approval.item);
        message["turn_id"] = self.turn.as_str().into();
        message["reason"] = json!(approval.reason);
        Some(message)
    }
}

fn by_path(changes: &[FileChange]) -> Map<String, Value> {
    changes.iter().map(|entry| (entry.path.clone(), change(entry))).collect()
}

/// Returns one file of a patch in Codex's form.
pub(super) fn change(change: &FileChange) -> Value {
    match change.how.as_str() {
        "update" => json!({"type": "update", "unified_diff": change.diff, "move_path": null}),
        how => json!({"type": how, "content": change.diff}),
    }
}
