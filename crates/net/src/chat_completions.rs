//! Language models with `OpenAI`'s chat completions API: a conversation in, its next message out.
//!
//! The message is untrusted text. The caller validates it against a schema.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http_client::{self, HttpRequest, Token};
use adjutant_base::config::assistant::{Endpoint, KeyError};

/// Maximum bytes of a response.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// A conversation with a model so far.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The role of the model and the form of its answers.
    pub system: &'a str,
    /// Messages in turns: the first and the last from the user, the others alternating with the model.
    pub turns: &'a [String],
    /// The name of a JSON Schema for the answer, and the schema, which the server is asked to enforce.
    pub schema: (&'a str, &'a Value),
    /// Timeout of the whole answer.
    pub timeout: Duration,
}

/// A failed completion. The error never repeats text of the server or the model, nor the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Key(#[from] KeyError),
    #[error("{0}")]
    Outbound(#[from] http_client::Error),
    #[error("the model's server answered with the error status {0}{hint}", hint = hint(*.0))]
    Status(u16),
    #[error("the model's server did not answer with a chat completion")]
    NotACompletion,
    #[error("the model declines to answer")]
    Declined,
}

fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": it does not accept the key",
        404 => ": the model or the address is unknown",
        300..=399 => {
            ": it redirects, which is not followed; set base_url to the address that it redirects to"
        }
        429 => ": there were too many requests, or the budget is spent",
        _ => "",
    }
}

/// Returns the next message of the model.
///
/// # Errors
/// Fails without a whole answer in time, and for an answer without text.
pub async fn complete(endpoint: &Endpoint, conversation: Conversation<'_>) -> Result<String, Error> {
    let key = endpoint.key.read()?.map(Token);
    let (name, schema) = conversation.schema;
    let format = json!({
        "type": "json_schema",
        "json_schema": {"name": name, "strict": true, "schema": without_lengths(schema)},
    });
    match ask(endpoint, key.as_ref(), conversation, Some(format)).await {
        // A server without support for schemas answers with these statuses. Then the prompt alone describes the format.
        Err(Error::Status(400 | 422)) => ask(endpoint, key.as_ref(), conversation, None).await,
        answered => answered,
    }
}

async fn ask(
    endpoint: &Endpoint,
    key: Option<&Token>,
    conversation: Conversation<'_>,
    format: Option<Value>,
) -> Result<String, Error> {
    let turns = conversation.turns.iter().zip(["user", "assistant"].into_iter().cycle());
    let turns = turns.map(|(text, role)| json!({"role": role, "content": text}));
    let system = json!({"role": "system", "content": conversation.system});
    let messages: Vec<Value> = [system].into_iter().chain(turns).collect();
    let mut body = json!({"model": endpoint.model, "messages": messages, "stream": false});
    if let Some(format) = format {
        body["response_format"] = format;
    }
    let response = http_client::send(HttpRequest {
        method: "POST",
        url: &format!("{}/chat/completions", endpoint.base_url),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json".to_owned()),
        ],
        login: None,
        token: key,
        body: body.to_string(),
        max_bytes: MAX_RESPONSE_BYTES,
        timeout: conversation.timeout,
    })
    .await?;
    if !response.is_success() {
        return Err(Error::Status(response.status));
    }
    message_of(&response.body)
}

/// The parts of a completion that are read; servers add others.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    refusal: Option<String>,
}

fn message_of(body: &[u8]) -> Result<String, Error> {
    let completion: Completion = serde_json::from_slice(body).map_err(|_| Error::NotACompletion)?;
    let message = completion.choices.into_iter().next().ok_or(Error::NotACompletion)?.message;
    let text = match message.content {
        Value::String(text) => text,
        // The text comes in parts.
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null if message.refusal.is_some() => return Err(Error::Declined),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(Error::NotACompletion);
        }
    };
    // Reasoning models write their thoughts before the answer.
    Ok(text.rsplit_once("</think>").map_or(text.as_str(), |(_, answer)| answer).trim().to_owned())
}

/// Returns the schema without `maxLength`, which servers that constrain a model's output reject.
fn without_lengths(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, value)| *name != "maxLength" || !value.is_number());
            let members = members.map(|(name, value)| (name.clone(), without_lengths(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.iter().map(without_lengths).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed_in_each_form() {
        let with =
            |message: Value| message_of(json!({"choices": [{"message": message}]}).to_string().as_bytes());
        assert_eq!(with(json!({"content": " {} \n"})), Ok("{}".to_owned()));
        assert_eq!(with(json!({"content": "<think>{1}</think>\n{}"})), Ok("{}".to_owned()));
        let parts = json!([{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]);
        assert_eq!(with(json!({"content": parts})), Ok("{}".to_owned()));
        assert_eq!(with(json!({"content": null, "refusal": "no"})), Err(Error::Declined));
        assert_eq!(with(json!({"content": 5})), Err(Error::NotACompletion));
        for foreign in ["", "<html>", "{}", "{\"choices\":[]}", "[]"] {
            assert_eq!(message_of(foreign.as_bytes()), Err(Error::NotACompletion), "{foreign}");
        }
    }

    #[test]
    fn the_schema_is_sent_without_lengths() {
        let schema = json!({"properties": {
            "maxLength": {"type": "string", "maxLength": 5},
            "plan": {"items": [{"maxLength": 7, "maxItems": 3}]},
        }});
        let sent = json!({"properties": {
            "maxLength": {"type": "string"},
            "plan": {"items": [{"maxItems": 3}]},
        }});
        assert_eq!(without_lengths(&schema), sent);
    }
}
