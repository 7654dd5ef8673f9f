//! The envelope of a message: the members that a relay needs.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use adjutant_mcp::deliveries::DELIVERY;

/// A request's id in one form for each value, so that ids can be compared.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Id(String);

impl Id {
    /// Reads an id; `None` if the protocol does not accept it as one.
    fn read(raw: &str) -> Option<Self> {
        if raw.starts_with('"') {
            let text: String = serde_json::from_str(raw).ok()?;
            return serde_json::to_string(&text).ok().map(Self);
        }
        // `1.0` is the number 1 to the hub, and comes back as that.
        let number: i128 = raw.strip_suffix(".0").unwrap_or(raw).parse().ok()?;
        // The hub refuses a number that needs more than 64 bits, without its id.
        (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number).then(|| Self(number.to_string()))
    }

    /// Returns it as JSON.
    pub(super) fn json(&self) -> &str {
        &self.0
    }
}

/// A message, by the kinds that a relay treats differently.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Id,
        what: Request,
    },
    /// An answer, and whether it is a result.
    Answer {
        id: Id,
        result: bool,
    },
    /// The client has taken notice of the answer to `initialize`.
    Initialized,
    /// The client gives up its request.
    Cancelled {
        id: Id,
    },
    /// The hub's mark after the response with the outcome of the question `ticket`.
    Delivery {
        ticket: String,
    },
    /// Another notification, or something that only the hub can judge.
    Other,
}

/// The requests that a relay tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Initialize,
    /// A request that changes nothing, and may be sent to another hub again.
    Read,
    /// The client asks for notices of a resource, or gives them up.
    Subscribe,
    Unsubscribe,
    Other,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct Delivery {
    ticket: String,
}

/// Reads a line: one message, several of a batch, or none when it is not a message.
pub(super) fn messages(line: &[u8]) -> Vec<Message> {
    if line.trim_ascii_start().starts_with(b"[") {
        let batch: Vec<Envelope<'_>> = serde_json::from_slice(line).unwrap_or_default();
        return batch.iter().map(message).collect();
    }
    serde_json::from_slice(line).iter().map(message).collect()
}

fn message(envelope: &Envelope<'_>) -> Message {
    // The hub refuses a request that is an answer too, without its id.
    let is_both = envelope.method.is_some() && (envelope.result.is_some() || envelope.error.is_some());
    let id = envelope.id.filter(|_| !is_both).and_then(|raw| Id::read(raw.get()));
    match (envelope.method.as_deref(), id) {
        (Some("initialize"), Some(id)) => Message::Request { id, what: Request::Initialize },
        (
            Some(
                "ping"
                | "server/discover"
                | "tools/list"
                | "prompts/list"
                | "prompts/get"
                | "resources/list"
                | "resources/templates/list"
                | "resources/read"
                | "completion/complete"
                | "subscriptions/listen",
            ),
            Some(id),
        ) => Message::Request { id, what: Request::Read },
        (Some("resources/subscribe"), Some(id)) => Message::Request { id, what: Request::Subscribe },
        (Some("resources/unsubscribe"), Some(id)) => Message::Request { id, what: Request::Unsubscribe },
        (Some(_), Some(id)) => Message::Request { id, what: Request::Other },
        (None, Some(id)) if envelope.result.is_some() != envelope.error.is_some() => {
            Message::Answer { id, result: envelope.error.is_none() }
        }
        (Some("initialized" | "notifications/initialized"), None) => Message::Initialized,
        (Some("notifications/cancelled"), None) => envelope
            .params
            .and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok())
            .and_then(|cancelled| Id::read(cancelled.id.get()))
            .map_or(Message::Other, |id| Message::Cancelled { id }),
        (Some(DELIVERY), None) => envelope
            .params
            .and_then(|params| serde_json::from_str::<Delivery>(params.get()).ok())
            .map_or(Message::Other, |Delivery { ticket }| Message::Delivery { ticket }),
        (Some(_) | None, _) => Message::Other,
    }
}

/// Returns the notifications of changed lists that an answer to `initialize` announces.
pub(super) fn announced_changes(line: &[u8]) -> Vec<&'static str> {
    let answer: Value = serde_json::from_slice(line).unwrap_or_default();
    let lists = [
        ("tools", "notifications/tools/list_changed"),
        ("prompts", "notifications/prompts/list_changed"),
        ("resources", "notifications/resources/list_changed"),
    ];
    let announces = |list: &str| answer["result"]["capabilities"][list]["listChanged"] == true;
    lists.into_iter().filter_map(|(list, notification)| announces(list).then_some(notification)).collect()
}

/// Returns the resource that a request names.
pub(super) fn resource(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Request {
        params: Resource,
    }
    #[derive(Deserialize)]
    struct Resource {
        uri: String,
    }
    serde_json::from_slice::<Request>(line).ok().map(|request| request.params.uri)
}

/// Returns the revision that an answer to `initialize` names.
pub(super) fn revision(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        result: Initialized,
    }
    #[derive(Deserialize)]
    struct Initialized {
        #[serde(rename = "protocolVersion")]
        revision: String,
    }
    serde_json::from_slice::<Answer>(line).ok().map(|answer| answer.result.revision)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Id, Message, Request, messages};

    fn one(line: &str) -> Message {
        messages(line.as_bytes()).remove(0)
    }

    proptest! {
        #[test]
        fn an_id_is_the_same_in_the_request_and_in_the_answer(text in any::<String>(), number in any::<i64>()) {
            // The client may write every character as an escape; the hub answers in its own way.
            let escaped = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
            let written = [format!("\"{escaped}\""), number.to_string()];
            for (id, echoed) in written.iter().zip([Value::from(text.as_str()), json!(number)]) {
                let asked = one(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#));
                let answered = one(&json!({"jsonrpc": "2.0", "id": echoed, "result": {}}).to_string());
                let Message::Request { id: asked, what: Request::Other } = asked else { panic!("{asked:?}") };
                prop_assert_eq!(answered, Message::Answer { id: asked.clone(), result: true });
                prop_assert_eq!(serde_json::from_str::<Value>(asked.json()).unwrap(), echoed);
            }
        }

        #[test]
        fn no_line_is_too_strange(line in any::<Vec<u8>>()) {
            messages(&line);
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let id = || Id("1".to_owned());
        let cases = [
            (r#"{"id":1,"method":"initialize"}"#, Message::Request { id: id(), what: Request::Initialize }),
            (r#"{"id":1.0,"method":"x"}"#, Message::Request { id: id(), what: Request::Other }),
            (r#"{"id":1,"method":"tools/list"}"#, Message::Request { id: id(), what: Request::Read }),
            (r#"{"id":null,"method":"x"}"#, Message::Other),
            (r#"{"id":1,"error":{"code":1}}"#, Message::Answer { id: id(), result: false }),
            (r#"{"method":"initialized"}"#, Message::Initialized),
            (
                r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
                Message::Cancelled { id: id() },
            ),
            (r#"{"method":"notifications/cancelled"}"#, Message::Other),
        ];
        for (line, expected) in cases {
            assert_eq!(one(line), expected, "{line}");
        }
        assert_eq!(messages(br#" [{"id":1,"method":"x"},{"id":1,"result":0}]"#).len(), 2);
        assert!(messages(b"nonsense").is_empty());
    }
}
