//! The table of hostile lines as bodies of `POST /mcp/prompts`: the same errors as on a stream.

use serde_json::Value;

use super::client::Hub;
use crate::transport::{BATTERY, Expected};

#[test]
fn every_body_gets_the_answer_of_the_same_line_on_stdio() {
    let hub = Hub::open("");
    for (name, body, expected) in BATTERY {
        let mut bytes = format!(
            "POST /mcp/prompts HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
            hub.address,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        let answer = hub.send_bytes(bytes);
        match expected {
            // A stream has empty lines; a body that is empty is not JSON.
            Expected::Silence if body.trim_ascii().is_empty() => {
                assert_eq!(answer.status, 400, "{name}: {answer:?}");
            }
            // An answer belongs to a session that asked; HTTP rejects it outside one.
            Expected::Silence if name.starts_with("an unsolicited ") => {
                assert_eq!(answer.status, 400, "{name}: {answer:?}");
            }
            Expected::Silence => {
                assert_eq!(answer.status, 202, "{name}: {answer:?}");
                assert_eq!(answer.body, "", "{name}");
            }
            Expected::Result(id) => {
                assert_eq!(answer.status, 200, "{name}: {answer:?}");
                let message = answer.message();
                assert_eq!(message["id"], serde_json::from_str::<Value>(id).unwrap(), "{name}");
                assert!(message.get("result").is_some(), "{name}: {message}");
            }
            Expected::Error(id, code) => {
                let message = answer.message();
                assert_eq!(message["id"], serde_json::from_str::<Value>(id).unwrap(), "{name}: {message}");
                assert_eq!(message["error"]["code"], *code, "{name}: {message}");
                if matches!(code, -32700 | -32600) {
                    assert_eq!(answer.status, 400, "{name}: {answer:?}");
                }
            }
        }
    }
}
