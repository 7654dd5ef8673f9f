//! Permission events of clients: their input as a call of a tool, and a decision in their own words.
//!
//! No output leaves the decision to the client, in every client. The events and their forms, as documented and as found in
//! these versions:
//! - Claude Code 2.1.329, <https://code.claude.com/docs/en/hooks>: `PermissionRequest` runs next to the dialog, and allows or
//!   denies; a session without a terminal has no such event, so `PreToolUse` carries the decisions of rules. Timeout 600 s. A
//!   denial in the dialog ends the hook, and an approval there does not: `PostToolUse` and `PostToolUseFailure` report the call
//!   then. An allowed call also runs in plan mode, so `permission_mode` limits what rules allow.
//! - Codex 0.169.0, `codex-rs/hooks/schema/generated/permission-request.command.*.schema.json`: `PermissionRequest` runs
//!   before its prompt; any member but `behavior` and `message` fails the hook. A connection to a host is asked as the command
//!   that needs it, with the host in the description. Timeout 600 s.
//! - Copilot CLI 1.0.102, <https://docs.github.com/en/copilot/reference/hooks-reference>: `permissionRequest` runs before its
//!   own rules and its prompt; exit code 2 would deny. Timeout 30 s, or as the entry says.
//! - Gemini CLI 0.61.0, `docs/hooks/reference.md` of its package: `BeforeTool` runs before every tool and can only deny: an
//!   allowed tool is still confirmed in the terminal. Timeout 60 s, or as the entry says.
//! - opencode 1.18.33, <https://opencode.ai/docs/plugins/>: its plugins are JavaScript, so `src/install/opencode_plugin.js` passes
//!   the event `permission.asked` here with the arguments of `tool.execute.before`, and the reply to
//!   `POST /session/{id}/permissions/{permissionID}`. Its prompt is open meanwhile. The hook `permission.ask` of its types is never
//!   called (<https://github.com/anomalyco/opencode/issues/7006>). `opencode run` rejects at once what nothing allows.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::client_json;
use crate::install::Client;
use adjutant_app::permissions::{PermissionAnswer, ToolCall};
use adjutant_permissions::{Allowable, Verdict};

/// Tools that ask the user themselves: their answer is more than a yes.
const DIALOGS: &[&str] = &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ask_user", "question"];

/// Tools of opencode with the permission `edit`.
const EDITS: &[&str] = &["apply_patch", "edit", "multiedit", "write"];

/// The beginning of Codex's text about a connection, which is also the name of the tool here.
const NETWORK: &str = "network-access";

/// An event with the form of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Of Claude Code and Codex.
    PermissionRequest,
    /// Of Claude Code.
    PreToolUse,
    /// Of Copilot.
    Behavior,
    /// Of Gemini.
    BeforeTool,
    /// Of the plugin for opencode.
    Reply,
    /// A report of Claude Code, which takes no decision.
    HasRun,
}

/// Returns the call of a client's permission event; `None` for any other event.
pub(super) fn parse(client: &str, input: &Value) -> Option<(Form, ToolCall)> {
    let text = |names: &[&str]| names.iter().find_map(|name| input[*name].as_str());
    let form = match (client, text(&["hook_event_name"])) {
        ("claude" | "codex", Some("PermissionRequest")) => Form::PermissionRequest,
        ("claude", Some("PreToolUse")) => Form::PreToolUse,
        ("claude", Some("PostToolUse" | "PostToolUseFailure")) => Form::HasRun,
        ("gemini", Some("BeforeTool")) => Form::BeforeTool,
        ("opencode", Some("permission.asked")) => Form::Reply,
        // Its events in camel case have no name.
        ("copilot", None) if input.get("toolName").is_some() => Form::Behavior,
        _ => return None,
    };
    let mut tool = text(&["tool_name", "toolName"])?;
    let mut arguments = ["tool_input", "toolInput", "toolArgs"].iter().find_map(|name| input.get(*name))?;
    // A tool may need further permissions, such as for a folder elsewhere: its arguments do not say what they allow.
    if form == Form::Reply
        && let (Some(name), given @ Value::Object(_)) = (arguments["tool"].as_str(), &arguments["arguments"])
        && (tool == name || tool == "edit" && EDITS.contains(&name))
    {
        (tool, arguments) = (name, given);
    }
    let arguments: Map<String, Value> = match arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) => match client_json::parse(text.as_bytes()).ok()? {
            Value::Object(arguments) => arguments,
            _ => return None,
        },
        _ => return None,
    };
    let folder = PathBuf::from(text(&["cwd"])?);
    let known = Client::from_name(client)?;
    let connects = client == "codex"
        && ["description", "command"].iter().any(|member| {
            arguments.get(*member).and_then(Value::as_str).is_some_and(|text| text.starts_with(NETWORK))
        });
    let session = text(&["session_id", "sessionId"]).unwrap_or_default();
    let plans = text(&["permission_mode"]) == Some("plan");
    let allowable = if client_json::is_doubled(&arguments) {
        Allowable::Nothing
    } else if plans {
        Allowable::Reads
    } else {
        Allowable::All
    };
    let is_usable = folder.is_absolute() && !DIALOGS.contains(&tool) && !session.is_empty();
    let call = ToolCall {
        client: client.to_owned(),
        client_title: known.title().to_owned(),
        session: session.to_owned(),
        folder,
        // A rule for a command must not allow a connection.
        tool: if connects { NETWORK.to_owned() } else { tool.to_owned() },
        arguments,
        rules_only: matches!(form, Form::PreToolUse | Form::BeforeTool | Form::HasRun),
        has_run: form == Form::HasRun,
        allowable,
    };
    is_usable.then_some((form, call))
}

/// Returns the client's form of an answer; `None` leaves the decision to the client.
pub(super) fn render(form: Form, answer: &PermissionAnswer) -> Option<Value> {
    let reason = &answer.reason;
    let allows = match answer.verdict? {
        Verdict::Allow => true,
        Verdict::Deny => false,
        Verdict::Ask => return None,
    };
    let behavior = || {
        if allows {
            json!({"behavior": "allow"})
        } else {
            json!({"behavior": "deny", "message": denied(reason)})
        }
    };
    Some(match form {
        Form::PermissionRequest => {
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behavior()}})
        }
        Form::PreToolUse => {
            let decision = if allows { "allow" } else { "deny" };
            json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason,
            }})
        }
        Form::Behavior => behavior(),
        Form::BeforeTool if allows => return None,
        Form::BeforeTool => json!({"decision": "deny", "reason": denied(reason)}),
        Form::Reply => json!({"reply": if allows { "once" } else { "reject" }}),
        Form::HasRun => return None,
    })
}

fn denied(reason: &str) -> String {
    format!("denied by {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(client: &str, input: &Value) -> Option<(Form, ToolCall)> {
        parse(client, input)
    }

    #[test]
    fn each_client_gets_its_own_form_and_no_output_without_a_decision() {
        let snake = |event: &str| json!({"session_id": "s", "hook_event_name": event, "cwd": "/w", "tool_name": "t", "tool_input": {"a": 1}});
        let camel =
            json!({"sessionId": "s", "timestamp": 1, "cwd": "/w", "toolName": "t", "toolInput": {"a": 1}});
        let as_text = json!({"sessionId": "s", "cwd": "/w", "toolName": "t", "toolArgs": "{\"a\":1}"});
        let asked = json!({
            "session_id": "s", "hook_event_name": "permission.asked", "cwd": "/w", "tool_name": "t",
            "tool_input": {"patterns": ["x"], "tool": "t", "arguments": {"a": 1}},
        });
        let decision = |behavior: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behavior}});
        let pre = |decision: &str| {
            json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "rule r",
            }})
        };
        let (yes, no) =
            (json!({"behavior": "allow"}), json!({"behavior": "deny", "message": "denied by rule r"}));
        let ask = |verdict| PermissionAnswer {
            verdict,
            reason: "rule r".to_owned(),
            ..PermissionAnswer::default()
        };
        for (client, input, allowed, denied) in [
            ("claude", snake("PermissionRequest"), Some(decision(yes.clone())), decision(no.clone())),
            ("codex", snake("PermissionRequest"), Some(decision(yes.clone())), decision(no.clone())),
            ("claude", snake("PreToolUse"), Some(pre("allow")), pre("deny")),
            ("copilot", camel, Some(yes.clone()), no.clone()),
            ("copilot", as_text, Some(yes), no),
            ("gemini", snake("BeforeTool"), None, json!({"decision": "deny", "reason": "denied by rule r"})),
            ("opencode", asked, Some(json!({"reply": "once"})), json!({"reply": "reject"})),
        ] {
            let (form, call) = call(client, &input).unwrap();
            assert_eq!((call.session.as_str(), call.arguments["a"].as_i64()), ("s", Some(1)), "{client}");
            assert_eq!(render(form, &ask(Some(Verdict::Allow))), allowed, "{client}");
            assert_eq!(render(form, &ask(Some(Verdict::Deny))), Some(denied), "{client}");
            assert_eq!(render(form, &ask(Some(Verdict::Ask))), None, "{client}");
            assert_eq!(render(form, &ask(None)), None, "{client}");
        }
    }

    #[test]
    fn plan_mode_and_doubled_arguments_limit_what_rules_allow() {
        for (client, input, allowable) in [
            ("claude", json!({"permission_mode": "default"}), Allowable::All),
            ("claude", json!({"permission_mode": "plan"}), Allowable::Reads),
            ("claude", json!({"permission_mode": "acceptEdits"}), Allowable::All),
        ] {
            let mut event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": "/w", "tool_name": "t", "tool_input": {"a": 1}});
            event.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            assert_eq!(call(client, &event).unwrap().1.allowable, allowable, "{event}");
        }
        for (arguments, allowable) in [
            (r#"{"command":"ls"}"#, Allowable::All),
            (r#"{"command":"ls","command":"rm"}"#, Allowable::Nothing),
            (r#"{"a":[{"b":1,"b":1}]}"#, Allowable::Nothing),
        ] {
            let event = json!({"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": arguments});
            assert_eq!(call("copilot", &event).unwrap().1.allowable, allowable, "{event}");
        }
    }

    #[test]
    fn a_call_that_has_run_is_reported_and_not_decided() {
        for event in ["PostToolUse", "PostToolUseFailure"] {
            let input = json!({"session_id": "s", "hook_event_name": event, "cwd": "/w", "tool_name": "t", "tool_input": {}});
            let (form, reported) = call("claude", &input).unwrap();
            assert!(reported.has_run && reported.rules_only);
            let allowed = PermissionAnswer { verdict: Some(Verdict::Allow), ..PermissionAnswer::default() };
            assert_eq!(render(form, &allowed), None);
            assert!(call("codex", &input).is_none());
        }
    }

    #[test]
    fn a_connection_of_codex_is_not_a_command() {
        let tool = |tool_input: Value| {
            let event = "PermissionRequest";
            let input = json!({"session_id": "s", "hook_event_name": event, "cwd": "/w", "tool_name": "Bash", "tool_input": tool_input});
            call("codex", &input).unwrap().1.tool
        };
        assert_eq!(tool(json!({"command": "cargo test", "description": "Tests the tides"})), "Bash");
        assert_eq!(
            tool(json!({"command": "cargo test", "description": "network-access example.org"})),
            NETWORK
        );
        assert_eq!(tool(json!({"command": "network-access example.org"})), NETWORK);
    }

    #[test]
    fn a_permission_of_opencode_is_its_tool_only_if_it_is_for_that_tool() {
        let tool = |permission: &str, tool: &str, arguments: Value| {
            let tool_input = json!({"patterns": ["p"], "tool": tool, "arguments": arguments});
            let input = json!({
                "session_id": "s", "hook_event_name": "permission.asked", "cwd": "/w", "tool_name": permission,
                "tool_input": tool_input,
            });
            let call = call("opencode", &input).unwrap().1;
            (call.tool, call.arguments.contains_key("patterns"))
        };
        let named = |name: &str, has_patterns| (name.to_owned(), has_patterns);
        let command = json!({"command": "ls"});
        assert_eq!(tool("bash", "bash", command.clone()), named("bash", false));
        assert_eq!(tool("edit", "write", json!({"filePath": "a"})), named("write", false));
        assert_eq!(tool("external_directory", "bash", command.clone()), named("external_directory", true));
        assert_eq!(tool("edit", "bash", command), named("edit", true));
        assert_eq!(tool("bash", "bash", Value::Null), named("bash", true));
    }

    #[test]
    fn other_events_are_not_calls() {
        let good = json!({"session_id": "s", "hook_event_name": "PermissionRequest", "cwd": "/w", "tool_name": "t", "tool_input": {}});
        assert!(call("claude", &good).is_some());
        for (member, value) in [
            ("hook_event_name", json!("PostToolBatch")),
            ("hook_event_name", json!(7)),
            ("session_id", json!(null)),
            ("session_id", json!("")),
            ("cwd", json!("relative")),
            ("cwd", json!(null)),
            ("tool_name", json!("AskUserQuestion")),
            ("tool_name", json!(null)),
            ("tool_input", json!("rm")),
            ("tool_input", json!([])),
        ] {
            let mut input = good.clone();
            input[member] = value;
            assert!(call("claude", &input).is_none(), "{input}");
        }
        assert!(call("gemini", &good).is_none());
        assert!(call("zed", &good).is_none());
    }
}
