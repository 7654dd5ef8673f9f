//! Requests to the client's model (`sampling/createMessage`) and its replies.

use serde_json::{Value, json};

/// Tokens that a client's model may answer with; three reminders in words take a few hundred.
const MOST_TOKENS: u32 = 2_000;

/// The params of a request to the client's model. `turns` is what was said so far, ours first.
pub(super) fn sampling(system: &str, turns: &[String]) -> Value {
    let message =
        |(text, role): (&String, &str)| json!({"role": role, "content": {"type": "text", "text": text}});
    let turns = turns.iter().zip(["user", "assistant"].into_iter().cycle());
    json!({
        "messages": turns.map(message).collect::<Vec<_>>(),
        "systemPrompt": system,
        "maxTokens": MOST_TOKENS,
    })
}

/// The words of an answer, which newer clients may give in parts.
pub(super) fn said(answer: &Value) -> String {
    let parts = match &answer["content"] {
        Value::Array(parts) => parts.iter().collect(),
        one => vec![one],
    };
    parts.into_iter().filter_map(|part| part["text"].as_str()).collect()
}
