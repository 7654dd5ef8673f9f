//! The trace that a call belongs to (W3C Trace Context, which MCP carries in `_meta`), passed on: to the agents that
//! work for it as environment variables, and to other people's servers as a header.

use std::collections::BTreeMap;

use rmcp::model::RequestMetaObject;

/// Bytes of a `tracestate`, as the recommendation asks every implementation to carry.
const LONGEST: usize = 512;

/// Returns the `traceparent` of a call, if it is one.
pub(crate) fn parent(meta: &RequestMetaObject) -> Option<&str> {
    let text = meta.0.get("traceparent")?.as_str()?;
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags] = parts[..] else { return None };
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let known = |part: &str| part.bytes().any(|byte| byte != b'0');
    let whole = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    (whole && known(trace) && known(span)).then_some(text)
}

/// Returns what an agent gets of it.
pub(crate) fn environment(meta: &RequestMetaObject) -> BTreeMap<String, String> {
    let Some(parent) = parent(meta) else { return BTreeMap::new() };
    let mut variables = BTreeMap::from([("TRACEPARENT".to_owned(), parent.to_owned())]);
    let state = meta.0.get("tracestate").and_then(|state| state.as_str());
    let fits =
        |state: &&str| state.len() <= LONGEST && state.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if let Some(state) = state.filter(fits) {
        variables.insert("TRACESTATE".to_owned(), state.to_owned());
    }
    variables
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestMetaObject;
    use serde_json::{Value, json};

    use super::{environment, parent};

    fn meta(value: Value) -> RequestMetaObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn only_a_whole_trace_is_passed_on() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(parent(&meta(json!({"traceparent": good}))), Some(good));
        for bad in [
            json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"),
            json!("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            json!("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
            json!("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
            json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx: y"),
            json!(7),
        ] {
            assert_eq!(
                environment(&meta(json!({"traceparent": bad, "tracestate": "a=b"}))).len(),
                0,
                "{bad}"
            );
        }
        let both = environment(&meta(json!({"traceparent": good, "tracestate": "a=b"})));
        assert_eq!(both.get("TRACESTATE").map(String::as_str), Some("a=b"));
        assert_eq!(environment(&meta(json!({"traceparent": good, "tracestate": "a\nb"}))).len(), 1);
    }
}
