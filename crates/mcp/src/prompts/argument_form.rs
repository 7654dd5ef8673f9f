//! Arguments that a prompt needs and its caller did not give: a client of the stateless revision that has forms is
//! asked for them, and calls again with what the person filled in.

use rmcp::model::{GetPromptRequestParams, InputRequests, InputRequiredResult};
use serde_json::{Map, Value, json};

use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use crate::request_state::StateSealer;
use adjutant_prompts::{Argument, ArgumentType, Prompt};

/// The name of the one form.
const FORM: &str = "arguments";

/// Puts what the person filled in into the request, and returns the form for what is still missing, if the client has
/// forms.
pub async fn missing(
    call: &CallContext<'_>,
    request: &mut GetPromptRequestParams,
) -> Option<InputRequiredResult> {
    let declared = call.request.client_capabilities().and_then(|declared| declared.elicitation);
    // `{}` means forms.
    let has_forms = declared.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
    if call.revision < Revision::V2026_07_28 || !has_forms {
        return None;
    }
    let catalogue = call.client.prompts().await;
    let prompt = catalogue.find(&request.name)?;
    // Nobody else's form, and none of another version of the file: what fits one form need not fit another. After a
    // restart the person is asked again.
    let sealer =
        StateSealer::ephemeral(&["prompts/get", &call.client.caller().key, &prompt.name, &prompt.digest])?;
    let own = request.request_state.take().is_some_and(|state| sealer.unseal(&state).is_some());
    let reply =
        request.input_responses.take().and_then(|mut responses| responses.remove(FORM)).filter(|_| own);
    let action = reply.as_ref().and_then(|reply| reply.get("action")?.as_str());
    if action == Some("accept")
        && let Some(Value::Object(given)) = reply.as_ref().and_then(|reply| reply.get("content"))
    {
        let arguments = request.arguments.get_or_insert_default();
        for (name, value) in given {
            // What the caller said itself stands.
            if prompt.declares(name) && !arguments.contains_key(name) {
                arguments.insert(name.clone(), value.clone());
            }
        }
    } else if action.is_some() {
        // A person who does not want to say it is not asked again: the call is answered as it is.
        return None;
    }
    let form = form(prompt, request.arguments.as_ref())?;
    let requests = json!({FORM: {"method": "elicitation/create", "params": form}});
    let requests: InputRequests = serde_json::from_value(requests).ok()?;
    Some(InputRequiredResult::new(Some(requests), Some(sealer.seal(""))))
}

/// Returns the params of the form for the required arguments without a value; `None` where there are none.
fn form(prompt: &Prompt, given: Option<&Map<String, Value>>) -> Option<Value> {
    let is_missing = |argument: &&Argument| {
        argument.required
            && argument.default.is_none()
            && given.is_none_or(|given| !given.contains_key(&argument.name))
    };
    let missing: Vec<&Argument> = prompt.arguments.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return None;
    }
    let names: Vec<&str> = missing.iter().map(|argument| argument.name.as_str()).collect();
    let properties: Map<String, Value> =
        missing.iter().map(|argument| (argument.name.clone(), property(argument))).collect();
    Some(json!({
        "mode": "form",
        "message": format!("The prompt `{}` needs {}.", prompt.name, names.join(", ")),
        "requestedSchema": {"type": "object", "properties": properties, "required": names},
    }))
}

/// One argument as a property of a form, which knows choices of strings alone.
fn property(argument: &Argument) -> Value {
    let words: Option<Vec<&str>> = argument.choices.iter().map(Value::as_str).collect();
    let kind = match argument.kind {
        ArgumentType::String => "string",
        ArgumentType::Integer => "integer",
        ArgumentType::Number => "number",
        ArgumentType::Boolean => "boolean",
    };
    let mut property = json!({"type": kind});
    match words {
        Some(words) if !words.is_empty() => property = json!({"type": "string", "enum": words}),
        Some(_) | None => {}
    }
    if !argument.description.is_empty() {
        property["description"] = Value::from(argument.description.as_str());
    }
    property
}
