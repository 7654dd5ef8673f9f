//! Clients of the hub's tools: their progress notifications, their cancellations, and what outlives them.

use std::time::Instant;

use serde_json::{Value, json};

use super::faults::app_server;
use super::pages::{APPROVAL_REQUEST, between, send_request};
use super::{codex, install, processes_of};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, Peer, TRACEPARENT, stateless_meta, traced_meta, wait_for};

/// A turn with a command that ends when a file is there or when it is interrupted, which is request 4.
const ENDLESS_COMMAND: &str = r#"line '{"method":"item/started","params":{"threadId":"t-1","item":{"type":"commandExecution","id":"c-1","command":"sleep 1000"}}}'
read -r interrupt; line '{"id":4,"result":{}}'
line '{"method":"turn/completed","params":{"threadId":"t-1","turn":{"id":"u-1","status":"interrupted"}}}'"#;
const WAIT_FOR_GO: &str =
    r#"while ! test -e "$HOME/go"; do sleep 0.05; done; say done; done_; cat > "$HOME/rest""#;

fn client(home: &Home, revision: &str) -> Peer {
    let mut peer = Peer::start(&mut home.adjutant(["connect", "codex"]));
    peer.initialize(revision);
    peer
}

fn send_call(peer: &mut Peer, id: u64, name: &str, arguments: Value) {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

/// Reads until a message matches.
fn receive_until(peer: &Peer, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = peer.receive();
        if wanted(&message) {
            return message;
        }
    }
}

fn is_event(message: &Value, kind: &str) -> bool {
    message["method"] == "codex/event" && message["params"]["msg"]["type"] == kind
}

/// The thread's page: a user's program may not be a child of an agent, and this test is an agent.
fn thread_page(hub: &Serving) -> String {
    send_request(hub, "GET", "/codex/t-1", "").text
}

/// Waits for the approval, and accepts it on the thread's page.
fn approve_on_page(hub: &Serving) {
    wait_for("an approval", || thread_page(hub).contains("name=\"approval\"").then_some(()));
    let page = thread_page(hub);
    let token = between(&page, "name=\"csrf\" value=\"", "\"");
    let approval = between(&page, "name=\"approval\" value=\"", "\"");
    let form = format!("csrf={token}&approval={approval}&act=approve");
    assert_eq!(send_request(hub, "POST", "/codex/t-1", &form).status, 303);
}

fn hub_with(turn: &str) -> (Home, Serving) {
    let home = Home::new();
    install(&home, &app_server(turn), "auto");
    let hub = Serving::open_hub(&home);
    (home, hub)
}

#[test]
fn a_client_gets_progress_and_cancels_its_turn() {
    let (home, hub) = hub_with(ENDLESS_COMMAND);
    let mut peer = client(&home, "2025-06-18");
    send_call(&mut peer, 1, "codex", json!({"prompt": "be slow"}));
    let notified = receive_until(&peer, |message| {
        message["method"] == "notifications/progress" && message["params"]["message"] == "runs sleep 1000"
    });
    assert_eq!(notified["params"]["progressToken"], "p");
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    wait_for("the turn was interrupted", || {
        thread_page(&hub).contains("last turn interrupted").then_some(())
    });
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    let answer = receive_until(&peer, |message| message.get("id").is_some());
    assert_eq!(answer["id"], 2, "what was cancelled has no answer: {answer}");
}

#[test]
fn commands_about_a_running_turn_print_json() {
    for verb in [&["steer", "t-1", "faster"][..], &["interrupt", "t-1"]] {
        let (home, hub) = hub_with(ENDLESS_COMMAND);
        std::thread::scope(|scope| {
            // The schema of each command is checked as it ends.
            let turn = scope.spawn(|| codex(&home, &["be slow", "--json"]));
            wait_for("the command", || thread_page(&hub).contains("sleep 1000").then_some(()));
            let sent = codex(&home, &[verb, &["--json"]].concat());
            let sent: Value = serde_json::from_str(&sent.stdout).unwrap_or_else(|_| panic!("{sent}"));
            assert_eq!(sent["thread_id"], "t-1", "{sent}");
            let ended = turn.join().unwrap();
            assert_eq!(ended.lines().last().unwrap()["ended"]["end"], "interrupted", "{ended}");
        });
        let shown = codex(&home, &["show", "t-1", "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!((&shown["id"], &shown["next"]), (&json!("t-1"), &Value::Null), "{shown}");
    }
}

#[test]
fn a_cancelled_reply_in_the_queue_leaves_the_running_turn_alone() {
    let (home, _hub) = hub_with(WAIT_FOR_GO);
    let mut peer = client(&home, "2025-06-18");
    send_call(&mut peer, 1, "codex", json!({"prompt": "first"}));
    receive_until(&peer, |message| is_event(message, "task_started"));
    send_call(&mut peer, 2, "codex-reply", json!({"threadId": "t-1", "prompt": "second"}));
    let waits = |message: &Value| {
        message["params"]["message"].as_str().is_some_and(|line| line.starts_with("waits for the end of"))
    };
    receive_until(&peer, waits);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    send_call(&mut peer, 3, "codex-reply", json!({"threadId": "t-1", "prompt": "third"}));
    receive_until(&peer, waits);
    home.write("go", "");
    let answer = receive_until(&peer, |message| message.get("id").is_some());
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["content"]),
        (&json!(1), &json!("done"))
    );
    let rest = || std::fs::read_to_string(home.path().join("rest")).unwrap_or_default();
    wait_for("the third prompt", || rest().contains("third").then_some(()));
    assert!(!rest().contains("second"), "{}", rest());
}

#[test]
fn a_client_with_the_tasks_extension_gets_a_protocol_task_for_a_turn() {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for (turn, interrupts) in [(APPROVAL_REQUEST, false), (ENDLESS_COMMAND, true)] {
        let (home, hub) = hub_with(turn);
        let mut peer = Peer::start(&mut home.adjutant(["connect", "codex"]));
        let params = json!({"name": "codex", "arguments": {"prompt": "please"}, "_meta": meta});
        let created = peer.call(1, "tools/call", params)["result"].clone();
        assert_eq!(
            (&created["resultType"], &created["status"]),
            (&json!("task"), &json!("working")),
            "{created}"
        );
        let about = json!({"taskId": created["taskId"], "_meta": meta});
        let answer = peer.call(2, "tasks/get", about.clone());
        let working = answer["result"].clone();
        assert_eq!(working["status"], "working", "{answer}");
        assert!(working["statusMessage"].as_str().unwrap().ends_with("; thread t-1"), "{working}");
        let wanted = if interrupts {
            peer.call(3, "tasks/cancel", about.clone());
            "cancelled"
        } else {
            approve_on_page(&hub);
            "completed"
        };
        let end = Instant::now() + DEADLINE;
        let done = loop {
            let task = peer.call(4, "tasks/get", about.clone())["result"].clone();
            if task["status"] != "working" || Instant::now() > end {
                break task;
            }
        };
        assert_eq!(done["status"], wanted, "{done}");
        if !interrupts {
            let text = &done["result"]["structuredContent"];
            assert_eq!(
                text,
                &json!({"threadId": "t-1", "content": "{'id':0,'result':{'decision':'accept'}}"})
            );
        }
        let unknown = json!({"taskId": "codex-turn-0-0", "_meta": meta});
        assert_eq!(peer.call(5, "tasks/get", unknown)["error"]["code"], -32602);
    }
}

/// Polls a task until its status matches, and returns it.
fn task_until(peer: &mut Peer, about: &Value, wanted: &str) -> Value {
    let end = Instant::now() + DEADLINE;
    loop {
        let answer = peer.call(4, "tasks/get", about.clone());
        if answer["result"]["status"] == wanted {
            return answer["result"].clone();
        }
        assert!(Instant::now() < end, "never {wanted}: {answer}");
    }
}

/// A task outlives its hub: a completed one keeps its answer; a running one has failed, and says how to continue.
#[test]
fn the_protocol_task_of_a_turn_outlives_a_killed_or_stopped_hub() {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for kills in [true, false] {
        let (home, mut hub) = hub_with(WAIT_FOR_GO);
        let mut peer = Peer::start(&mut home.adjutant(["connect", "codex"]));
        let mut begin = |id: u64, name: &str, arguments: Value| {
            let params = json!({"name": name, "arguments": arguments, "_meta": meta});
            let created = peer.call(id, "tools/call", params)["result"].clone();
            assert_eq!(created["resultType"], "task", "{created}");
            json!({"taskId": created["taskId"], "_meta": meta})
        };
        let first = begin(1, "codex", json!({"prompt": "first"}));
        let second = begin(2, "codex-reply", json!({"threadId": "t-1", "prompt": "second"}));
        home.write("go", "");
        assert_eq!(task_until(&mut peer, &first, "completed")["statusMessage"], "completed; thread t-1");
        peer.call(5, "tasks/get", second.clone());
        if kills {
            hub.kill();
        } else {
            hub.stop();
        }
        peer.finish();

        let _hub = Serving::open_hub(&home);
        let mut peer = Peer::start(&mut home.adjutant(["connect", "codex"]));
        let kept = task_until(&mut peer, &first, "completed");
        let text = &kept["result"]["structuredContent"];
        assert_eq!(text, &json!({"threadId": "t-1", "content": "done"}), "{kept}");
        let failed = task_until(&mut peer, &second, "failed");
        assert_eq!(failed["statusMessage"], "the hub stopped before its end; thread t-1");
        let answer = failed["error"]["message"].as_str().unwrap();
        assert!(answer.contains("call codex-reply with threadId t-1"), "{failed}");
        assert_eq!(failed["error"]["code"], -32603);
        // Cancelling a completed task is not an error, and changes nothing.
        assert_eq!(peer.call(6, "tasks/cancel", second.clone())["result"]["resultType"], "complete");
        task_until(&mut peer, &second, "failed");
    }
}

/// Each turn has the trace of its call, also after it was queued; a call without a trace gives none.
#[test]
fn a_turn_has_the_trace_context_of_its_call() {
    let turns = r#"while ! test -e "$HOME/go"; do sleep 0.05; done; say "$(printf '%s' "$thread" | tr '"' "'")"; done_
while read -r turn; do
id="${turn#*:}"; id="${id%%,*}"; line '{"id":'"$id"',"result":{"turn":{"id":"u-2"}}}'
line '{"method":"turn/started","params":{"threadId":"t-1","turn":{"id":"u-2"}}}'
say "$(printf '%s' "$turn" | tr '"' "'")"; done_
done"#;
    let (home, _hub) = hub_with(turns);
    let mut peer = client(&home, "2025-06-18");
    let call = |name: &str, arguments: Value, meta: Value| json!({"name": name, "arguments": arguments, "_meta": meta});
    let send = |peer: &mut Peer, id: u64, params: Value| {
        peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    };
    let mut other = traced_meta();
    other["traceparent"] = json!(TRACEPARENT.replace("4bf9", "aaaa"));
    send(&mut peer, 1, call("codex", json!({"prompt": "first"}), traced_meta()));
    receive_until(&peer, |message| is_event(message, "task_started"));
    for (id, meta) in [(2, other), (3, json!({}))] {
        send(&mut peer, id, call("codex-reply", json!({"threadId": "t-1", "prompt": "more"}), meta));
    }
    home.write("go", "");
    // The order of the two queued turns is not defined.
    let mut text: Vec<(u64, String)> = (0..3)
        .map(|_| {
            let answer = receive_until(&peer, |message| message.get("id").is_some());
            let content = answer["result"]["structuredContent"]["content"].as_str().unwrap();
            (answer["id"].as_u64().unwrap(), content.to_owned())
        })
        .collect();
    text.sort();
    let trace = format!("'trace':{{'traceparent':'{TRACEPARENT}','tracestate':'vendor=1'}}");
    let [(_, first), (_, second), (_, third)] = &text[..] else { panic!("{text:?}") };
    assert!(first.contains("thread/start") && first.contains(&trace), "{first}");
    assert!(second.contains("turn/start") && second.contains("'traceparent':'00-aaaa"), "{second}");
    assert!(third.contains("turn/start") && !third.contains("trace"), "{third}");
}

#[test]
fn an_approval_outlives_the_client_that_began_the_turn() {
    let (home, hub) = hub_with(APPROVAL_REQUEST);
    let mut peer = client(&home, "2025-06-18");
    send_call(&mut peer, 1, "codex", json!({"prompt": "please"}));
    receive_until(&peer, |message| is_event(message, "exec_approval_request"));
    peer.finish();
    approve_on_page(&hub);
    wait_for("the turn has ended", || thread_page(&hub).contains("last turn completed").then_some(()));
    assert!(thread_page(&hub).contains("accept"), "{}", thread_page(&hub));
}

#[test]
fn mcp_codex_ends_with_its_client_during_an_approval() {
    let home = Home::new();
    install(&home, &app_server(APPROVAL_REQUEST), "auto");
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "codex"]));
    peer.initialize("2024-11-05");
    send_call(&mut peer, 1, "codex", json!({"prompt": "please"}));
    let asked = receive_until(&peer, |message| message["method"] == "elicitation/create");
    assert_eq!(asked["params"]["codex_command"], json!(["touch", "made.txt"]), "{asked}");
    let message = asked["params"]["message"].as_str().unwrap();
    let scope = "For this session: the same command in the same folder, until this Codex session ends.";
    assert!(message.ends_with(scope), "{message}");
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    wait_for("nothing is left", || processes_of(home.path()).is_empty().then_some(()));
}

#[test]
fn wrong_arguments_are_results_in_the_words_of_the_original() {
    let (home, _hub) = hub_with("done_");
    let fields = "`prompt`, `model`, `profile`, `cwd`, `approval-policy`, `sandbox`, `config`, `base-instructions`, \
                  `developer-instructions`, `compact-prompt`";
    let parse = |fault: &str| format!("Failed to parse configuration for Codex tool: {fault}");
    let policies = "`untrusted`, `on-failure`, `on-request`, `never`";
    let cases = [
        ("codex", json!({}), parse("missing field `prompt`")),
        ("codex", json!({"prompt": 5}), parse("invalid type: number, expected a string")),
        (
            "codex",
            json!({"prompt": "x", "sandbox": "bogus"}),
            parse(
                "unknown variant `bogus`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
            ),
        ),
        (
            "codex",
            json!({"prompt": "x", "approval-policy": "often"}),
            parse(&format!("unknown variant `often`, expected one of {policies}")),
        ),
        (
            "codex",
            json!({"prompt": "x", "bogus": 1}),
            parse(&format!("unknown field `bogus`, expected one of {fields}")),
        ),
        (
            "codex-reply",
            json!({"prompt": "x"}),
            "Failed to parse thread_id: either threadId or conversationId must be provided".to_owned(),
        ),
    ];
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut peer = client(&home, version);
        for (number, (name, arguments, text)) in cases.iter().enumerate() {
            let answer =
                peer.call(number as u64 + 10, "tools/call", json!({"name": name, "arguments": arguments}));
            assert_eq!(answer["result"]["content"][0]["text"], *text, "{version}: {answer}");
            assert_eq!(answer["result"]["isError"], true, "{answer}");
        }
        let tools = peer.call(30, "tools/list", json!({}))["result"]["tools"].clone();
        assert_eq!(tools[0]["inputSchema"]["additionalProperties"], false, "{tools}");
        let listed = &tools[0]["inputSchema"]["properties"]["approval-policy"]["enum"];
        let expected = if version == "2024-11-05" {
            json!(["untrusted", "on-failure", "on-request", "never"])
        } else {
            json!(["untrusted", "on-request", "never"])
        };
        assert_eq!(*listed, expected, "{version}");
    }
}

#[test]
fn an_unanswered_approval_is_denied_after_its_timeout() {
    let home = Home::new();
    install(&home, &app_server(APPROVAL_REQUEST), "auto");
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    home.write(".adjutant/config.toml", config + "approval_timeout_seconds = 1\n");
    let _hub = Serving::socket_hub(&home);
    let run = codex(&home, &["please"]);
    assert!(run.status.success(), "{run}");
    let output = super::output_lines(&run.stdout);
    assert_eq!(output.last(), Some(&"{'id':0,'result':{'decision':'decline'}}"), "{run}");
    assert!(run.stdout.contains("by timeout"), "{run}");
    assert!(codex(&home, &["approvals"]).stderr.contains("Codex has no pending approvals"));
}
