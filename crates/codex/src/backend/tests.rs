//! Every recorded session, replayed: the lines that the console shows, the answers, and the thread's state.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::{EventBatch, Protocol};
use crate::approval::{Decider, Decision};
use crate::event::CodexEvent;
use crate::jsonrpc::{Line, Lines};
use crate::text_log;
use crate::thread::Thread;
use crate::thread_options::{Backend, ThreadOptions};
use adjutant_base::trace_context::Trace;

/// Feeds a recording to the client, which sends the requests of the recording's client in its order.
struct Replay {
    protocol: Protocol,
    thread: Thread,
    /// Our requests by the recorded ones, and what we sent that the recording has not reached yet.
    requests: HashMap<String, Value>,
    sent: VecDeque<Value>,
    shown: String,
}

impl Replay {
    fn new(back: Backend) -> Self {
        let protocol = Protocol::new(back, "run");
        let (requests, sent) = (HashMap::new(), VecDeque::new());
        Self { protocol, thread: Thread::default(), requests, sent, shown: String::new() }
    }

    fn sent(&mut self, out: &[u8]) {
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let message: Value = serde_json::from_slice(line).unwrap();
            let mut told = message.clone();
            // Which version this is would be in every snapshot.
            if let Some(version) = told.pointer_mut("/params/clientInfo/version") {
                *version = Value::from("[version]");
            }
            writeln!(self.shown, "--> {told}").unwrap();
            self.sent.push_back(message);
        }
    }

    fn took(&mut self, batch: &EventBatch) {
        for event in &batch.events {
            self.thread.apply(event);
        }
        for line in text_log::lines(batch) {
            writeln!(self.shown, "{line}").unwrap();
        }
    }

    fn client_said(&mut self, message: &Value) {
        let mut out = Vec::new();
        let params = &message["params"];
        let Some(method) = message["method"].as_str() else {
            let approval = format!("run-{}", message["id"]);
            let batch = self.protocol.decide(&approval, &decision(message), Decider::User, &mut out);
            self.took(&batch);
            self.sent(&out);
            return;
        };
        let ours = |sent: &Value| sent["method"] == method && !sent["id"].is_null();
        if !self.sent.iter().any(ours) {
            let arguments = &params["arguments"];
            let prompt =
                arguments["prompt"].as_str().or(params["input"][0]["text"].as_str()).unwrap_or_default();
            let thread = [&params["threadId"], &arguments["threadId"]].iter().find_map(|id| id.as_str());
            match (method, params["name"].as_str()) {
                ("initialize", _) => self.protocol.initialize(&mut out),
                ("thread/start", _) => self.protocol.start(&start(params, "prompt"), &mut out),
                ("tools/call", Some("codex")) => self.protocol.start(&start(arguments, prompt), &mut out),
                ("turn/start", _) | ("tools/call", Some("codex-reply")) => {
                    self.protocol.turn(thread.unwrap_or_default(), &prompt.to_owned().into(), &mut out);
                }
                ("turn/interrupt" | "notifications/cancelled", _) => {
                    self.protocol.interrupt(thread.unwrap_or_default(), &mut out);
                }
                // What we never send.
                _ => {}
            }
        }
        self.sent(&out);
        if let Some(at) = self.sent.iter().position(ours) {
            let sent = self.sent.remove(at).unwrap();
            self.requests.insert(message["id"].to_string(), sent["id"].clone());
        }
    }

    fn codex_said(&mut self, message: &Value) {
        let mut message = message.clone();
        if message["method"].is_null() {
            match self.requests.get(&message["id"].to_string()) {
                Some(ours) => message["id"] = ours.clone(),
                // An answer to something that we never ask.
                None => return,
            }
        }
        let mut out = Vec::new();
        let batch = self.protocol.on_line(message.to_string().as_bytes(), &mut out);
        self.took(&batch);
        if self.protocol.gives_up() {
            self.protocol.interrupt("", &mut out);
        }
        self.sent(&out);
    }
}

fn start(params: &Value, prompt: &str) -> ThreadOptions {
    let text = |names: [&str; 2]| names.iter().find_map(|name| params[name].as_str()).map(ToOwned::to_owned);
    ThreadOptions {
        turn: prompt.to_owned().into(),
        cwd: text(["cwd", "cwd"]),
        sandbox: text(["sandbox", "sandbox"]),
        approval_policy: text(["approvalPolicy", "approval-policy"]),
        config: Map::new(),
        ..ThreadOptions::default()
    }
}

/// What the recording's client decided, as ours would say it.
fn decision(message: &Value) -> Decision {
    let result = &message["result"];
    let word = result["decision"].as_str().or(result["action"].as_str()).unwrap_or_default();
    match word {
        "approved" | "accept" if result["content"].as_object().is_none_or(Map::is_empty) => Decision::Approve,
        "accept" => Decision::Content(result["content"].clone()),
        "approved_for_session" | "acceptForSession" => Decision::ApproveForSession,
        "abort" | "cancel" => Decision::Abort,
        _ => {
            Decision::Deny { note: result["decision"]["denied"]["rejection"].as_str().map(ToOwned::to_owned) }
        }
    }
}

#[test]
fn every_recorded_session_is_told_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/fixtures/codex");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() > 80, "{} recordings", names.len());
    for path in names {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let back = if name.contains("-app-") { Backend::AppServer } else { Backend::McpServer };
        let mut replay = Replay::new(back);
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            match line["dir"].as_str().unwrap() {
                "c2s" if line["msg"].is_object() => replay.client_said(&line["msg"]),
                "s2c" if line["msg"].is_object() => replay.codex_said(&line["msg"]),
                _ => {}
            }
        }
        let Replay { thread, mut shown, .. } = replay;
        writeln!(shown, "=== {} {:?} {:?}", thread.state().name(), thread.last, thread.usage).unwrap();
        insta::assert_snapshot!(name, shown);
    }
}

/// What `scripts/bench codex` reads; a build without optimisation does a part of it, for the order alone.
#[test]
fn a_million_events_go_through_in_order() {
    let events: u64 = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    // Four of five are what a turn mostly consists of; the fifth is an answer to something that was asked.
    let text = "and so the tide comes in twice a day";
    let mut wire = Vec::new();
    let mut number = 0;
    while number < events {
        number += 1;
        let first = number - number % 5 + 1;
        let thread = r#""threadId":"01a1fb15-a37b-75c1-bd0c-33d573a944b7","turnId":"01a1fb15-a398-7463-9d05-4b0f1a6b8d3e""#;
        let line = match number % 5 {
            1 => format!(
                r#"{{"method":"item/started","params":{{"n":{number},{thread},"item":{{"type":"agentMessage","id":"m{number}","text":""}}}}}}"#
            ),
            2 | 3 => format!(
                r#"{{"method":"item/agentMessage/delta","params":{{"n":{number},{thread},"itemId":"m{first}","delta":"{text}"}}}}"#
            ),
            4 => format!(
                r#"{{"method":"item/completed","params":{{"n":{number},{thread},"item":{{"type":"agentMessage","id":"m{}","text":"{text}"}}}}}}"#,
                number - 3
            ),
            _ => format!(r#"{{"id":{},"result":{{}}}}"#, 3 + number / 5),
        };
        wire.extend_from_slice(line.as_bytes());
        wire.push(b'\n');
    }
    let mut protocol = Protocol::new(Backend::AppServer, "run");
    let mut out = Vec::new();
    protocol.initialize(&mut out);
    protocol.start(&ThreadOptions::default(), &mut out);
    let hello = r#"{"id":1,"result":{"userAgent":"x/1 y"}}"#;
    let thread = r#"{"id":2,"result":{"thread":{"id":"01a1fb15-a37b-75c1-bd0c-33d573a944b7"}}}"#;
    let turn = r#"{"method":"turn/started","params":{"turn":{"id":"u"}}}"#;
    let mut state = Thread::default();
    for line in [hello, thread, turn] {
        protocol.on_line(line.as_bytes(), &mut out).events.iter().for_each(|events| state.apply(events));
    }
    let mut lines = Lines::default();
    let (mut next, mut shown) = (0, 0);
    let (began, computed) = (Instant::now(), computed());
    for chunk in wire.chunks(64 << 10) {
        lines.push(chunk);
        while let Some(Line::Whole(line)) = lines.next() {
            next += 1;
            if next % 5 == 0 {
                out.clear();
                protocol.interrupt("t", &mut out);
            }
            let batch = protocol.on_line(line, &mut out);
            batch.events.iter().for_each(|events| state.apply(events));
            let told = text_log::lines(&batch);
            if next % 5 == 0 {
                assert!(told.is_empty(), "the answer to {next} was not expected: {told:?}");
            } else {
                assert!(told[0].contains(&format!("{{\"n\":{next},")), "{next}: {told:?}");
                shown += told.len();
            }
        }
    }
    let (took, computed) = (began.elapsed(), self::computed().saturating_sub(computed));
    assert_eq!((next, shown as u64), (events, events));
    println!("{events} events in {:.3} s, {:.3} s computing", took.as_secs_f64(), computed.as_secs_f64());
}

/// How long this thread has run, which other work on the machine does not change.
fn computed() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

#[test]
fn a_call_of_mcp_server_carries_its_trace() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = Trace::read(|name| match name {
        "traceparent" => Some(parent),
        "baggage" => Some("who=ann"),
        _ => None,
    });
    for (trace, wanted) in
        [(trace, Some(serde_json::json!({"traceparent": parent, "baggage": "who=ann"}))), (None, None)]
    {
        let mut protocol = Protocol::new(Backend::McpServer, "run");
        let mut out = Vec::new();
        protocol.initialize(&mut out);
        protocol.set_trace(trace);
        protocol.start(&ThreadOptions::default(), &mut out);
        out.clear();
        protocol
            .on_line(br#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"0.153.4"}}}"#, &mut out);
        let call = out.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
        let call: Value = serde_json::from_slice(call).unwrap();
        assert_eq!(call["method"], "tools/call");
        assert_eq!(call["params"].get("_meta"), wanted.as_ref(), "{call}");
    }
}

#[test]
fn an_approval_offers_the_decisions_that_codex_lists() {
    let decisions = |listed: Value| {
        let mut protocol = Protocol::new(Backend::AppServer, "run");
        let mut out = Vec::new();
        protocol.initialize(&mut out);
        let params = serde_json::json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "touch a",
            "cwd": "/", "availableDecisions": listed});
        let method = "item/commandExecution/requestApproval";
        let request = serde_json::json!({"id": 9, "method": method, "params": params});
        let batch = protocol.on_line(request.to_string().as_bytes(), &mut out);
        let [CodexEvent::ApprovalRequested { approval }] = batch.events.as_slice() else {
            panic!("{:?}", batch.events)
        };
        assert_eq!(approval.session_scope.is_some(), approval.choices.contains(&Decision::ApproveForSession));
        approval.choices.clone()
    };
    let amendment = serde_json::json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch"]}});
    let all = [Decision::Approve, Decision::ApproveForSession];
    assert_eq!(decisions(serde_json::json!(["accept", amendment, "cancel"])), [Decision::Approve]);
    assert_eq!(decisions(serde_json::json!(["acceptForSession", "accept"])), all);
    assert_eq!(decisions(serde_json::json!(["cancel"])), []);
    for nothing in [Value::Null, serde_json::json!([])] {
        assert_eq!(decisions(nothing), all);
    }
}
