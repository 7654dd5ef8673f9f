//! Envelope of a JSON-RPC 2.0 message: its kind and its id, before its parameters are read.

use std::cell::RefCell;
use std::fmt;

use rmcp::model::RequestId;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{self, Refusal};

/// A well-formed envelope.
#[derive(Debug)]
pub enum Envelope<'a> {
    Request { id: RequestId, method: String, params: Option<&'a RawValue> },
    Notification { method: String, params: Option<&'a RawValue> },
    Result { id: RequestId, result: &'a RawValue },
    Error { id: Option<RequestId>, error: &'a RawValue },
}

/// Reads the envelope of `text`. Of a repeated member the last one counts.
pub fn open(text: &str) -> Result<Envelope<'_>, Refusal> {
    let without_id = |error| Refusal { id: None, error };
    let members: Members<'_> = match serde_json::from_str(text) {
        Ok(members) => members,
        Err(_) if text.starts_with('[') => {
            return Err(without_id(match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => error::invalid_request("batches are served for revision 2025-03-26 alone"),
                Err(reason) => error::not_json(&reason.to_string()),
            }));
        }
        Err(reason) if reason.is_data() => {
            return Err(without_id(error::invalid_request("a message is a JSON object")));
        }
        Err(reason) => return Err(without_id(error::not_json(&reason.to_string()))),
    };
    let id = members.id.map(read_id);
    let readable = id.clone().flatten();
    let refuse = |reason: &str| Refusal { id: readable.clone(), error: error::invalid_request(reason) };
    if members.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
        return Err(refuse(r#"member `jsonrpc` must be "2.0""#));
    }
    match (members.method, members.result, members.error) {
        (Some(method), None, None) => {
            let method: String =
                serde_json::from_str(method.get()).map_err(|_| refuse("member `method` must be a string"))?;
            match id {
                Some(Some(id)) => Ok(Envelope::Request { id, method, params: members.params }),
                Some(None) => Err(refuse("member `id` must be a string or an integer")),
                None => Ok(Envelope::Notification { method, params: members.params }),
            }
        }
        (None, Some(result), None) => match readable {
            Some(id) => Ok(Envelope::Result { id, result }),
            None => Err(without_id(error::invalid_request("a result needs the id of its request"))),
        },
        (None, None, Some(error)) => Ok(Envelope::Error { id: readable, error }),
        // The id names a request of the hub, so an error with this id could be taken for the response to a client's request.
        (_, Some(_), _) | (_, _, Some(_)) => {
            Err(without_id(error::invalid_request("a message has one of `method`, `result` and `error`")))
        }
        (None, None, None) => Err(refuse("member `method` is missing")),
    }
}

/// Finds the id in the start of a message that was too long to keep.
pub fn id_in_head(head: &[u8]) -> Option<RequestId> {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let found = RefCell::new(None);
    // The text is cut off, so this fails, and the id that was read before remains.
    let _ = IdProbe(&found).deserialize(&mut serde_json::Deserializer::from_str(valid));
    found.into_inner()
}

/// Reads an id: a string, or a number with an integral value that fits 64 bits.
fn read_id(raw: &RawValue) -> Option<RequestId> {
    // The type rejects `null` and numbers such as 1.5.
    serde_json::from_str(raw.get()).ok()
}

#[derive(Debug, Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Key>()? {
                    let place = match key {
                        Key::Jsonrpc => &mut members.jsonrpc,
                        Key::Id => &mut members.id,
                        Key::Method => &mut members.method,
                        Key::Params => &mut members.params,
                        Key::Result => &mut members.result,
                        Key::Error => &mut members.error,
                        Key::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *place = Some(map.next_value()?);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

/// Records the id as soon as it is read, so that it survives the error at the end of the text.
struct IdProbe<'a>(&'a RefCell<Option<RequestId>>);

impl<'de> DeserializeSeed<'de> for IdProbe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdProbe<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id => {
                    let id = map.next_value::<Value>()?;
                    *self.0.borrow_mut() = serde_json::from_value(id).ok();
                }
                Key::Jsonrpc | Key::Method | Key::Params | Key::Result | Key::Error | Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
