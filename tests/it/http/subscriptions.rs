//! `subscriptions/listen` over HTTP: each has an event stream of its own, from its acknowledgement to its end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Hub, Stream};
use crate::support::{DEADLINE, modern_meta};

const AGENT: &str = "persona: You do this.\ndescription: Does this.\n";

fn listen(hub: &Hub, path: &str, id: impl Into<Value>, filter: Value) -> Stream {
    let params = json!({"notifications": filter, "_meta": modern_meta()});
    let message =
        json!({"jsonrpc": "2.0", "id": id.into(), "method": "subscriptions/listen", "params": params});
    hub.modern(path, &message)
}

/// What the acknowledgement, which comes first, grants to the subscription `id`.
fn granted(stream: &mut Stream, id: &Value) -> Value {
    let first = stream.next().expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(&first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{first}");
    first["params"]["notifications"].clone()
}

/// The method of the next notification of the subscription `id`.
fn told(stream: &mut Stream, id: &Value) -> String {
    let next = stream.next().expect("a notification");
    assert_eq!(&next["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{next}");
    next["method"].as_str().unwrap_or_else(|| panic!("no notification: {next}")).to_owned()
}

#[test]
fn each_subscription_is_told_what_it_asked_for_and_no_more() {
    let hub = Hub::open("");
    hub.home.write(".adjutant/agents/first.yaml", AGENT);
    let filters = [
        (
            json!("all"),
            json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}),
        ),
        (json!(7), json!({"toolsListChanged": true})),
        (json!("7"), json!({"promptsListChanged": true, "toolsListChanged": false})),
        (json!(-1), json!({"resourcesListChanged": true})),
    ];
    let mut open: Vec<(Value, Stream)> = Vec::new();
    for (id, filter) in &filters {
        let mut stream = listen(&hub, "/mcp", id.clone(), filter.clone());
        assert_eq!(stream.status, 200);
        assert_eq!(stream.header("content-type"), "text/event-stream");
        assert_eq!(stream.header("x-accel-buffering"), "no", "a proxy must not keep events back");
        assert_eq!(stream.header("mcp-session-id"), "");
        let mut wanted = filter.clone();
        wanted.as_object_mut().unwrap().retain(|_, wanted| wanted == true);
        let mut granted = granted(&mut stream, id);
        granted.as_object_mut().unwrap().retain(|_, granted| granted == true);
        assert_eq!(granted, wanted);
        open.push((id.clone(), stream));
    }

    hub.home.write(".adjutant/agents/second.yaml", AGENT);
    let tools = "notifications/tools/list_changed";
    for at in [0, 1] {
        let (id, stream) = &mut open[at];
        assert_eq!(told(stream, id), tools, "{id}");
    }
    hub.home.write(".adjutant/prompts/more.md", "More.");
    let (prompts, resources) = ("notifications/prompts/list_changed", "notifications/resources/list_changed");
    for (at, expected) in [(0, [prompts, resources].as_slice()), (2, &[prompts]), (3, &[resources])] {
        let (id, stream) = &mut open[at];
        for method in expected {
            assert_eq!(told(stream, id), *method, "{id}");
        }
    }

    // The second one knows nothing of prompts: what it hears next is the end of the server.
    assert!(hub.stop().success());
    for (id, mut stream) in open {
        let end = stream.next().expect("the answer to the request");
        assert_eq!(end["id"], id, "{end}");
        assert_eq!(end["result"]["resultType"], "complete", "{end}");
        let meta = &end["result"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], id, "{end}");
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "adjutant", "{end}");
        assert_eq!(stream.next(), None, "{id}: the answer is the last event");
    }
}

#[test]
fn what_a_server_does_not_tell_is_left_out_of_the_acknowledgement() {
    let hub = Hub::open("");
    let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    for (path, expected) in [
        ("/mcp/prompts", json!({"promptsListChanged": true, "resourcesListChanged": true})),
        ("/mcp/agents", json!({"toolsListChanged": true})),
        ("/mcp/popup", json!({})),
    ] {
        let mut granted = granted(&mut listen(&hub, path, 1, all.clone()), &json!(1));
        granted.as_object_mut().unwrap().retain(|_, granted| granted == true);
        assert_eq!(granted, expected, "{path}");
    }
    let refused = listen(&hub, "/mcp", "x", json!({"toolsListChanged": "yes"})).whole().message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("x"), &json!(-32602)), "{refused}");
}

#[test]
fn a_client_that_goes_ends_its_subscription_alone() {
    let hub = Hub::open("");
    let filter = json!({"promptsListChanged": true});
    let mut stays = listen(&hub, "/mcp", "stays", filter.clone());
    granted(&mut stays, &json!("stays"));
    let before = hub.sockets();
    for round in 0..20 {
        let mut goes = listen(&hub, "/mcp", round, filter.clone());
        granted(&mut goes, &json!(round));
    }
    let start = Instant::now();
    while hub.sockets() > before {
        assert!(start.elapsed() < DEADLINE, "connections of clients that went are still open");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    hub.home.write(".adjutant/prompts/more.md", "More.");
    assert_eq!(told(&mut stays, &json!("stays")), "notifications/prompts/list_changed");
}
