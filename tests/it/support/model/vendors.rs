//! The call and the final text in the formats of Claude Code's and Gemini CLI's providers.

use serde_json::{Value, json};

/// How many tool results a message holds.
pub(super) fn messages_results(message: &Value) -> usize {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "tool_result").count()
}

/// How many tool results a part of a conversation holds.
pub(super) fn gemini_results(content: &Value) -> usize {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts.filter(|part| part.get("functionResponse").is_some()).count()
}

/// An answer of `/v1/messages`, as events and whole.
pub(super) fn messages(call: Option<(String, Value)>, last_word: &str, number: usize) -> (String, Value) {
    let is_call = call.is_some();
    let (block, begin, delta) = match call {
        Some((name, input)) => {
            let id = format!("toolu_{number}");
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            )
        }
        None => (
            json!({"type": "text", "text": last_word}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": last_word}),
        ),
    };
    let reason = if is_call { "tool_use" } else { "end_turn" };
    let message = |content: Value, reason: Value| {
        json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "stub-model",
            "content": content, "stop_reason": reason, "stop_sequence": null,
            "usage": {"input_tokens": 7, "output_tokens": 5},
        })
    };
    let events = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": begin}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 5},
        }),
        json!({"type": "message_stop"}),
    ];
    let events = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()));
    (events.collect(), message(json!([block]), json!(reason)))
}

/// An answer of `:generateContent`, as one event and whole.
pub(super) fn gemini(call: Option<(String, Value)>, last_word: &str) -> (String, Value) {
    let part = match call {
        Some((name, arguments)) => json!({"functionCall": {"name": name, "args": arguments}}),
        None => json!({"text": last_word}),
    };
    let whole = json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12},
        "modelVersion": "stub-model",
    });
    (format!("data: {whole}\n\n"), whole)
}
