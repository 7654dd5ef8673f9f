//! The server of all toolsets: its lists, the toolsets of each client, and the outcomes that a disconnected agent gets
//! later.

use std::collections::BTreeSet;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::questions::fixtures::{User, example, relay_of};
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Home, Peer, stateless_meta};

const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Largest answer to `tools/list` in bytes: every client sends it to its model with every turn.
const MAX_LIST_BYTES: usize = 25_000;

/// A relay below a separate shell. The process that starts a relay counts as an agent, and the test has to stay a user.
fn relay_in_shell(fixture: &TaskFixture, name: &str) -> Peer {
    let relay = fixture.adjutant(&[]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &format!("{} connect --no-start; :", env!("CARGO_BIN_EXE_adjutant"))]).env_clear();
    shell.envs(relay.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut peer = Peer::start(shell.current_dir(fixture.home.path()));
    handshake(&mut peer, name, "2025-11-25");
    peer
}

fn connect(home: &Home) -> Peer {
    Peer::start(&mut home.adjutant(["connect", "--no-start"]))
}

/// A handshake under a name.
fn handshake(peer: &mut Peer, name: &str, revision: &str) -> Value {
    let client = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
    let answer = peer.call("init", "initialize", params);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    answer["result"].clone()
}

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn tools(peer: &mut Peer) -> BTreeSet<String> {
    let list = peer.call("tools", "tools/list", json!({}));
    names(&list).into_iter().map(ToOwned::to_owned).collect()
}

#[test]
fn the_tool_list_is_complete_and_below_25_kilobytes() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let mut last = Value::Null;
    for revision in HANDSHAKE_VERSIONS.into_iter().map(Some).chain([None]) {
        let mut peer = connect(&home);
        let mut ask = ask.clone();
        match revision {
            Some(revision) => drop(peer.initialize(revision)),
            None => ask["params"]["_meta"] = stateless_meta(),
        }
        peer.send(&ask);
        let mut line = peer.line();
        while !line.contains("\"id\":1") {
            line = peer.line();
        }
        assert!(line.len() < MAX_LIST_BYTES, "{revision:?}: {} bytes", line.len());
        peer.send(&ask);
        assert_eq!(peer.line(), line, "the same list twice");
        last = serde_json::from_str(&line).unwrap();
        if revision == Some("2024-11-05") {
            insta::assert_json_snapshot!("tools_2024_11_05", last["result"]);
        }
        let revision = revision.unwrap_or("2026-07-28");
        for tool in last["result"]["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{revision}: {name}");
            assert_eq!(tool["inputSchema"]["type"], json!("object"), "{revision}: {name}");
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                // Two hints have no meaning for a tool that changes nothing.
                let is_due = ["readOnlyHint", "openWorldHint"].contains(&hint)
                    || tool["annotations"]["readOnlyHint"] == false;
                let expected = revision > "2024-11-05" && is_due;
                assert_eq!(tool["annotations"][hint].is_boolean(), expected, "{revision}: {name} and {hint}");
            }
            if revision >= "2025-06-18" {
                assert!(tool["title"].is_string(), "{revision}: {name}");
                assert_eq!(tool["outputSchema"]["type"], json!("object"), "{revision}: {name}");
            }
        }
    }
    insta::assert_json_snapshot!("tools", names(&last));
}

#[test]
fn the_configuration_switches_toolsets_for_all_and_for_one_client() {
    let home = Home::new();
    home.write(
        ".adjutant/config.toml",
        "[toolsets]\ncodex = false\n[clients.Claude]\ntoolsets = [\"prompts\", \"questions\", \"codex\"]\n[clients.claude-desktop]\ntoolsets = [\"assistant\"]\n",
    );
    let hub = Serving::open_hub(&home);
    let mut any = connect(&home);
    let text = handshake(&mut any, "anything", "2025-11-25")["instructions"].as_str().unwrap().to_owned();
    assert!(
        text.contains("expand_prompt") && text.contains("task_wait") && !text.contains("codex"),
        "{text}"
    );
    let all = tools(&mut any);
    assert!(all.contains("getUser") && all.contains("delegate_task") && !all.contains("codex"), "{all:?}");

    let mut claude = connect(&home);
    let text =
        handshake(&mut claude, "claude-code", "2025-06-18")["instructions"].as_str().unwrap().to_owned();
    assert!(
        text.contains("expand_prompt") && !text.contains("task_wait") && !text.contains("getUser"),
        "{text}"
    );
    assert_eq!(
        tools(&mut claude),
        ["list_prompts", "expand_prompt", "triggerPopup", "ask_form", "await_answer"]
            .map(str::to_owned)
            .into()
    );
    let refused = claude.call(2, "tools/call", json!({"name": "list_agents", "arguments": {}}));
    assert_eq!(refused["error"]["code"], json!(-32602), "{refused}");

    let mut desktop = connect(&home);
    handshake(&mut desktop, "Claude-Desktop", "2025-06-18");
    assert!(tools(&mut desktop).contains("getUser"));
    assert_eq!(
        desktop.call(3, "resources/templates/list", json!({}))["result"]["resourceTemplates"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(desktop.call(4, "prompts/get", json!({"name": "research"}))["error"]["code"], json!(-32602));
    let skill = desktop.call(5, "resources/read", json!({"uri": "skill://research/SKILL.md"}));
    assert_eq!(skill["error"]["code"], json!(-32002), "{skill}");

    // A server that is requested by its name is served.
    let mut alone = Peer::start(&mut home.adjutant(["connect", "codex", "--no-start"]));
    alone.initialize("2025-06-18");
    assert!(tools(&mut alone).contains("codex"));
    drop(hub);
}

#[test]
fn a_switched_toolset_notifies_clients_and_applies_at_once() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let mut legacy = connect(&home);
    legacy.initialize("2025-06-18");
    assert!(tools(&mut legacy).contains("list_prompts"));
    let mut modern = connect(&home);
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let listen = json!({"notifications": filter, "_meta": stateless_meta()});
    modern.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": listen}));
    assert_eq!(modern.receive()["method"], json!("notifications/subscriptions/acknowledged"));

    // An unreadable configuration changes nothing.
    home.write(".adjutant/config.toml", "[toolsets]\nprompts = maybe\n");
    home.write(".adjutant/config.toml", "[toolsets]\nprompts = false\nassistant = false\n");
    for peer in [&legacy, &modern] {
        let notified: BTreeSet<String> =
            (0..3).map(|_| peer.receive()["method"].as_str().unwrap().to_owned()).collect();
        let lists =
            ["prompts", "resources", "tools"].map(|list| format!("notifications/{list}/list_changed"));
        assert_eq!(notified, lists.into());
    }
    let left = tools(&mut legacy);
    assert!(left.contains("delegate_task") && !left.contains("list_prompts"), "{left:?}");
    assert_eq!(legacy.call(4, "prompts/list", json!({}))["result"]["prompts"], json!([]));
    assert_eq!(legacy.call(5, "resources/list", json!({}))["result"]["resources"], json!([]));
}

#[test]
fn trigger_popup_needs_the_questions_toolset() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[toolsets]\nquestions = false\n");
    let _hub = Serving::socket_hub(&home);
    let mut peer = connect(&home);
    let answer = peer.call("1", "triggerPopup", example("Raw"));
    assert_eq!(answer["error"]["code"], json!(-32601), "{answer}");
}

#[test]
fn the_codex_tools_reject_an_unsafe_sandbox_or_configuration() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let mut peer = connect(&home);
    peer.initialize("2025-11-25");
    let list = peer.call(1, "tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let codex = tools.iter().find(|tool| tool["name"] == json!("codex")).unwrap();
    let schema = &codex["inputSchema"]["properties"];
    assert_eq!(schema["sandbox"]["enum"], json!(["read-only", "workspace-write"]));
    assert_eq!((schema.get("config"), schema.get("profile")), (None, None));
    for (name, value) in [
        ("sandbox", json!("danger-full-access")),
        ("sandbox", json!(["danger-full-access"])),
        ("config", json!({"sandbox_mode": "danger-full-access"})),
        ("profile", json!("free")),
    ] {
        let mut arguments = json!({"prompt": "hello"});
        arguments[name] = value;
        let answer = peer.call(2, "tools/call", json!({"name": "codex", "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Failed to parse configuration for Codex tool: "), "{answer}");
    }
}

/// Calls a tool and returns its result.
fn call(peer: &mut Peer, id: i64, name: &str, arguments: Value) -> Value {
    let answer = peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}));
    answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone()
}

#[test]
fn undelivered_outcomes_come_once_with_the_next_answer() {
    let fixture = TaskFixture::new();
    let config = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    fixture.home.write(".adjutant/config.toml", format!("[questions]\nundo_milliseconds = 0\n{config}"));
    fixture.home.write(".adjutant/prompts/tides.md", "Tides: {{input}}");
    let _hub = fixture.hub();
    let mut peer = relay_in_shell(&fixture, "away");
    let mut task = fixture.task("ok");
    task["background"] = json!(true);
    let begun = call(&mut peer, 1, "delegate_task", task.clone());
    let id = begun["structuredContent"]["task_id"].as_str().unwrap().to_owned();
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": example("Meanwhile")}}));
    let question = User::wait_for_question(&fixture.home, "Meanwhile");
    // The agent's process dies, the user answers, the task ends.
    kill_process(relay_of(&peer), Signal::KILL).unwrap();
    drop(peer);
    let mut watch = User::follow(&fixture.home);
    watch.wait_for_presence("Meanwhile", "away");
    User::connect(&fixture.home).choose(&question, "yes");
    let ended = fixture.adjutant(&["tasks", "wait", &id]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");

    let mut back = relay_in_shell(&fixture, "away");
    // The answer that goes to the wire as prepared bytes carries it too.
    let first = call(&mut back, 1, "expand_prompt", json!({"command": "tides", "input": "now"}));
    let result = &first["structuredContent"];
    assert_eq!(result["prompt"], json!("Tides: now"));
    let finished = &result["finished_tasks"];
    assert_eq!(
        (&finished[0]["task_id"], &finished[0]["status"]),
        (&json!(id), &json!("succeeded")),
        "{first}"
    );
    let texts: Vec<&str> =
        first["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2, "{first}");
    assert_eq!(texts[0], r#"{"prompt":"Tides: now"}"#);
    assert!(texts[1].contains(&id), "{texts:?}");
    // A question belongs to its session, so a new session gets the answer when it repeats the question.
    let repeated = call(&mut back, 4, "triggerPopup", example("Meanwhile"));
    assert!(repeated.to_string().contains("yes"), "{repeated}");

    let second = call(&mut back, 2, "list_prompts", json!({}));
    assert_eq!(second["structuredContent"].get("finished_tasks"), None, "{second}");
    assert_eq!(second["structuredContent"].get("earlier_answers"), None, "{second}");
    assert_eq!(second["content"].as_array().unwrap().len(), 1);
    // The task is reported, and still listed.
    let whole = call(&mut back, 3, "task_get", json!({"task_id": id}));
    assert_eq!(whole["structuredContent"]["status"], json!("succeeded"));

    // Another agent gets its own outcomes only.
    let mut other = relay_in_shell(&fixture, "other");
    let mut task = task;
    task["background"] = json!(true);
    let begun = call(&mut back, 4, "delegate_task", task);
    let id = begun["structuredContent"]["task_id"].as_str().unwrap().to_owned();
    assert!(fixture.adjutant(&["tasks", "wait", &id]).output().unwrap().status.success());
    assert_eq!(
        call(&mut other, 1, "list_agents", json!({}))["structuredContent"].get("finished_tasks"),
        None
    );
    let last = call(&mut back, 5, "list_agents", json!({}));
    assert_eq!(last["structuredContent"]["finished_tasks"][0]["task_id"], json!(id), "{last}");
    fixture.assert_no_survivors();
}

/// The `_meta` of a stateless request of a client that has forms.
fn meta_with_forms() -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    meta
}

#[test]
fn a_missing_prompt_argument_is_requested_in_the_clients_form() {
    let home = Home::new();
    let file = |extra: &str| {
        format!(
            "---\narguments:\n  - name: topic\n    required: true\n    description: About what.\n  - name: tone\n    required: true\n    enum: [kind, blunt]\n---\n{extra}{{{{topic}}}}, {{{{tone}}}}"
        )
    };
    home.write(".adjutant/prompts/tides.md", file(""));
    let _hub = Serving::socket_hub(&home);
    let mut peer = connect(&home);
    let mut get = |more: Value| {
        let mut params = json!({"name": "tides", "arguments": {"tone": "blunt"}, "_meta": meta_with_forms()});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        peer.call(1, "prompts/get", params)
    };
    let asked = get(json!({}))["result"].clone();
    assert_eq!(asked["resultType"], json!("input_required"), "{asked}");
    let form = &asked["inputRequests"]["arguments"];
    assert_eq!(form["method"], json!("elicitation/create"));
    let schema = json!({"type": "object", "required": ["topic"],
        "properties": {"topic": {"type": "string", "description": "About what."}}});
    assert_eq!(form["params"]["requestedSchema"], schema);
    let filled = |value: &str| json!({"arguments": {"action": "accept", "content": {"topic": value, "tone": "kind", "else": "x"}}});
    let state = &asked["requestState"];
    let answer = get(json!({"inputResponses": filled("tides"), "requestState": state}))["result"].clone();
    assert_eq!(answer["messages"][0]["content"]["text"], json!("tides, blunt"), "{answer}");

    // A state that the hub did not seal, or an incomplete answer, is asked again. A client that declines gets the
    // error.
    let mut other = state.as_str().unwrap().to_owned();
    other.replace_range(..1, if other.starts_with('A') { "B" } else { "A" });
    for (state, responses) in
        [(json!(other), filled("tides")), (Value::Null, filled("tides")), (state.clone(), json!({}))]
    {
        let repeated = get(json!({"inputResponses": responses, "requestState": state}));
        assert_eq!(repeated["result"]["resultType"], json!("input_required"), "{repeated}");
    }
    let declined = json!({"arguments": {"action": "decline"}});
    let refused = get(json!({"inputResponses": declined, "requestState": state}));
    assert_eq!(refused["error"]["data"]["path"], json!(["topic"]), "{refused}");
    // A changed file needs another form.
    home.write(".adjutant/prompts/tides.md", file("New: "));
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    loop {
        let late = get(json!({"inputResponses": filled("tides"), "requestState": state}))["result"].clone();
        if late["resultType"] == json!("input_required") {
            break;
        }
        assert!(std::time::Instant::now() < end, "{late}");
    }
    // A client without forms gets the error at every protocol version.
    let params = json!({"name": "tides", "arguments": {}, "_meta": stateless_meta()});
    assert_eq!(peer.call(9, "prompts/get", params)["error"]["data"]["validator"], json!("required"));
}

#[test]
fn a_stateless_list_says_how_long_it_may_be_cached() {
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    let mut peer = connect(&home);
    for method in
        ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"]
    {
        let result = peer.call(1, method, json!({"_meta": stateless_meta()}))["result"].clone();
        assert_eq!(result["resultType"], json!("complete"), "{method}: {result}");
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(10_000), &json!("private")),
            "{method}"
        );
    }
    peer.initialize("2025-11-25");
    let result = peer.call(2, "tools/list", json!({}))["result"].clone();
    assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (None, None));
}

#[test]
fn an_agent_gets_the_trace_context_of_its_task() {
    let fixture = TaskFixture::new();
    let _hub = fixture.hub();
    let mut peer = relay_in_shell(&fixture, "traced");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut run = |id: i64, meta: Value| {
        let params =
            json!({"name": "delegate_task", "arguments": fixture.task("environment"), "_meta": meta});
        peer.call(id, "tools/call", params)["result"]["structuredContent"]["message"].to_string()
    };
    let output =
        run(1, json!({"traceparent": parent, "tracestate": "a=b", "baggage": "who=ann", "progressToken": 1}));
    for variable in [&format!("TRACEPARENT={parent}"), "TRACESTATE=a=b", "BAGGAGE=who=ann"] {
        assert!(output.contains(variable), "{variable}: {output}");
    }
    let output =
        run(2, json!({"traceparent": "nonsense", "tracestate": "a=b", "baggage": "c=d", "progressToken": 2}));
    assert!(output.contains("ADJUTANT_TASK=") && !output.contains("TRACE"), "{output}");
    assert!(!output.contains("BAGGAGE"), "{output}");
    fixture.assert_no_survivors();
}
