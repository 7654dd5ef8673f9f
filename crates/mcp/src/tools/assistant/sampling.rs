//! Requests to the client's model (`sampling/createMessage`) and its replies.

use serde_json::{Value, json};

/// Maximum tokens of a reply; three reminders take a few hundred.
const MAX_TOKENS: u32 = 2_000;

/// Returns the params of a request to the client's model. `turns` are the messages so far, the hub's first.
pub(super) fn sampling(system: &str, turns: &[String]) -> Value {
    let message =
        |(text, role): (&String, &str)| json!({"role": role, "content": {"type": "text", "text": text}});
    let turns = turns.iter().zip(["user", "assistant"].into_iter().cycle());
    json!({
        "messages": turns.map(message).collect::<Vec<_>>(),
        "systemPrompt": system,
        "maxTokens": MAX_TOKENS,
    })
}

/// Returns the text of a reply, which newer clients may send in parts.
pub(super) fn reply_text(answer: &Value) -> String {
    let parts = match &answer["content"] {
        Value::Array(parts) => parts.iter().collect(),
        one => vec![one],
    };
    parts.into_iter().filter_map(|part| part["text"].as_str()).collect()
}
