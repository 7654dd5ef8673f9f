//! Pages for monitoring: probes, and metrics, with the board and the page that name them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Answer, Hub};
use crate::support::{Home, wait_for};

fn get(hub: &Hub, path: &str, headers: &[(&str, &str)]) -> Answer {
    hub.send_request("GET", path, headers, "")
}

/// The metrics of a hub without authentication.
fn metrics(hub: &Hub) -> String {
    let answer = get(hub, "/metrics", &[]);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    answer.body
}

/// The value of a sample with its labels.
fn sample<'a>(text: &'a str, name: &str) -> &'a str {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no sample {name} in\n{text}"))
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The names of all families.
fn families(text: &str) -> BTreeSet<String> {
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    kinds.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// The names of metrics in a text. A histogram is counted by its own name.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let names = words.filter(|word| word.starts_with("adjutant_") || word.starts_with("process_"));
    let base = |name: &str| {
        let histogram = name.split_once("_seconds_").map(|(name, _)| format!("{name}_seconds"));
        histogram.unwrap_or_else(|| name.to_owned())
    };
    names.map(base).collect()
}

#[test]
fn probes_take_no_token_and_metrics_take_one() {
    let hub = Hub::locked();
    let cookie = hub.log_in();
    for (path, body) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = get(&hub, path, &[]);
        assert_eq!((answer.status, answer.body.as_str()), (200, body), "{answer:?}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(hub.send_request("POST", path, &[], "").status, 405);
    }
    for headers in [&[][..], &[("cookie", cookie.as_str())], &[("authorization", "Bearer 0")]] {
        let refused = get(&hub, "/metrics", headers);
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Bearer"), "{refused:?}");
        assert!(!refused.body.contains("adjutant_"), "{refused:?}");
    }
    let add = hub.home.run(["tokens", "add", "prometheus"], "").stdout;
    for token in [hub.token().as_str(), add.trim()] {
        let answer = get(&hub, "/metrics", &[("authorization", &format!("Bearer {token}"))]);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert!(hub.home.run(["tokens", "revoke", "prometheus"], "").status.success());
    assert_eq!(get(&hub, "/metrics", &[("authorization", &format!("Bearer {}", add.trim()))]).status, 401);
}

#[test]
fn a_hub_whose_store_does_not_answer_is_alive_and_not_ready() {
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = format!("postgres://u@{}/x", silent.local_addr().unwrap());
    let hub = Hub::start(Home::new(), "", &["--auth", "none", "--database", &database]);
    assert_eq!(get(&hub, "/healthz", &[]).status, 200);
    let answer = get(&hub, "/readyz", &[]);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.body, "not ready: the store does not answer\n");
    let text = metrics(&hub);
    assert_eq!(sample(&text, "adjutant_store_up"), "0");
    assert!(!text.contains("adjutant_tasks"), "{text}");
}

#[test]
fn metrics_count_requests_by_outcome_and_hold_nothing_of_a_user() {
    let hub = Hub::open("");
    let counted = |text: &str| {
        let name = |outcome: &str| format!("adjutant_requests_total{{outcome=\"{outcome}\"}}");
        ["result", "error", "dropped"].map(|outcome| sample(text, &name(outcome)).to_owned())
    };
    assert_eq!(counted(&metrics(&hub)), ["0", "0", "0"]);
    let secret = "walrus-under-glass";
    let expand = |name: &str| call("expand_prompt", &json!({"command": name, "input": secret}));
    for (path, message) in [
        ("/mcp", expand("greet")),
        ("/mcp", expand(secret)),
        ("/mcp/prompts", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
        ("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": secret})),
    ] {
        hub.post_to(path, &[], &message);
    }
    let after = metrics(&hub);
    assert_eq!(counted(&after), ["3", "1", "0"], "{after}");
    assert_eq!(sample(&after, "adjutant_tool_errors_total"), "1", "{after}");
    assert!(!after.contains("walrus") && !after.contains("greet") && !after.contains("/tmp"), "{after}");
}

#[test]
fn metrics_show_a_call_that_waits_with_its_question() {
    let hub = Hub::open("");
    let body = call("triggerPopup", &json!({"title": "Deploy?", "message": "Now?", "workspacePath": "/w"}))
        .to_string();
    let (address, length) = (hub.address, body.len());
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    let waits = |text: &str| {
        ["adjutant_questions_pending", "adjutant_calls_in_flight"]
            .iter()
            .all(|name| sample(text, name) == "1")
    };
    let text = wait_for("a call in flight", || Some(metrics(&hub)).filter(|text| waits(text)));
    assert!(!text.contains("Deploy"), "{text}");
    assert_ne!(sample(&text, "adjutant_store_write_seconds_count"), "0", "{text}");
}

#[test]
fn metrics_are_well_formed() {
    let text = metrics(&Hub::open(""));
    let (mut family, mut kind) = (String::new(), String::new());
    let mut help = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap().to_owned();
            help += 1;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            kind = rest.strip_prefix(&format!("{family} ")).unwrap().to_owned();
            assert!(["counter", "gauge", "histogram"].contains(&kind.as_str()), "{line}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let end = name.split('{').next().unwrap().strip_prefix(&family).unwrap();
            let ends: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(ends.contains(&end), "{line}");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        }
    }
    assert_eq!(help, families(&text).len(), "each family is there once");
    for name in ["adjutant_store_write_seconds", "adjutant_task_claim_seconds", "adjutant_task_wait_seconds"]
    {
        let buckets = text.lines().filter(|line| line.starts_with(&format!("{name}_bucket")));
        let counts: Vec<u64> =
            buckets.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert!(counts.is_sorted() && !counts.is_empty(), "{text}");
        let last = counts.last().unwrap().to_string();
        assert_eq!(last, sample(&text, &format!("{name}_count")), "{text}");
    }
    for state in ["queued", "running", "succeeded", "failed", "cancelled", "lost"] {
        assert_eq!(sample(&text, &format!("adjutant_tasks{{state=\"{state}\"}}")), "0");
    }
    for (name, least) in [("process_resident_memory_bytes", 1e6), ("process_start_time_seconds", 1.7e9)] {
        assert!(sample(&text, name).parse::<f64>().unwrap() > least, "{text}");
    }
}

#[test]
fn the_page_and_the_board_name_the_metrics_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/scale.md")).unwrap();
    let families = families(&metrics(&Hub::open("")));
    assert_eq!(named(&page), families);

    let board = std::fs::read_to_string(root.join("packaging/grafana/adjutant.json")).unwrap();
    let board: Value = serde_json::from_str(&board).unwrap();
    let mut ids = BTreeSet::new();
    let mut queried = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(panel["title"].as_str().is_some_and(|title| !title.is_empty()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let names = named(target["expr"].as_str().unwrap());
            assert!(!names.is_empty(), "{target}");
            queried.extend(names);
        }
    }
    let unknown: Vec<_> = queried.difference(&families).cloned().collect();
    assert!(unknown.is_empty(), "the board asks for {unknown:?}");
}
