//! Stateless sampling: a call's answer contains the requests, and the client calls again with its model's replies.

use serde_json::{Value, json};

use super::{assistant, fallback_reasons, home, planned, policy_plan, proposal, run};
use crate::assistant::{calendar, result_json};
use crate::support::{Peer, stateless_meta};

const SAMPLE_CLIENT: &str = "[assistant]\nplanner = ['sampling']\n";

/// The params of a call by a client with these capabilities.
fn params(declared: &Value, arguments: &Value) -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = declared.clone();
    json!({"name": "planNotifications", "arguments": arguments, "_meta": meta})
}

fn call(peer: &mut Peer, params: &Value) -> Value {
    peer.call("plan", "tools/call", params.clone())
}

/// Calls again with a reply for each request, by the title of the event and the turns so far; `None` leaves the reply
/// out.
fn round(
    peer: &mut Peer,
    params: &Value,
    needs: &Value,
    say: impl Fn(&str, usize) -> Option<String>,
) -> Value {
    assert_eq!(needs["result"]["resultType"], "input_required", "{needs}");
    let requests = needs["result"]["inputRequests"].as_object().unwrap();
    let replies = requests.iter().filter_map(|(key, request)| {
        assert_eq!(request["method"], "sampling/createMessage", "{request}");
        let messages = request["params"]["messages"].as_array().unwrap();
        let situation: Value =
            serde_json::from_str(messages[0]["content"]["text"].as_str().unwrap()).unwrap();
        let text = say(situation["event"]["title"].as_str().unwrap(), messages.len())?;
        let content = json!({"type": "text", "text": text});
        Some((key.clone(), json!({"role": "assistant", "content": content, "model": "the client's"})))
    });
    let mut params = params.clone();
    params["inputResponses"] = replies.collect::<serde_json::Map<_, _>>().into();
    params["requestState"] = needs["result"]["requestState"].clone();
    call(peer, &params)
}

fn sampling_capability() -> Value {
    json!({"sampling": {}})
}

#[test]
fn a_stateless_clients_model_is_asked_in_rounds_and_corrected_twice() {
    let home = home(SAMPLE_CLIENT);
    let mut peer = assistant(&home);
    let params = params(&sampling_capability(), &json!({"user_id": "ann"}));
    let first = call(&mut peer, &params);
    let requests = first["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 2, "{first}");
    for request in requests.values() {
        let system = request["params"]["systemPrompt"].as_str().unwrap();
        assert!(system.starts_with("You are a scheduling policy agent") && system.contains("\"maxItems\":3"));
        assert_eq!(request["params"]["messages"][0]["role"], "user");
        assert!(request["params"]["maxTokens"].is_u64());
    }
    assert!(!first.to_string().contains("ann@example.org"), "{first}");
    // Until there is an answer the policy's plan applies: the client may never return.
    let listed: Value = serde_json::from_str(&run(&home, &["notifications", "list", "--json"])).unwrap();
    assert_eq!((planned(&listed, "review"), planned(&listed, "lunch")), (policy_plan(), policy_plan()));

    // One request is answered at once; the other gets prose, is corrected twice, and is left to the policy.
    let good = proposal(&[(75, "email", "")]).to_string();
    let say = |title: &str, turns: usize| match (title, turns) {
        ("review", 1) => Some(good.clone()),
        ("lunch", 1) => Some("With pleasure!".to_owned()),
        ("lunch", 3) => Some("{\"notify\": tru".to_owned()),
        ("lunch", 5) => Some(json!({"notify": true, "send_at": "03:00"}).to_string()),
        other => panic!("{other:?}"),
    };
    let second = round(&mut peer, &params, &first, say);
    let repeated = second["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(repeated.len(), 1, "what has a good answer is not asked again: {second}");
    let messages = repeated.values().next().unwrap()["params"]["messages"].as_array().unwrap();
    assert_eq!(messages[1]["content"]["text"], "With pleasure!");
    assert!(messages[2]["content"]["text"].as_str().unwrap().starts_with("The answer does not follow"));
    let third = round(&mut peer, &params, &second, say);
    let answer = result_json(&round(&mut peer, &params, &third, say));
    assert_eq!(planned(&answer, "review"), [(-75, "email".to_owned())]);
    assert_eq!(planned(&answer, "lunch"), policy_plan());
    let why = fallback_reasons(&answer);
    assert_eq!(why.len(), 1, "{answer}");
    assert!(why[0].starts_with("client: its answer does not follow the schema after 2 repairs: "), "{why:?}");
    assert_eq!((&answer["events_processed"], &answer["notifications_planned"]), (&json!(2), &json!(1)));
    assert_eq!((&answer["superseded"], &answer["kept"]), (&json!(2), &json!(2)));
    // An answered event is asked again only when forced.
    assert_eq!(result_json(&call(&mut peer, &params))["notifications_planned"], 0);
    let mut forced = params.clone();
    forced["arguments"]["force_replan"] = json!(true);
    let first = call(&mut peer, &forced);
    let all = proposal(&[(30, "call", "")]).to_string();
    let answer = result_json(&round(&mut peer, &forced, &first, |_, _| Some(all.clone())));
    let call = vec![(-30, "call".to_owned())];
    assert_eq!((planned(&answer, "review"), planned(&answer, "lunch")), (call.clone(), call));
}

#[test]
fn the_state_of_a_round_is_valid_for_its_own_call_only() {
    let home = home(SAMPLE_CLIENT);
    let mut peer = assistant(&home);
    let params = params(&sampling_capability(), &json!({"user_id": "ann"}));
    let good = proposal(&[(75, "email", "")]).to_string();
    let first = call(&mut peer, &params);
    // A missing reply is requested again; so is a reply for another round.
    let repeated = round(&mut peer, &params, &first, |_, _| None);
    let keys = |needs: &Value| {
        needs["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&repeated), keys(&first), "{repeated}");
    let mut forged = params.clone();
    forged["inputResponses"] = json!({"0123456789abcdef-1": {"content": {"type": "text", "text": good}}});
    for state in ["", "x", "q00000000000000000000"] {
        forged["requestState"] = json!(state);
        let refused = call(&mut peer, &forged);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(refused["error"]["data"]["path"], json!(["requestState"]), "{refused}");
    }
    let other = self::params(&sampling_capability(), &json!({"user_id": "ann", "force_replan": true}));
    let refused = round(&mut peer, &other, &first, |_, _| Some(good.clone()));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");

    // The events move and are cancelled before the replies: the replies are about an earlier state.
    home.write("work.ics", calendar(&[("review", 30 * 60)]));
    run(&home, &["events", "import", "ann", "work.ics"]);
    let answer = result_json(&round(&mut peer, &params, &first, |_, _| Some(good.clone())));
    assert_eq!((planned(&answer, "review"), planned(&answer, "lunch")), (policy_plan(), vec![]), "{answer}");
    let anew = call(&mut peer, &params);
    let answer = round(&mut peer, &params, &anew, |_, _| Some(good.clone()));
    assert_eq!(planned(&result_json(&answer), "review"), [(-75, "email".to_owned())]);
    // The same replies give the same plan.
    let replayed = result_json(&round(&mut peer, &params, &anew, |_, _| Some(good.clone())));
    assert_eq!((planned(&replayed, "review").len(), &replayed["superseded"]), (1, &json!(0)), "{replayed}");
}

#[test]
fn a_client_without_sampling_is_not_asked() {
    let home = home(SAMPLE_CLIENT);
    let mut peer = assistant(&home);
    for declared in [json!({}), json!({"elicitation": {}})] {
        let answer = call(&mut peer, &params(&declared, &json!({"user_id": "ann"})));
        let answer = result_json(&answer);
        assert_eq!(fallback_reasons(&answer), ["client: this client has not declared sampling"; 2]);
        assert_eq!(planned(&answer, "review"), policy_plan());
    }
}
