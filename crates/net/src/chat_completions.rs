//! Language models with `OpenAI`'s chat completions API: a conversation in, its next message out.
//!
//! What a model says is text and nothing more. Whoever asked holds it against a schema of theirs.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http_client;
use crate::http_client::{Call, Token};
use adjutant_base::config::assistant::{Endpoint, KeyFault};

/// The largest answer, in bytes. A model that writes more has not understood the question.
const MAX_BYTES: usize = 1024 * 1024;

/// A talk with a model so far.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Who the model is, and what it may answer.
    pub system: &'a str,
    /// What was said by turns: ours first, then the model's, ours last.
    pub turns: &'a [String],
    /// A JSON Schema that the server is asked to hold the model to, and the schema's name.
    pub schema: (&'a str, &'a Value),
    /// For the whole answer.
    pub patience: Duration,
}

/// Why the model said nothing. No text of the server's or the model's is repeated, nor the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Key(#[from] KeyFault),
    #[error("{0}")]
    Outbound(#[from] http_client::Error),
    #[error("the model's server refuses with status {0}{hint}", hint = hint(*.0))]
    Refused(u16),
    #[error("the model's server answers with something else than a chat completion")]
    Foreign,
    #[error("the model declines to answer")]
    Declined,
}

fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": it wants another key",
        404 => ": it knows no such model, or its address is another one",
        429 => ": it was asked too often, or nothing is left to be spent",
        _ => "",
    }
}

/// Says what a model answers next.
///
/// # Errors
/// Fails where no whole answer comes in time, or one without words.
pub async fn answer(endpoint: &Endpoint, talk: Conversation<'_>) -> Result<String, Error> {
    let key = endpoint.key.read()?.map(Token);
    let (name, schema) = talk.schema;
    let format = json!({
        "type": "json_schema",
        "json_schema": {"name": name, "strict": true, "schema": without_lengths(schema)},
    });
    let held = ask(endpoint, key.as_ref(), talk, Some(format)).await;
    match held {
        // A server that knows no schemas says so by one of these; then the words of the question have to do.
        Err(Error::Refused(400 | 422)) => ask(endpoint, key.as_ref(), talk, None).await,
        held => held,
    }
}

async fn ask(
    endpoint: &Endpoint,
    key: Option<&Token>,
    talk: Conversation<'_>,
    format: Option<Value>,
) -> Result<String, Error> {
    let turns = talk.turns.iter().zip(["user", "assistant"].into_iter().cycle());
    let turns = turns.map(|(text, role)| json!({"role": role, "content": text}));
    let system = json!({"role": "system", "content": talk.system});
    let messages: Vec<Value> = [system].into_iter().chain(turns).collect();
    let mut body = json!({"model": endpoint.model, "messages": messages, "stream": false});
    if let Some(format) = format {
        body["response_format"] = format;
    }
    let answer = http_client::send(Call {
        method: "POST",
        url: &format!("{}/chat/completions", endpoint.base_url),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json".to_owned()),
        ],
        login: None,
        token: key,
        body: body.to_string(),
        largest: MAX_BYTES,
        patience: talk.patience,
    })
    .await?;
    if !answer.is_good() {
        return Err(Error::Refused(answer.status));
    }
    said(&answer.body)
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

fn said(body: &[u8]) -> Result<String, Error> {
    let completion: Completion = serde_json::from_slice(body).map_err(|_| Error::Foreign)?;
    let message = completion.choices.into_iter().next().ok_or(Error::Foreign)?.message;
    let text = match message.content {
        Value::String(text) => text,
        // The same in parts.
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null if message.refusal.is_some() => return Err(Error::Declined),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(Error::Foreign),
    };
    // Models that think aloud do it in front of their answer.
    Ok(text.rsplit_once("</think>").map_or(text.as_str(), |(_, answer)| answer).trim().to_owned())
}

/// The schema without what servers that constrain a model's output refuse: how long a text may be.
fn without_lengths(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| *name != "maxLength" || !value.is_number());
            let kept = kept.map(|(name, value)| (name.clone(), without_lengths(value)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.iter().map(without_lengths).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_servers_write_it() {
        let with = |message: Value| said(json!({"choices": [{"message": message}]}).to_string().as_bytes());
        assert_eq!(with(json!({"content": " {} \n"})), Ok("{}".to_owned()));
        assert_eq!(with(json!({"content": "<think>{1}</think>\n{}"})), Ok("{}".to_owned()));
        let parts = json!([{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]);
        assert_eq!(with(json!({"content": parts})), Ok("{}".to_owned()));
        assert_eq!(with(json!({"content": null, "refusal": "no"})), Err(Error::Declined));
        assert_eq!(with(json!({"content": 5})), Err(Error::Foreign));
        for foreign in ["", "<html>", "{}", "{\"choices\":[]}", "[]"] {
            assert_eq!(said(foreign.as_bytes()), Err(Error::Foreign), "{foreign}");
        }
    }

    #[test]
    fn lengths_are_left_to_whoever_checks_the_answer() {
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
