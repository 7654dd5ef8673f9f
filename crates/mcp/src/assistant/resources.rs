//! The three kinds of resources of the assistant contract, in pages where a client asks for pages.

use std::fmt::Write as _;

use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{
    MetaObject, ReadResourceResult, RequestMetaObject, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments::whole;
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::tools::assistant as tools;
use crate::toolset::ToolsetSelection;
use adjutant_assistant::json;
use adjutant_assistant::{Error, EventId, UserId};
use adjutant_base::text::hex;

const SCHEME: &str = "resources://";
const JSON: &str = "application/json";

/// Template, name and description, in the order of the list.
const KINDS: [(&str, &str, &str); 3] = [
    ("resources://users/{user_id}", "User Profile", "User profile data by user ID"),
    ("resources://events/{event_id}", "Event Details", "Event details by event ID"),
    ("resources://users/{user_id}/events", "User Events", "List of user's events"),
];

/// Maximum users whose resources are listed; the templates cover all users.
pub(crate) const MAX_LISTED_USERS: u32 = 200;

/// A part of a resource's text, counted in characters.
struct Part {
    text: String,
    /// The hash of the whole text, so that a reader of parts notices a change.
    hash: String,
    offset: usize,
    /// The length of the whole text.
    total: usize,
}

/// A parsed URI.
enum ResourceId {
    User(UserId),
    Event(EventId),
    Events(UserId),
}

/// Returns whether a client's request for a URI is answered here.
pub fn serves(client: &ClientContext, uri: &str) -> bool {
    client.selection == ToolsetSelection::Assistant || uri.starts_with(SCHEME)
}

/// Returns whether a URI has the form of a resource here; the resource need not exist.
pub(crate) fn is_resource_uri(uri: &str) -> bool {
    parse_uri(uri).is_some()
}

/// Returns a digest of a resource's content, `Some(None)` if the resource is missing, and `None` if it cannot be read.
/// The window of a list of events moves with the clock and is not part of the digest.
pub async fn digest(client: &ClientContext, uri: &str) -> Option<Option<String>> {
    let text = match text(client, uri).await {
        Ok(text) => text,
        Err(Error::Unknown { .. }) => return Some(None),
        Err(error) => {
            tracing::warn!(%error, "a watched resource cannot be read");
            return None;
        }
    };
    let mut value: Value = serde_json::from_str(&text).ok()?;
    if let Some(members) = value.as_object_mut().filter(|members| members.contains_key("events")) {
        members.retain(|name, _| name != "from" && name != "until");
    }
    Some(Some(hash(&value.to_string())))
}

/// Returns the templates, for `resources/templates/list`.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |(uri, name, description): (&str, &str, &str)| {
        ResourceTemplate::new(uri, name).with_description(description).with_mime_type(JSON)
    };
    KINDS.into_iter().map(template).collect()
}

/// Returns the items of `resources/list`: at 2024-11-05 the templates, as in the contract; later the resources of the
/// users, with the generation of the list of users.
pub async fn list(
    client: &ClientContext,
    revision: Revision,
) -> Result<(Vec<Resource>, Option<u64>), ErrorData> {
    let resource = |uri: String, name: String, description: &str| {
        Resource::new(uri, name).with_description(description).with_mime_type(JSON)
    };
    if revision == Revision::V2024_11_05 {
        let template = |(uri, name, description): (&str, &str, &str)| {
            resource(uri.to_owned(), name.to_owned(), description)
        };
        return Ok((KINDS.into_iter().map(template).collect(), None));
    }
    let users = client.app.user_list.list(MAX_LISTED_USERS).await;
    let (users, generation) = users.map_err(|error| to_protocol_error(&error, revision, ""))?;
    let mut resources = Vec::with_capacity(2 * users.len());
    for user in users {
        let id = encoded(user.id.as_str());
        let name = |kind: &str| format!("{kind}: {}", user.name);
        resources.push(resource(format!("{SCHEME}users/{id}"), name(KINDS[0].1), KINDS[0].2));
        resources.push(resource(format!("{SCHEME}users/{id}/events"), name(KINDS[2].1), KINDS[2].2));
    }
    Ok((resources, Some(generation)))
}

/// Reads a resource, or a part of it.
pub async fn read(
    client: &ClientContext,
    revision: Revision,
    uri: &str,
    request_meta: &RequestMetaObject,
) -> Result<ReadResourceResult, ErrorData> {
    let part = part(client, revision, uri, request_meta).await?;
    let mut meta = MetaObject::default();
    meta.0.insert("hash".to_owned(), Value::from(part.hash));
    meta.0.insert("offset".to_owned(), Value::from(part.offset));
    meta.0.insert("limit".to_owned(), Value::from(part.text.chars().count()));
    meta.0.insert("total".to_owned(), Value::from(part.total));
    let text = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(JSON.to_owned()),
        text: part.text,
        meta: Some(meta),
    };
    Ok(ReadResourceResult::new(vec![text]))
}

/// Reads a resource in the contract's form.
pub(super) async fn contract(
    client: &ClientContext,
    uri: &str,
    meta: &RequestMetaObject,
) -> Result<Value, ErrorData> {
    let part = part(client, Revision::V2024_11_05, uri, meta).await?;
    Ok(json!({"contents": [{"uri": uri, "mimeType": JSON, "text": part.text, "hash": part.hash}]}))
}

async fn part(
    client: &ClientContext,
    revision: Revision,
    uri: &str,
    meta: &RequestMetaObject,
) -> Result<Part, ErrorData> {
    let offset = number(meta, "offset", 0)?.unwrap_or(0);
    let limit = number(meta, "limit", 1)?.unwrap_or(usize::MAX);
    let whole = text(client, uri).await.map_err(|error| to_protocol_error(&error, revision, uri))?;
    let text = whole.chars().skip(offset).take(limit).collect();
    Ok(Part { text, hash: hash(&whole), offset, total: whole.chars().count() })
}

/// Returns a whole number of at least `min` from the request's `_meta`, if it is there.
fn number(meta: &RequestMetaObject, name: &str, min: u64) -> Result<Option<usize>, ErrorData> {
    let Some(value) = meta.0.get(name) else { return Ok(None) };
    let (reason, validator, limit) = match whole(value) {
        Some(number) if number >= i128::from(min) => {
            return Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)));
        }
        Some(_) => (format!("be at least {min}"), "minimum", Value::from(min)),
        None => ("be of type integer".to_owned(), "type", Value::from("integer")),
    };
    Err(error::invalid_params(format!("`{name}` must {reason}"), &[name.to_owned()], validator, &limit))
}

fn hash(text: &str) -> String {
    format!("sha256:{}", hex::sha256(text))
}

/// Returns the whole text of a resource, which is the result of the corresponding tool.
async fn text(client: &ClientContext, uri: &str) -> Result<String, Error> {
    let assistant = &client.app.assistant;
    let unknown = || Error::Unknown { what: "resource", id: error::clip(uri) };
    match parse_uri(uri).ok_or_else(unknown)? {
        ResourceId::User(id) => Ok(pretty(&json::user(&assistant.user(&id).await?))),
        ResourceId::Event(id) => {
            let event = assistant.event(&id).await?;
            let zone = assistant.user(&event.user).await?.preferences.zone;
            Ok(pretty(&json::event(&event, None, &zone)))
        }
        ResourceId::Events(id) => {
            Ok(pretty(&tools::event_occurrences(client, &id, Timestamp::now()).await?.json()))
        }
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn parse_uri(uri: &str) -> Option<ResourceId> {
    let segments: Vec<String> = uri.strip_prefix(SCHEME)?.split('/').map(decoded).collect::<Option<_>>()?;
    match segments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["users", user] => UserId::parse(user).map(ResourceId::User),
        ["users", user, "events"] => UserId::parse(user).map(ResourceId::Events),
        ["events", event] => EventId::parse(event).map(ResourceId::Event),
        _ => None,
    }
}

/// Returns a segment of a URI with the characters that RFC 3986 reserves as `%` and two digits.
fn encoded(segment: &str) -> String {
    segment.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// Decodes a segment of a URI; `None` if it is not text.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let mut byte = *first;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            rest = after;
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

fn to_protocol_error(error: &Error, revision: Revision, uri: &str) -> ErrorData {
    if matches!(error, Error::Unknown { .. }) {
        return error::resource_not_found(revision, uri);
    }
    tracing::error!(%error, "a resource cannot be read");
    error::internal()
}
