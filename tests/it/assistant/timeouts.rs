//! Calls over the timeout, with a database that accepts connections and never answers.

use std::net::TcpListener;

use serde_json::json;

use super::tool;
use crate::support::{Home, Peer, stateless_meta};

#[test]
fn a_call_that_exceeds_its_timeout_gets_the_error_of_its_protocol_version() {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[assistant]\ncall_timeout_seconds = 1\n");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = format!("postgres://ann:secret@{}/calendar", silent.local_addr().unwrap());
    let start = || Peer::start(&mut home.adjutant(["mcp", "assistant", "--database", &database]));
    let data = json!({"path": [], "validator": "timeout", "validator_value": 1});

    let mut peer = start();
    for (name, arguments) in [
        ("getUser", json!({"user_id": "ann"})),
        ("listEvents", json!({})),
        ("planNotifications", json!({"user_id": "ann"})),
    ] {
        let answer = tool(&mut peer, name, arguments);
        assert_eq!(answer["error"]["code"], -32004, "{name}: {answer}");
        assert_eq!(answer["error"]["data"], data, "{name}");
        assert!(!answer.to_string().contains("secret"));
    }
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut peer = start();
        peer.initialize(revision);
        let answer = tool(&mut peer, "getUser", json!({"user_id": "ann"}));
        assert_eq!(answer["result"]["isError"], true, "{revision}: {answer}");
        assert_eq!(answer["result"]["structuredContent"], data, "{revision}");
    }
    let params = json!({"name": "getUser", "arguments": {"user_id": "ann"}, "_meta": stateless_meta()});
    let answer = start().call(1, "tools/call", params);
    assert_eq!(answer["result"]["structuredContent"], data, "{answer}");
}
