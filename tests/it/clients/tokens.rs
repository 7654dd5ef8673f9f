//! What a model reads, in tokens of `o200k_base` as npm's `gpt-tokenizer` counts them.

use serde_json::json;

use crate::assistant::{calendar, tool};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded, node, packages, run};
use crate::support::serving::Serving;
use crate::support::{Home, Peer, stateless_meta};

/// Most tokens of the answer to `tools/list` with every toolset. A client sends the list to its model with each turn.
const MAX_LIST_TOKENS: usize = 4_000;

/// Most tokens of a `listEvents` result with 22 events that have a title and a place; indented they are over 3,700.
const MAX_EVENTS_TOKENS: usize = 2_700;

fn tokens(home: &Home, text: &str) -> usize {
    let file = home.write("counted.txt", text);
    let mut command = home.client(&node());
    command.arg(format!("{}/tests/clients/count_tokens.mjs", env!("CARGO_MANIFEST_DIR")));
    let finished = run(command.arg(packages()).arg(file), RUN_DEADLINE);
    finished.stdout.trim().parse().unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

#[test]
fn the_tools_of_all_toolsets_have_at_most_4000_tokens() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    let _hub = Serving::socket_hub(&home);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut peer = Peer::start(&mut home.adjutant(["connect", "--no-start"]));
        let params = if revision == "2026-07-28" {
            json!({"_meta": stateless_meta()})
        } else {
            peer.initialize(revision);
            json!({})
        };
        let list = peer.call(1, "tools/list", params)["result"].to_string();
        let tokens = tokens(&home, &list);
        assert!(tokens <= MAX_LIST_TOKENS, "{revision}: {tokens} tokens of {MAX_LIST_TOKENS}: {list}");
    }
}

#[test]
fn listed_events_are_compact_text_outside_the_contract() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    let database = format!("sqlite:{}", home.path().join("assistant.db").display());
    let names: Vec<String> = (1..=22).map(|number| format!("Event {number}")).collect();
    let events: Vec<(&str, i64)> =
        names.iter().map(String::as_str).zip((1..).map(|day| day * 26 * 60)).collect();
    home.write("work.ics", calendar(&events));
    let user =
        ["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--database", &database];
    for arguments in [&user[..], &["events", "import", "ann", "work.ics", "--database", &database]] {
        let finished = home.run(arguments, "");
        assert!(finished.status.success(), "{finished}");
    }
    let text = |revision: &str| {
        let mut peer = Peer::start(&mut home.adjutant(["mcp", "assistant", "--database", &database]));
        peer.initialize(revision);
        let answer = tool(&mut peer, "listEvents", json!({"user_id": "ann"}));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(text("2024-11-05").starts_with("{\n  \"count\": 22,\n"), "the contract's is indented");
    for revision in ["2025-03-26", "2025-11-25"] {
        let text = text(revision);
        assert!(text.starts_with("{\"count\":22,"), "{revision}: {text}");
        assert_eq!(text.matches("\"time_zone\":").count(), 1, "the zone stands once for all events: {text}");
        let tokens = tokens(&home, &text);
        assert!(tokens <= MAX_EVENTS_TOKENS, "{revision}: {tokens} tokens of {MAX_EVENTS_TOKENS}: {text}");
    }
}
