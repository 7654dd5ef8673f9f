//! The members that a protocol version adds to an answer or removes, over every transport: one table, and the same JSON
//! bytes on a pipe, through the hub's socket and over HTTP.

use serde_json::{Map, Value, json};

use crate::http::client::{Hub, initialize};
use crate::support::{Home, Peer, stateless_meta};

const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Members of an answer that only 2026-07-28 has.
const NEWEST_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Method, parameters, and whether the answer has a cache time.
type RequestCase = (&'static str, Value, bool);

/// A server, and requests to it.
fn request_cases() -> [(&'static str, Vec<RequestCase>); 2] {
    let argument = json!({"name": "input", "value": ""});
    let completion = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument});
    let greet = json!({"name": "greet", "arguments": {"input": "you"}});
    let expand = json!({"name": "expand_prompt", "arguments": {"command": "greet", "input": "you"}});
    let advice = json!({"name": "emailTemplate", "arguments": {"event_title": "a", "event_time": "b"}});
    let lists = [("tools/list", json!({}), true), ("prompts/list", json!({}), true)];
    let resources = [("resources/list", json!({}), true), ("resources/templates/list", json!({}), true)];
    let lists = || lists.iter().chain(&resources).cloned();
    [
        (
            "prompts",
            lists()
                .chain([
                    ("resources/read", json!({"uri": "skill://prompts/greet/SKILL.md"}), true),
                    ("prompts/get", greet, false),
                    ("completion/complete", completion, false),
                    ("tools/call", expand, false),
                ])
                .collect(),
        ),
        (
            "assistant",
            lists()
                .chain([
                    ("resources/read", json!({"uri": "resources://users/ann"}), true),
                    ("prompts/get", advice, false),
                    ("tools/call", json!({"name": "getUser", "arguments": {"user_id": "ann"}}), false),
                ])
                .collect(),
        ),
    ]
}

fn hub() -> Hub {
    hub_in(Home::new())
}

fn hub_in(home: Home) -> Hub {
    let added = home.run(["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org"], "");
    assert!(added.status.success(), "{}", added.stderr);
    Hub::with_socket(home)
}

/// The same server on a pipe and through the socket.
fn peers(hub: &Hub, server: &str) -> [(&'static str, Peer); 2] {
    [
        ("stdio", Peer::start(&mut hub.home.adjutant(["mcp", server]))),
        ("socket", Peer::start(&mut hub.home.adjutant(["connect", server, "--no-start"]))),
    ]
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "it", "method": method, "params": params})
}

#[test]
fn a_stateless_answer_has_its_type_cache_time_and_server() {
    let hub = hub();
    for (server, requests) in request_cases() {
        let mut peers = peers(&hub, server);
        let name = if server == "prompts" { "codex-subagents" } else { "assistant-mcp-server" };
        let discover = ("server/discover", json!({}), true);
        for (method, mut params, cached) in requests.into_iter().chain([discover]) {
            params["_meta"] = stateless_meta();
            let posted = hub.modern(&format!("/mcp/{server}"), &request(method, &params)).whole();
            assert_eq!(
                (posted.status, posted.header("content-type")),
                (200, "application/json"),
                "{posted:?}"
            );
            let answer = posted.message();
            for (way, peer) in &mut peers {
                assert_eq!(peer.call("it", method, params.clone()), answer, "{server} over {way}: {method}");
            }
            let result = &answer["result"];
            assert_eq!(result["resultType"], "complete", "{method}: {answer}");
            assert_eq!(result["ttlMs"].is_u64(), cached, "{method}: {answer}");
            assert_eq!(result.get("cacheScope"), cached.then_some(&json!("private")), "{method}: {answer}");
            let who = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(who["name"], name, "{method}: {answer}");
            assert!(who["version"].is_string(), "{method}: {answer}");
        }
    }
}

#[test]
fn an_answer_of_a_handshake_version_has_no_newer_members() {
    let hub = hub();
    for (server, requests) in request_cases() {
        for revision in HANDSHAKES {
            let path = format!("/mcp/{server}");
            let opened = hub.post_to(&path, &[], &initialize(revision));
            let session = opened.header("mcp-session-id").to_owned();
            let mut peers = peers(&hub, server);
            for (_, peer) in &mut peers {
                assert_eq!(
                    peer.initialize(revision)["result"],
                    opened.message()["result"],
                    "{server} at {revision}"
                );
            }
            for (method, params, _) in &requests {
                let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", revision)];
                let reply = hub.post_to(&path, &headers, &request(method, params)).message();
                for (way, peer) in &mut peers {
                    let answer = peer.call("it", method, params.clone());
                    assert_eq!(answer, reply, "{server} at {revision} over {way}: {method}");
                }
                // The contract of the assistant has no completion.
                let Some(result) = reply["result"].as_object() else {
                    panic!("{method} at {revision}: {reply}")
                };
                let found = NEWEST_MEMBERS.iter().find(|name| result.contains_key(**name));
                assert_eq!(found, None, "{method} at {revision}: {reply}");
                let named = result.get("_meta").and_then(Value::as_object).into_iter().flat_map(Map::keys);
                let named: Vec<_> = named.filter(|key| key.starts_with("io.modelcontextprotocol/")).collect();
                assert!(named.is_empty(), "{method} at {revision}: {reply}");
            }
        }
    }
}

#[test]
fn a_missing_prompt_argument_is_requested_over_every_transport() {
    // Written before the hub reads its folders: it may serve what it has read for 400 ms.
    let home = Home::new();
    home.write(
        ".adjutant/prompts/deploy.md",
        "---\ndescription: Deploy.\narguments:\n  - name: stage\n    description: Where to\n    required: true\n---\nDeploy to {{stage}}.\n",
    );
    let hub = hub_in(home);
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    let ask = |more: Value| {
        let mut params = json!({"name": "deploy", "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let post = |params: &Value| hub.modern("/mcp/prompts", &request("prompts/get", params)).whole().message();
    let mut peers = peers(&hub, "prompts");
    let [(_, pipe), (_, relay)] = &mut peers;
    let ways: [(&str, &mut dyn FnMut(Value) -> Value); 3] = [
        ("stdio", &mut |params| pipe.call("it", "prompts/get", params)),
        ("socket", &mut |params| relay.call("it", "prompts/get", params)),
        ("http", &mut |params| post(&params)),
    ];
    for (way, get) in ways {
        let round = get(ask(json!({})))["result"].clone();
        assert_eq!(round["resultType"], "input_required", "{way}: {round}");
        assert_eq!(round.get("ttlMs"), None, "{way}: what is not complete is not cached");
        assert!(round["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string(), "{way}: {round}");
        let (key, form) = round["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(form["method"], "elicitation/create", "{way}: {round}");
        let given = json!({"action": "accept", "content": {"stage": "staging"}});
        let mut answers = Map::new();
        answers.insert(key.clone(), given);
        let mut repeated = json!({"inputResponses": answers});
        if let Some(state) = round.get("requestState") {
            repeated["requestState"] = state.clone();
        }
        let got = get(ask(repeated))["result"].clone();
        assert_eq!(got["resultType"], "complete", "{way}: {got}");
        assert_eq!(got["messages"][0]["content"]["text"], "Deploy to staging.", "{way}: {got}");
        let plain = json!({"name": "deploy", "_meta": stateless_meta()});
        assert_eq!(get(plain)["error"]["code"], -32602, "{way}: a client without forms is not asked");
    }
}

#[test]
fn a_stateless_request_ignores_the_session_it_names() {
    let hub = hub();
    let list = request("tools/list", &json!({"_meta": stateless_meta()}));
    let opened = hub.post_to("/mcp/prompts", &[], &initialize("2025-11-25"));
    for session in ["nobody's", opened.header("mcp-session-id")] {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        let answer = hub.post_to("/mcp/prompts", &headers, &list);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("mcp-session-id"), "", "{answer:?}");
        assert_eq!(answer.message()["result"]["resultType"], "complete", "{answer:?}");
    }
}
