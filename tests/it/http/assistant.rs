//! The assistant's contract over HTTP: what a client of 2024-11-05 gets is what it gets over a pipe.

use serde_json::{Value, json};

use super::client::{Hub, initialize};
use crate::assistant::calendar;
use crate::support::model_endpoint::{ModelEndpoint, Reply};
use crate::support::{Home, Peer, wait_for};

const PATHS: [&str; 2] = ["/mcp/assistant", "/mcp"];

/// A home with a user, and nothing else that changes from one second to the next.
fn home() -> Home {
    let home = Home::new();
    let added = home.run(["users", "add", "Ann Bücher", "--id", "ann", "--email", "ann@example.org"], "");
    assert!(added.status.success(), "{}", added.stderr);
    home
}

/// The requests of the contract, and every error of it.
fn request_cases() -> Vec<(&'static str, Value)> {
    let prompt = json!({"event_title": "Review", "event_time": "10:00"});
    let argument = json!({"name": "urgency", "value": ""});
    let completion = json!({"ref": {"type": "ref/prompt", "name": "ttsScript"}, "argument": argument});
    vec![
        ("prompts/get", json!({"name": "ttsScript", "arguments": prompt})),
        ("prompts/get", json!({"name": "notificationPolicy", "arguments": {"event_data": "{}"}})),
        ("prompts/get", json!({"name": "emailTemplate", "arguments": {"event_title": "Review"}})),
        ("prompts/get", json!({"name": "nope"})),
        ("prompts/get", json!({})),
        ("resources/read", json!({"uri": "resources://users/ann"})),
        ("resources/read", json!({"uri": "resources://users/ann", "offset": 20, "limit": 12})),
        ("resources/read", json!({"uri": "resources://users/ann", "_meta": {"offset": 20, "limit": 12}})),
        ("resources/read", json!({"uri": "resources://users/ann", "offset": -1})),
        ("resources/read", json!({"uri": "resources://users/ann", "limit": "x"})),
        ("resources/read", json!({"uri": "resources://users/bob"})),
        ("resources/read", json!({"uri": 5})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "getUser", "arguments": {"user_id": "ann"}})),
        ("tools/call", json!({"name": "getUser", "arguments": {"user_id": "bob"}})),
        ("tools/call", json!({"name": "getUser", "arguments": {"user_id": 5}})),
        ("tools/call", json!({"name": "getUser"})),
        ("tools/call", json!({"name": "nope"})),
        ("tools/call", json!({"name": "listEvents", "arguments": {"days_back": 31}})),
        ("resources/subscribe", json!({"uri": "resources://users/ann"})),
        ("resources/unsubscribe", json!({"uri": "resources://users/ann"})),
        ("logging/setLevel", json!({"level": "info"})),
        ("completion/complete", completion),
        ("adjutant/contract", json!({"message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}})),
        ("nope", json!({})),
    ]
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
}

#[test]
fn a_client_of_the_contract_gets_the_same_answers_over_http_and_stdio() {
    let home = home();
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "assistant"]));
    let shook_hands = peer.initialize("2024-11-05")["result"].clone();
    let expected: Vec<Value> =
        request_cases().iter().map(|(method, params)| peer.call(*method, method, params.clone())).collect();
    assert!(expected[0]["result"]["messages"][0]["content"].is_string(), "{}", expected[0]);
    assert!(expected[5]["result"]["contents"][0]["hash"].is_string(), "{}", expected[5]);
    drop(peer);

    let hub = Hub::start(home, "", &["--auth", "none"]);
    let opened = hub.post_to(PATHS[0], &[], &initialize("2024-11-05"));
    assert_eq!(opened.message()["result"], shook_hands);
    let session = opened.header("mcp-session-id").to_owned();
    for ((method, params), expected) in request_cases().iter().zip(&expected) {
        let message = request(method, params);
        let within = hub.post_to(PATHS[0], &[("mcp-session-id", &session)], &message);
        assert_eq!(&within.message(), expected, "{method} {params} in a session");
        for headers in [&[][..], &[("mcp-protocol-version", "2024-11-05")]] {
            let alone = hub.post_to(PATHS[0], headers, &message);
            assert_eq!(&alone.message(), expected, "{method} {params} without a session, {headers:?}");
        }
    }
}

#[test]
fn the_server_of_all_toolsets_keeps_their_prompts_and_resources_apart() {
    let hub = Hub::start(home(), "", &["--auth", "none"]);
    let ask = |method: &str, params: Value| hub.post_to(PATHS[1], &[], &request(method, &params)).message();
    let arguments = json!({"event_title": "Review", "event_time": "10:00"});
    let ours = ask("prompts/get", json!({"name": "emailTemplate", "arguments": arguments}));
    assert_eq!(ours["result"]["messages"][0]["role"], "system", "{ours}");
    let file = ask("prompts/get", json!({"name": "greet", "arguments": {"input": "Ann"}}));
    assert_eq!(file["result"]["messages"][0]["content"]["text"], "Say hello to Ann.", "{file}");
    let read = ask("resources/read", json!({"uri": "resources://users/ann"}));
    assert!(read["result"]["contents"][0]["hash"].as_str().unwrap().starts_with("sha256:"), "{read}");
    let listed = ask("resources/list", json!({}));
    let skill = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|item| item["uri"].as_str().filter(|uri| uri.starts_with("skill:")));
    let read = ask("resources/read", json!({"uri": skill.expect("a prompt is a skill")}));
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    let unknown = ask("prompts/get", json!({"name": "nope"}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[test]
fn newer_clients_get_the_shapes_of_the_specification_over_http() {
    let hub = Hub::start(home(), "", &["--auth", "none"]);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let opened = hub.post_to(PATHS[0], &[], &initialize(revision));
        let session = opened.header("mcp-session-id").to_owned();
        let ask = |method: &str, params: Value| {
            hub.post_to(PATHS[0], &[("mcp-session-id", &session)], &request(method, &params)).message()
        };
        let arguments = json!({"event_title": "Review", "event_time": "10:00"});
        let prompt = ask("prompts/get", json!({"name": "ttsScript", "arguments": arguments}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["type"], "text", "{revision}: {prompt}");
        let read = ask("resources/read", json!({"uri": "resources://users/ann", "offset": 4, "limit": 2}));
        let content = &read["result"]["contents"][0];
        assert!(content["_meta"]["hash"].is_string() && content.get("hash").is_none(), "{revision}: {read}");
        assert_eq!(content["text"].as_str().unwrap().len(), 2, "{revision}");
    }
}

#[test]
fn a_cancelled_call_gets_the_error_of_the_contract() {
    let endpoint = ModelEndpoint::start(|_| Reply::Silence);
    let home = home();
    home.write("work.ics", calendar(&[("review", 26 * 60)]));
    let imported = home.run(["events", "import", "ann", "work.ics"], "");
    assert!(imported.status.success(), "{}", imported.stderr);
    let config = format!(
        "[assistant]\nplanner = ['endpoint']\n[assistant.endpoint]\nbase_url = '{}'\nmodel = 'm'\n",
        endpoint.base_url()
    );
    let hub = Hub::start(home, &config, &["--auth", "none"]);
    let opened = hub.post_to(PATHS[0], &[], &initialize("2024-11-05"));
    let session = opened.header("mcp-session-id").to_owned();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let params = json!({"name": "planNotifications", "arguments": {"user_id": "ann"}});
    let call = request("tools/call", &params).to_string();
    let mut stream = hub.stream("POST", PATHS[0], &headers, &call);
    // The hub asks for its own plan at the start.
    wait_for("the questions to the model", || (endpoint.requests().len() == 2).then_some(()));
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "tools/call"}});
    assert_eq!(hub.post_to(PATHS[0], &headers[..1], &cancel).status, 202);
    let answer = stream.next().expect("the call is answered");
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("tools/call"), &json!(-32005)), "{answer}");
    let listed = json!({"name": "listNotifications", "arguments": {"user_id": "ann"}});
    // No request of a session has the id of another one (MCP, base protocol), so the cancellation cannot mean this one.
    let mut list = request("tools/call", &listed);
    list["id"] = json!("list");
    let listed = hub.post_to(PATHS[0], &headers[..1], &list).message();
    let text = listed["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let unchanged = text.contains("\"count\": 1") && text.contains("\"by\": \"policy\"");
    assert!(unchanged, "the import's plan stays as it is: {text}");
}
