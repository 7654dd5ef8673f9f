//! Traces by OTLP, at a collector on loopback: one trace from the client through hub, worker and runner.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::model_endpoint::{ModelEndpoint, Reply};
use crate::support::nats::Nats;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Home, Peer, TRACEPARENT, traced_meta, wait_for};
use crate::workers::{NO_SLOTS, WorkerProcess, ended, hub, hub_fixture};

/// A collector that takes everything.
fn collector() -> ModelEndpoint {
    ModelEndpoint::start(|_| Reply::Body("{}".to_owned()))
}

/// The lines of `config.toml` that send traces to a collector.
fn traces_to(collector: &ModelEndpoint) -> String {
    format!("[traces]\nendpoint = {:?}", collector.base_url().trim_end_matches("/v1"))
}

/// The spans that a collector has, by name, each with the name of its service.
fn spans(collector: &ModelEndpoint) -> BTreeMap<String, (String, Value)> {
    let mut all = BTreeMap::new();
    for request in collector.requests() {
        assert!(request.head.starts_with("post /v1/traces http/1.1"), "{}", request.head);
        for resource in request.body["resourceSpans"].as_array().unwrap() {
            let service = attribute(&resource["resource"], "service.name");
            for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
                let name = span["name"].as_str().unwrap().to_owned();
                all.insert(name, (service.clone(), span.clone()));
            }
        }
    }
    all
}

/// An attribute of a span or a resource; empty if it has none of this name.
fn attribute(of: &Value, key: &str) -> String {
    let found = of["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key);
    found.map(|one| one["value"]["stringValue"].as_str().unwrap().to_owned()).unwrap_or_default()
}

fn nanos(span: &Value, key: &str) -> u128 {
    span[key].as_str().unwrap().parse().unwrap()
}

/// Calls a tool in the trace of a client.
fn call(peer: &mut Peer, id: i64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": traced_meta()});
    peer.call(id, "tools/call", params)["result"].clone()
}

#[test]
fn a_trace_goes_from_the_client_through_hub_worker_and_runner() {
    let Some(nats) = Nats::start() else { return };
    let collector = collector();
    let fixture =
        hub_fixture(&nats, &NO_SLOTS.replace("[workers]", &format!("{}\n[workers]", traces_to(&collector))));
    let home_of_worker = TaskFixture::new();
    home_of_worker.configure(&traces_to(&collector), &["fake"]);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start_in(home_of_worker, &nats, &[]);
    let mut arguments = fixture.task("environment");
    arguments["agent"] = json!("maker");
    arguments["background"] = json!(true);
    let task = call(&mut peer, 7, "delegate_task", arguments);
    let task = task["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{task:#}")).to_owned();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());

    let names = ["tools/call delegate_task", "invoke_agent maker", "run fake"];
    let found = wait_for("the spans", || {
        let found = spans(&collector);
        names.iter().all(|name| found.contains_key(*name)).then_some(found)
    });
    let [(hub, called), (second, invoked), (third, ran)] = names.map(|name| &found[name]);
    assert_eq!([hub, second, third], ["adjutant-hub", "adjutant-worker", "adjutant-worker"]);
    let (trace, client) = (&TRACEPARENT[3..35], &TRACEPARENT[36..52]);
    for span in [called, invoked, ran] {
        assert_eq!(span["traceId"], trace, "{span:#}");
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span:#}");
        assert_eq!(span["status"], json!({}), "{span:#}");
    }
    assert_eq!((&called["parentSpanId"], &called["kind"]), (&json!(client), &json!(2)));
    assert_eq!(attribute(invoked, "gen_ai.agent.name"), "maker");
    assert_eq!((&invoked["parentSpanId"], &ran["parentSpanId"]), (&called["spanId"], &invoked["spanId"]));
    // The agent continues the trace.
    let parent = format!("TRACEPARENT=00-{trace}-{}-01", ran["spanId"].as_str().unwrap());
    assert!(result["message"].as_str().unwrap().contains(&parent), "{result:#}");
    let sent = collector.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    for private in ["environment", "who=ann", fixture.folder("work").to_str().unwrap()] {
        assert!(!sent.contains(private), "{private}: {sent}");
    }
}

#[test]
fn a_failed_call_is_marked_and_a_collector_that_refuses_disturbs_nothing() {
    let refusing = ModelEndpoint::start(|_| Reply::Refuse(503));
    let fixture = TaskFixture::new();
    fixture.configure(&traces_to(&refusing), &["fake"]);
    let hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let failed = call(&mut peer, 1, "task_wait", json!({"task_id": "t0000000000000000000000"}));
    assert_eq!(failed["isError"], true, "{failed:#}");
    wait_for("a batch", || (!refusing.requests().is_empty()).then_some(()));
    let span = &spans(&refusing)["tools/call task_wait"].1;
    assert_eq!(
        (&span["status"]["code"], attribute(span, "error.type")),
        (&json!(2), "tool_error".to_owned())
    );
    // The last spans are sent when the hub stops.
    refusing.set_script(|_| Reply::Body("{}".to_owned()));
    let listed = call(&mut peer, 2, "list_agents", json!({}));
    assert_ne!(listed["isError"], true, "{listed:#}");
    peer.finish();
    hub.stop();
    assert!(spans(&refusing).contains_key("tools/call list_agents"));
}

#[test]
fn an_endpoint_without_a_scheme_is_rejected() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[traces]\nendpoint = \"localhost:4318\"\n");
    let refused = home.run(["serve"], "");
    assert!(!refused.status.success(), "{refused}");
    assert!(
        refused.stderr.contains("`endpoint` is `localhost:4318`; it must begin with http:// or https://"),
        "{refused}"
    );
}
