//! Planners: a model server, a runner, or the client's own model. A plan keeps the rules for any proposal; without a
//! valid proposal the policy plans and names the reason.

mod client;
mod endpoint;
mod runner;
mod stateless_sampling;

use serde_json::{Value, json};

use super::{calendar, result_json, tool};
use crate::support::{Home, Peer};

/// A home with one user without quiet hours, and two events, 26 and 50 hours from now.
fn home(config: &str) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", config);
    let user =
        ["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--phone", "+15550100200"];
    run(&home, &[&user[..], &["--quiet-hours", "none", "--weekend", "both", "--channels", "both"]].concat());
    home.write("work.ics", calendar(&[("review", 26 * 60), ("lunch", 50 * 60)]));
    run(&home, &["events", "import", "ann", "work.ics"]);
    home
}

fn run(home: &Home, arguments: &[&str]) -> String {
    let finished = home.run(arguments, "");
    assert!(finished.status.success(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

fn assistant(home: &Home) -> Peer {
    Peer::start(&mut home.adjutant(["mcp", "assistant"]))
}

fn plan(peer: &mut Peer) -> Value {
    result_json(&tool(peer, "planNotifications", json!({"user_id": "ann"})))
}

/// A proposal with these steps: minutes before the start, channel, text.
fn proposal(steps: &[(i64, &str, &str)]) -> Value {
    let step = |(before, channel, text): &(i64, &str, &str)| {
        json!({
            "before": before, "unit": "minutes", "channel": channel, "urgency": "normal", "subject": "",
            "text": text, "speech": "",
        })
    };
    let plan: Vec<Value> = steps.iter().map(step).collect();
    json!({"notify": true, "reasoning": "because I think so", "plan": plan})
}

/// The plan for the event of this title: minutes before the start, and channel.
fn planned(answer: &Value, title: &str) -> Vec<(i64, String)> {
    let all = answer.get("notifications").unwrap_or(&answer["items"]).as_array().unwrap();
    let of = all.iter().filter(|notification| notification["subject"].as_str().unwrap().contains(title));
    of.map(|notification| {
        (
            notification["offset_minutes"].as_i64().unwrap(),
            notification["channel"].as_str().unwrap().to_owned(),
        )
    })
    .collect()
}

/// The policy's plan for each event of this user.
fn policy_plan() -> Vec<(i64, String)> {
    vec![(-60, "email".to_owned()), (-15, "call".to_owned())]
}

/// The reason for the policy's plan, one for each event.
fn fallback_reasons(answer: &Value) -> Vec<String> {
    let all = answer["fell_back"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|fallback| fallback["why"].as_str().unwrap().to_owned()).collect()
}
