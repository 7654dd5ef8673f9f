//! Form for the required arguments that a call of `prompts/get` lacks. A client of the stateless revision that shows forms
//! gets it, and calls again with the user's values.

use rmcp::model::{GetPromptRequestParams, InputRequests, InputRequiredResult};
use serde_json::{Map, Value, json};

use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use crate::request_state::StateSealer;
use adjutant_prompts::{Argument, Prompt};

/// The name of the one form.
const FORM: &str = "arguments";

/// Adds the values of a filled form to the request, and returns the form for the arguments that are still missing, if
/// the client shows forms.
pub(crate) async fn missing_arguments(
    call: &CallContext<'_>,
    request: &mut GetPromptRequestParams,
) -> Option<InputRequiredResult> {
    let kinds = call.request.client_capabilities().and_then(|declared| declared.elicitation);
    // `{}` means forms.
    let has_forms = kinds.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
    if call.revision < Revision::V2026_07_28 || !has_forms {
        return None;
    }
    let catalogue = call.client.prompts().await;
    let prompt = catalogue.find(&request.name)?;
    // The state is bound to the caller and to this version of the file, because the values of one form need not fit
    // another form. After a restart the user gets the form again.
    let sealer =
        StateSealer::ephemeral(&["prompts/get", &call.client.caller().key, &prompt.name, &prompt.digest])?;
    let is_valid = request.request_state.take().is_some_and(|state| sealer.unseal(&state).is_some());
    let reply =
        request.input_responses.take().and_then(|mut responses| responses.remove(FORM)).filter(|_| is_valid);
    let action = reply.as_ref().and_then(|reply| reply.get("action")?.as_str());
    if action == Some("accept")
        && let Some(Value::Object(values)) = reply.as_ref().and_then(|reply| reply.get("content"))
    {
        let arguments = request.arguments.get_or_insert_default();
        for (name, value) in values {
            // The caller's own arguments come first.
            if prompt.argument(name).is_some() && !arguments.contains_key(name) {
                arguments.insert(name.clone(), value.clone());
            }
        }
    } else if action.is_some() {
        // A user who declined the form does not get it again: the call is answered without the values.
        return None;
    }
    let form = form(prompt, request.arguments.as_ref())?;
    let requests = json!({FORM: {"method": "elicitation/create", "params": form}});
    let requests: InputRequests = serde_json::from_value(requests).ok()?;
    Some(InputRequiredResult::new(Some(requests), Some(sealer.seal(""))))
}

/// Returns the params of the form for the required arguments without a value; `None` where there are none.
fn form(prompt: &Prompt, arguments: Option<&Map<String, Value>>) -> Option<Value> {
    let is_missing = |argument: &&Argument| {
        argument.required
            && argument.default.is_none()
            && arguments.is_none_or(|arguments| !arguments.contains_key(&argument.name))
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

/// Returns an argument as a property of a form; forms have choices of strings only.
fn property(argument: &Argument) -> Value {
    let choices: Option<Vec<&str>> = argument.choices.iter().map(Value::as_str).collect();
    let mut property = json!({"type": argument.kind.name()});
    if let Some(choices) = choices.filter(|choices| !choices.is_empty()) {
        property = json!({"type": "string", "enum": choices});
    }
    if !argument.description.is_empty() {
        property["description"] = Value::from(argument.description.as_str());
    }
    property
}
