//! The client's own model: by a second call of the tool, or by sampling during the call.

use serde_json::{Value, json};

use super::{assistant, fallback_reasons, home, planned, policy_plan, proposal, run};
use crate::assistant::{calendar, result_json, tool};
use crate::support::serving::Serving;
use crate::support::{Home, Peer};

const ASK_CLIENT: &str = "[assistant]\nplanner = ['client']\n";
const SAMPLE_CLIENT: &str = "[assistant]\nplanner = ['sampling']\n";

/// A client of this protocol version, with these capabilities.
fn client(home: &Home, revision: &str, capabilities: Value) -> Peer {
    with_handshake(assistant(home), revision, capabilities)
}

fn with_handshake(mut peer: Peer, revision: &str, capabilities: Value) -> Peer {
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
    peer.call("init", "initialize", params);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    peer
}

fn arguments_of_plan(peer: &mut Peer) -> Value {
    let tools = peer.call("tools", "tools/list", json!({}))["result"]["tools"].clone();
    let plan = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "planNotifications");
    plan.unwrap()["inputSchema"]["properties"].clone()
}

fn answer(peer: &mut Peer, proposals: Value) -> Value {
    result_json(&tool(peer, "planNotifications", json!({"user_id": "ann", "proposals": proposals})))
}

#[test]
fn a_planning_call_returns_prompt_and_schema_and_a_second_call_the_plan() {
    let home = home(ASK_CLIENT);
    let mut peer = client(&home, "2025-11-25", json!({}));
    let declared = arguments_of_plan(&mut peer);
    assert_eq!(declared["proposals"]["items"]["properties"]["proposal"]["properties"]["plan"]["maxItems"], 3);

    let first = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    // Until there is an answer, the policy's plan applies.
    assert_eq!((planned(&first, "review"), planned(&first, "lunch")), (policy_plan(), policy_plan()));
    let ask = &first["ask"];
    assert!(ask["how"].as_str().unwrap().contains("proposals") && ask["schema"]["type"] == "object", "{ask}");
    assert!(ask["instructions"].as_str().unwrap().starts_with("You are a scheduling policy agent"));
    let questions = ask["questions"].as_array().unwrap();
    assert_eq!((questions.len(), &questions[0]["title"]), (2, &json!("review")));
    let data: Value = serde_json::from_str(questions[0]["prompt"].as_str().unwrap()).unwrap();
    assert_eq!(data["event"]["location"], "Room 4");
    let (review, lunch) = (questions[0]["question"].clone(), questions[1]["question"].clone());

    let mut broken = proposal(&[(90, "email", "")]);
    broken["plan"][0]["send_at"] = json!("2026-11-25T03:00:00Z");
    let answered = answer(
        &mut peer,
        json!([
            {"question": review, "proposal": proposal(&[(90, "email", "Bring the numbers.")])},
            {"question": lunch, "proposal": broken},
            {"question": "0123456789abcdef", "proposal": proposal(&[])},
        ]),
    );
    assert_eq!(planned(&answered, "review"), [(-90, "email".to_owned())]);
    assert_eq!(planned(&answered, "lunch"), policy_plan());
    assert_eq!((&answered["events_processed"], &answered["superseded"]), (&json!(1), &json!(2)));
    let refused = answered["refused"].as_array().unwrap();
    assert_eq!(refused[0]["faults"][0]["validator"], "additionalProperties", "{refused:?}");
    assert_eq!(refused[0]["faults"][0]["path"], "/plan/0");
    assert!(refused[1]["why"].as_str().unwrap().starts_with("this question is not open"), "{refused:?}");
    let notification = &answered["notifications"].as_array().unwrap()[0];
    assert_eq!(notification["reasons"][0]["by"], "client");

    // Answered events are not asked again; the others are, and may be answered as text.
    let repeated = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    let left = repeated["ask"]["questions"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["question"]), (1, &lunch));
    assert_eq!(planned(&repeated, "review"), [(-90, "email".to_owned())]);
    let text = format!("Here:\n```json\n{}\n```", proposal(&[(10_000, "email", ""), (30, "call", "")]));
    let answered = answer(&mut peer, json!([{"question": lunch, "proposal": text}]));
    // The first step lies in the past.
    assert_eq!(planned(&answered, "lunch"), [(-30, "call".to_owned())], "{answered}");
    let repeated = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    assert_eq!(repeated.get("ask"), None, "{repeated}");

    // A question is about the event as it was at that time.
    home.write("work.ics", calendar(&[("review", 28 * 60), ("lunch", 50 * 60)]));
    run(&home, &["events", "import", "ann", "work.ics"]);
    let late = answer(&mut peer, json!([{"question": review, "proposal": proposal(&[(5, "call", "")])}]));
    assert_eq!((&late["events_processed"], late["refused"].as_array().unwrap().len()), (&json!(0), 1));
    assert_eq!(planned(&late, "review"), policy_plan());
    let repeated = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    assert_ne!(repeated["ask"]["questions"][0]["question"], review);
}

#[test]
fn proposals_are_validated_and_accepted_only_from_a_client_that_was_asked() {
    let home = home(ASK_CLIENT);
    let mut peer = client(&home, "2025-06-18", json!({}));
    let question = json!({"question": "x", "proposal": proposal(&[])});
    for (proposals, path, validator) in [
        (json!("x"), json!(["proposals"]), "type"),
        (json!([5]), json!(["proposals", "0"]), "type"),
        (json!([{"proposal": {}}]), json!(["proposals", "0", "question"]), "required"),
        (json!([{"question": "x"}]), json!(["proposals", "0", "proposal"]), "required"),
        (json!([question, {"question": "x", "proposal": 5}]), json!(["proposals", "1", "proposal"]), "type"),
        (json!(vec![question.clone(); 101]), json!(["proposals"]), "maxItems"),
    ] {
        let answer = tool(&mut peer, "planNotifications", json!({"user_id": "ann", "proposals": proposals}));
        let data = &answer["error"]["data"];
        assert_eq!((&data["path"], &data["validator"]), (&path, &json!(validator)), "{answer}");
    }
    // The contract has three arguments, and a client that was not asked has nothing to answer.
    let contract = client(&home, "2024-11-05", json!({}));
    home.write(".adjutant/config.toml", "");
    let unasked = client(&home, "2025-06-18", json!({}));
    for (mut peer, steps) in [(contract, 1), (unasked, 0)] {
        let declared = arguments_of_plan(&mut peer);
        assert_eq!(declared.as_object().unwrap().len(), 3, "{declared}");
        let arguments = json!({"user_id": "ann", "proposals": [question]});
        let answer = tool(&mut peer, "planNotifications", arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"]["validator"], "additionalProperties");
        let answer = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
        assert_eq!((planned(&answer, "review"), answer.get("ask")), (policy_plan(), None));
        assert_eq!(fallback_reasons(&answer).len(), 2 * steps, "{answer}");
    }
}

/// Calls the tool and answers each `sampling/createMessage` meanwhile by `say`; returns the tool's answer.
fn call_with_sampling(peer: &mut Peer, mut say: impl FnMut(&Value) -> Value) -> Value {
    let params = json!({"name": "planNotifications", "arguments": {"user_id": "ann"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": "plan", "method": "tools/call", "params": params}));
    loop {
        let message = peer.receive();
        if message["method"] == "sampling/createMessage" {
            let mut reply = say(&message["params"]);
            reply["jsonrpc"] = json!("2.0");
            reply["id"] = message["id"].clone();
            peer.send(&reply);
        } else if message["id"] == "plan" {
            return result_json(&message);
        }
    }
}

fn sampling_result(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"result": {"role": "assistant", "content": content, "model": "the client's", "stopReason": "endTurn"}})
}

#[test]
fn a_client_with_sampling_is_asked_during_its_call() {
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let home = home(SAMPLE_CLIENT);
        let mut peer = client(&home, revision, json!({"sampling": {}}));
        let good = proposal(&[(75, "email", "")]).to_string();
        let mut asked = 0;
        let answer = call_with_sampling(&mut peer, |params| {
            asked += 1;
            assert!(
                params["systemPrompt"].as_str().unwrap().starts_with("You are a scheduling policy agent")
            );
            let messages = params["messages"].as_array().unwrap();
            assert_eq!(messages[0]["role"], "user");
            if messages.len() == 1 {
                return sampling_result("With pleasure!");
            }
            assert_eq!(messages[1]["content"]["text"], "With pleasure!");
            assert_eq!((&messages[1]["role"], &messages[2]["role"]), (&json!("assistant"), &json!("user")));
            sampling_result(&good)
        });
        assert_eq!((planned(&answer, "review"), asked), (vec![(-75, "email".to_owned())], 4), "{revision}");
        assert_eq!(answer["notifications"][0]["reasons"][0]["by"], "client");
    }
}

#[test]
fn a_client_of_the_hub_is_sampled_through_its_relay() {
    let home = home(SAMPLE_CLIENT);
    let _hub = Serving::socket_hub(&home);
    let relay = Peer::start(&mut home.adjutant(["connect", "assistant", "--no-start"]));
    let mut peer = with_handshake(relay, "2025-06-18", json!({"sampling": {}}));
    let good = proposal(&[(75, "email", "")]).to_string();
    let answer = call_with_sampling(&mut peer, |_| sampling_result(&good));
    assert_eq!(
        (planned(&answer, "review"), fallback_reasons(&answer)),
        (vec![(-75, "email".to_owned())], vec![])
    );
}

#[test]
fn the_policy_plans_when_the_client_cannot_sample_or_refuses() {
    let home = home(SAMPLE_CLIENT);
    let mut peer = client(&home, "2025-06-18", json!({"sampling": {}}));
    let refusal = json!({"error": {"code": -1, "message": "User rejected sampling request"}});
    let answer = call_with_sampling(&mut peer, |_| refusal.clone());
    assert_eq!(planned(&answer, "review"), policy_plan());
    assert_eq!(fallback_reasons(&answer), ["client: the client refuses to sample"; 2]);

    let mut peer = client(&home, "2025-06-18", json!({}));
    let answer = result_json(&tool(&mut peer, "planNotifications", json!({"user_id": "ann"})));
    assert_eq!(fallback_reasons(&answer), ["client: this client has not declared sampling"; 2]);
    assert_eq!(planned(&answer, "review"), policy_plan());
}

#[test]
fn the_next_planner_is_asked_when_the_first_one_fails() {
    let home = home(
        "[assistant]\nplanner = ['endpoint', 'sampling']\n[assistant.endpoint]\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\n",
    );
    let mut peer = client(&home, "2025-06-18", json!({"sampling": {}}));
    let good = proposal(&[(75, "email", "")]).to_string();
    let answer = call_with_sampling(&mut peer, |_| sampling_result(&good));
    assert_eq!(
        (planned(&answer, "review"), fallback_reasons(&answer)),
        (vec![(-75, "email".to_owned())], vec![])
    );
}
