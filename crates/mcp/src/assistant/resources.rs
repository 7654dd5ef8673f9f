//! The three kinds of resources of the assistant contract, in pages where a client asks for pages.

use std::fmt::Write as _;

use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{
    MetaObject, ReadResourceResult, RequestMetaObject, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::tools::assistant as tools;
use crate::toolset::ToolsetSelection;
use adjutant_assistant::json;
use adjutant_assistant::{Error, EventId, UserId};

const SCHEME: &str = "resources://";
const JSON: &str = "application/json";

/// Template, name and description, in the order they are listed.
const KINDS: [(&str, &str, &str); 3] = [
    ("resources://users/{user_id}", "User Profile", "User profile data by user ID"),
    ("resources://events/{event_id}", "Event Details", "Event details by event ID"),
    ("resources://users/{user_id}/events", "User Events", "List of user's events"),
];

/// Users whose resources one list names; the templates name all.
pub const LISTED: u32 = 200;

/// A part of a resource's text, counted in characters.
struct Part {
    text: String,
    /// Of the whole text, so that a reader of parts sees a change.
    hash: String,
    offset: usize,
    /// Characters of the whole text.
    total: usize,
}

/// What a URI names.
enum Named {
    User(UserId),
    Event(EventId),
    Events(UserId),
}

/// Whether a URI is answered here.
pub fn is_ours(client: &ClientContext, uri: &str) -> bool {
    client.selection == ToolsetSelection::Assistant || uri.starts_with(SCHEME)
}

/// Whether a URI is one of a resource here, be it there or not.
pub fn names(uri: &str) -> bool {
    named(uri).is_some()
}

/// Returns a digest of what a resource is about, and `Some(None)` where there is none; `None` when it cannot be read.
/// The days that a list of events is of go on with the clock, and are no part of it.
pub async fn digest(client: &ClientContext, uri: &str) -> Option<Option<String>> {
    let told = match whole(client, uri).await {
        Ok(told) => told,
        Err(Error::Unknown { .. }) => return Some(None),
        Err(refused) => {
            tracing::warn!(error = %refused, "a watched resource cannot be read");
            return None;
        }
    };
    let mut told: Value = serde_json::from_str(&told).ok()?;
    if let Some(members) = told.as_object_mut().filter(|members| members.contains_key("events")) {
        members.retain(|name, _| name != "from" && name != "until");
    }
    Some(Some(hash(&told.to_string())))
}

/// The templates, for `resources/templates/list`.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |(uri, name, description): (&str, &str, &str)| {
        ResourceTemplate::new(uri, name).with_description(description).with_mime_type(JSON)
    };
    KINDS.into_iter().map(template).collect()
}

/// Returns the items of `resources/list`: at 2024-11-05 the templates, as in the contract; later the resources of the
/// users, with the generation of the list of users.
pub async fn listed(
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
    let listed = client.app.user_list.list(LISTED).await;
    let (users, generation) = listed.map_err(|refused| failed(&refused, revision, ""))?;
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
    meta: &RequestMetaObject,
) -> Result<ReadResourceResult, ErrorData> {
    let part = part(client, revision, uri, meta).await?;
    let mut members = MetaObject::default();
    members.0.insert("hash".to_owned(), Value::from(part.hash));
    members.0.insert("offset".to_owned(), Value::from(part.offset));
    members.0.insert("limit".to_owned(), Value::from(part.text.chars().count()));
    members.0.insert("total".to_owned(), Value::from(part.total));
    let text = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(JSON.to_owned()),
        text: part.text,
        meta: Some(members),
    };
    Ok(ReadResourceResult::new(vec![text]))
}

/// The same in the contract's shape.
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
    let whole = whole(client, uri).await.map_err(|refused| failed(&refused, revision, uri))?;
    let text = whole.chars().skip(offset).take(limit).collect();
    Ok(Part { text, hash: hash(&whole), offset, total: whole.chars().count() })
}

/// Returns a whole number of at least `least` from the request's `_meta`, if it is there.
fn number(meta: &RequestMetaObject, name: &str, least: u64) -> Result<Option<usize>, ErrorData> {
    let Some(value) = meta.0.get(name) else { return Ok(None) };
    let path = [name.to_owned()];
    match value.as_u64() {
        Some(number) if number >= least => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        _ if value.is_i64() || value.is_u64() => {
            let message = format!("`{name}` must be at least {least}");
            Err(error::invalid_params(message, &path, "minimum", &Value::from(least)))
        }
        _ => {
            let message = format!("`{name}` must be of type integer");
            Err(error::invalid_params(message, &path, "type", &Value::from("integer")))
        }
    }
}

fn hash(text: &str) -> String {
    let mut hash = "sha256:".to_owned();
    for byte in Sha256::digest(text) {
        // Writing into a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

/// The whole text of a resource: what the tool of the same name tells.
async fn whole(client: &ClientContext, uri: &str) -> Result<String, Error> {
    let assistant = &client.app.assistant;
    let unknown = || Error::Unknown { what: "resource", id: error::clip(uri) };
    match named(uri).ok_or_else(unknown)? {
        Named::User(id) => Ok(pretty(&json::user(&assistant.user(&id).await?))),
        Named::Event(id) => {
            let event = assistant.event(&id).await?;
            let zone = assistant.user(&event.user).await?.preferences.zone;
            Ok(pretty(&json::event(&event, None, &zone)))
        }
        Named::Events(id) => {
            Ok(pretty(&tools::event_occurrences(client, &id, Timestamp::now()).await?.told()))
        }
    }
}

fn pretty(told: &impl Serialize) -> String {
    serde_json::to_string_pretty(told).unwrap_or_default()
}

fn named(uri: &str) -> Option<Named> {
    let steps: Vec<String> = uri.strip_prefix(SCHEME)?.split('/').map(decoded).collect::<Option<_>>()?;
    match steps.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["users", user] => UserId::parse(user).map(Named::User),
        ["users", user, "events"] => UserId::parse(user).map(Named::Events),
        ["events", event] => EventId::parse(event).map(Named::Event),
        _ => None,
    }
}

/// A step of a URI with what RFC 3986 reserves as `%` and two digits.
fn encoded(step: &str) -> String {
    step.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// The reverse; `None` where it is no text.
fn decoded(step: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let (digits, behind) = behind.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = behind;
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

fn failed(refused: &Error, revision: Revision, uri: &str) -> ErrorData {
    match refused {
        Error::Unknown { .. } => error::resource_not_found(revision, uri),
        Error::UnknownZone { .. }
        | Error::Invalid { .. }
        | Error::AlreadyExists { .. }
        | Error::WrongStatus { .. }
        | Error::Damaged { .. }
        | Error::Calendar(_)
        | Error::Randomness
        | Error::Store(_) => {
            tracing::error!(error = %refused, "a resource cannot be read");
            error::internal()
        }
    }
}
