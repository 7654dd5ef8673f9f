//! From a well-formed envelope to rmcp's typed message, by the method's name and never by trial.
//!
//! rmcp's own types are an untagged union: parameters that do not fit turn a known method into an unknown one.
//! Here a known method with malformed parameters is an error that names the invalid member.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    CustomNotification, CustomRequest, CustomResult, Extensions, GetExtensions, JsonRpcMessage, Notification,
    NotificationMetaObject, NotificationNoParam, Request, RequestMetaObject, RequestNoParam,
    RequestOptionalParam,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{self, Refusal};
use crate::protocol_version;
use crate::transport::envelope::Envelope;

/// Builds the typed message. `Ok(None)` is an unusable notification or error.
pub fn typed(envelope: Envelope<'_>) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    match envelope {
        Envelope::Request { id, method, params } => match request(&method, params) {
            Ok(request) => Ok(Some(JsonRpcMessage::request(request, id))),
            Err(error) => Err(Refusal { id: Some(id), error }),
        },
        Envelope::Notification { method, params } => {
            Ok(notification(&method, params).map(JsonRpcMessage::notification))
        }
        Envelope::Result { id, result } => {
            let value = serde_json::from_str(result.get()).unwrap_or_default();
            Ok(Some(JsonRpcMessage::response(client_result(value), id)))
        }
        Envelope::Error { id, error } => {
            Ok(serde_json::from_str(error.get()).ok().map(|error| JsonRpcMessage::error(error, id)))
        }
    }
}

/// Returns a client's response to a request of the hub: in rmcp's type if there is one, else the value as it is.
fn client_result(value: Value) -> ClientResult {
    // The answer to an approval of Codex may have the members of an elicitation too; rmcp would read it as one.
    if value.get("decision").is_some() {
        return ClientResult::CustomResult(CustomResult(value));
    }
    serde_json::from_value(value.clone()).unwrap_or(ClientResult::CustomResult(CustomResult(value)))
}

/// The parameters of a message, `_meta` taken out.
struct Params {
    map: Map<String, Value>,
    meta: Option<Map<String, Value>>,
    /// Whether there was a `params` member at all.
    given: bool,
}

fn params(raw: Option<&RawValue>) -> Result<Params, ErrorData> {
    let Some(raw) = raw else {
        return Ok(Params { map: Map::new(), meta: None, given: false });
    };
    let invalid = |message: &str, path: &[String], kind: &str| {
        Err(error::invalid_params(message, path, "type", &Value::from(kind)))
    };
    let mut map = match serde_json::from_str(raw.get()) {
        Ok(Value::Object(map)) => map,
        Ok(Value::Null) => return Ok(Params { map: Map::new(), meta: None, given: false }),
        Ok(_) => return invalid("params must be an object", &[], "object"),
        // The envelope's brackets matched, so this is a depth or an escape that is not accepted.
        Err(reason) => return Err(error::invalid_request(format!("params cannot be read: {reason}"))),
    };
    let meta = match map.shift_remove("_meta") {
        None | Some(Value::Null) => None,
        Some(Value::Object(meta)) => Some(meta),
        Some(_) => return invalid("params._meta must be an object", &["_meta".to_owned()], "object"),
    };
    Ok(Params { map, meta, given: true })
}

fn request(method: &str, raw: Option<&RawValue>) -> Result<ClientRequest, ErrorData> {
    let mut params = params(raw)?;
    let mut extensions = Extensions::new();
    if let Some(meta) = params.meta.take() {
        extensions.insert(RequestMetaObject::from(meta));
    }
    if removed(method, &extensions) {
        let mut request = CustomRequest::new(method, Some(Value::Object(params.map)));
        request.extensions = extensions;
        return Ok(ClientRequest::CustomRequest(request));
    }
    check(method, &params.map)?;
    if method == "resources/read" {
        move_part(&mut params.map, &mut extensions);
    }
    macro_rules! with {
        ($variant:ident) => {{
            let mut request = Request::new(read(params.map)?);
            *request.extensions_mut() = extensions;
            ClientRequest::$variant(request)
        }};
    }
    macro_rules! optional {
        ($variant:ident) => {{
            let mut request = RequestOptionalParam::default();
            request.params = params.given.then(|| read(params.map)).transpose()?;
            request.extensions = extensions;
            ClientRequest::$variant(request)
        }};
    }
    Ok(match method {
        "ping" => {
            let mut request = RequestNoParam::default();
            *request.extensions_mut() = extensions;
            ClientRequest::PingRequest(request)
        }
        "initialize" => {
            // The contracts' own example has no capabilities.
            params.map.entry("capabilities").or_insert_with(|| json!({}));
            with!(InitializeRequest)
        }
        "server/discover" => with!(DiscoverRequest),
        "completion/complete" => with!(CompleteRequest),
        "logging/setLevel" => with!(SetLevelRequest),
        "prompts/get" => with!(GetPromptRequest),
        "prompts/list" => optional!(ListPromptsRequest),
        "resources/list" => optional!(ListResourcesRequest),
        "resources/templates/list" => optional!(ListResourceTemplatesRequest),
        "resources/read" => with!(ReadResourceRequest),
        "resources/subscribe" => with!(SubscribeRequest),
        "resources/unsubscribe" => with!(UnsubscribeRequest),
        "resources/directory/read" => with!(ReadResourceDirectoryRequest),
        "subscriptions/listen" => with!(SubscriptionsListenRequest),
        "tools/call" => {
            let mut request = Request::new(call(params.map)?);
            *request.extensions_mut() = extensions;
            ClientRequest::CallToolRequest(request)
        }
        "tools/list" => optional!(ListToolsRequest),
        "tasks/get" => with!(GetTaskRequest),
        "tasks/update" => with!(UpdateTaskRequest),
        "tasks/cancel" => with!(CancelTaskRequest),
        "skills/list" => optional!(ListSkillsRequest),
        "skills/get" => with!(GetSkillRequest),
        _ => {
            let mut request = CustomRequest::new(method, params.given.then(|| Value::Object(params.map)));
            request.extensions = extensions;
            ClientRequest::CustomRequest(request)
        }
    })
}

/// Moves `offset` and `limit` of the assistant's contract into `_meta`, where the specification allows them.
fn move_part(params: &mut Map<String, Value>, extensions: &mut Extensions) {
    for name in ["offset", "limit"] {
        let Some(value) = params.shift_remove(name) else { continue };
        let mut meta = extensions.get::<RequestMetaObject>().cloned().unwrap_or_default();
        meta.0.entry(name).or_insert(value);
        extensions.insert(meta);
    }
}

/// The methods that 2026-07-28 removed. They are unknown then, even with invalid parameters or headers.
pub const REMOVED: [&str; 7] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
];

/// Returns whether the request names a revision that removed its method.
fn removed(method: &str, extensions: &Extensions) -> bool {
    REMOVED.contains(&method) && extensions.get().is_some_and(protocol_version::is_stateless)
}

/// Checks the types of the members that a method needs, so that an error can name the member.
fn check(method: &str, params: &Map<String, Value>) -> Result<(), ErrorData> {
    let required: &[(&str, &str)] = match method {
        "initialize" => &[("protocolVersion", "string"), ("clientInfo", "object")],
        "tools/call" | "prompts/get" => &[("name", "string")],
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" | "skills/get" => {
            &[("uri", "string")]
        }
        "completion/complete" => &[("ref", "object"), ("argument", "object")],
        "logging/setLevel" => &[("level", "string")],
        "subscriptions/listen" => &[("notifications", "object")],
        _ => &[],
    };
    let optional: &[(&str, &str)] = match method {
        "tools/call" | "prompts/get" => &[("arguments", "object")],
        "prompts/list" | "resources/list" | "resources/templates/list" | "skills/list" | "tools/list" => {
            &[("cursor", "string")]
        }
        _ => &[],
    };
    let kind_of = |value: &Value| match value {
        Value::Object(_) => "object",
        Value::String(_) => "string",
        _ => "other",
    };
    let members = required.iter().map(|member| (member, true));
    for ((name, kind), required) in members.chain(optional.iter().map(|member| (member, false))) {
        let (reason, validator, value) = match params.get(*name) {
            None if required => ("is missing".to_owned(), "required", Value::Null),
            None => continue,
            Some(Value::Null) if !required => continue,
            Some(value) if kind_of(value) == *kind => continue,
            Some(_) => (format!("must be of type {kind}"), "type", Value::from(*kind)),
        };
        let message = format!("params.{name} {reason}");
        return Err(error::invalid_params(message, &[(*name).to_owned()], validator, &value));
    }
    Ok(())
}

/// Returns the parameters of `tools/call`. Its large texts are moved and not copied.
fn call(mut params: Map<String, Value>) -> Result<CallToolRequestParams, ErrorData> {
    let (name, arguments) = (params.shift_remove("name"), params.shift_remove("arguments"));
    if !params.is_empty() {
        params.insert("name".to_owned(), Value::from(""));
    }
    let mut call: CallToolRequestParams =
        if params.is_empty() { CallToolRequestParams::new("") } else { read(params)? };
    if let Some(Value::String(name)) = name {
        call.name = name.into();
    }
    if let Some(Value::Object(arguments)) = arguments {
        call.arguments = Some(arguments);
    }
    Ok(call)
}

fn read<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(params)).map_err(|reason| {
        error::invalid_params(format!("params do not fit the method: {reason}"), &[], "schema", &Value::Null)
    })
}

/// Returns a typed notification; `None` if its parameters are invalid, because a notification has no response.
fn notification(method: &str, raw: Option<&RawValue>) -> Option<ClientNotification> {
    let mut params = params(raw).ok()?;
    let mut extensions = Extensions::new();
    if let Some(meta) = params.meta.take() {
        extensions.insert(NotificationMetaObject::from(meta));
    }
    macro_rules! with {
        ($variant:ident) => {{
            let mut notification = Notification::new(read(params.map).ok()?);
            notification.extensions = extensions;
            ClientNotification::$variant(notification)
        }};
    }
    macro_rules! plain {
        ($variant:ident) => {{
            let mut notification = NotificationNoParam::default();
            notification.extensions = extensions;
            ClientNotification::$variant(notification)
        }};
    }
    Some(match method {
        "notifications/cancelled" => with!(CancelledNotification),
        "notifications/progress" => with!(ProgressNotification),
        // The contracts' short form means the same.
        "notifications/initialized" | "initialized" => plain!(InitializedNotification),
        "notifications/roots/list_changed" => plain!(RootsListChangedNotification),
        _ => {
            let mut custom = CustomNotification::new(method, params.given.then(|| Value::Object(params.map)));
            custom.extensions = extensions;
            ClientNotification::CustomNotification(custom)
        }
    })
}
