//! `triggerPopup`, `ask_form` and `await_answer`: questions to the user as tools of every protocol version.

mod answer_delivery;
pub(crate) mod answer_files;
mod ask_form;
mod await_answer;
mod client_elicitation;
mod elicitation;
mod input_requests;
mod names;
mod result;
mod schemas;
mod tasks;
mod trigger_popup;
mod waiting;

use rmcp::ErrorData;
use rmcp::model::CallToolResponse;
use serde_json::{Map, Value};

use crate::arguments::{ArgumentError, string};
use crate::call_context::CallContext;
use crate::input_required::InputResponse;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_assistant::{Error, UserId};
use adjutant_questions::Draft;
use names::{AWAIT, FORM, TRIGGER};
pub(crate) use result::{argument_error, decided_question, outcome_message};
pub use schemas::tools;
pub(crate) use tasks::{cancel, get, update};
pub(crate) use trigger_popup::draft;
pub(crate) use waiting::{answer_wait_limit, wait_for};

/// Calls a tool of this toolset. `response` is the client's response to an earlier round of the call. Returns `None`
/// if no tool has this name.
pub(crate) async fn call(
    call: &CallContext<'_>,
    name: &str,
    arguments: &Map<String, Value>,
    response: Option<InputResponse>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let draft = match name {
        TRIGGER => trigger_popup::draft(arguments),
        FORM => ask_form::draft(arguments),
        AWAIT => return Some(await_answer::call(call, arguments).await),
        _ => return None,
    };
    let draft = match draft {
        Ok(draft) => addressed(call, arguments, draft).await,
        failed => failed,
    };
    Some(match draft {
        // Boxed, because the future of all ways of delivery is large.
        Ok(draft) => Box::pin(answer_delivery::ask(call, name, arguments, draft, response)).await,
        Err(error) => error.answer(call.revision),
    })
}

/// Adds the user or the group that a script asks. Agents have no such argument, because an agent does not choose who
/// answers it.
async fn addressed(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
    draft: Draft,
) -> Result<Draft, ArgumentError> {
    if call.client.connected.kind != ConnectionKind::Script {
        return Ok(draft);
    }
    let addressee = string(arguments, "for", false)?.unwrap_or_default().to_owned();
    // The questions' own check knows the groups.
    let user = Some(&addressee).filter(|name| !name.is_empty() && !name.starts_with('@'));
    if let Some(user) = user {
        let unknown = || {
            let reason = format!("names no user: `{user}`; `adjutant users list` shows them");
            ArgumentError::new("for", &reason, "enum", Value::Null)
        };
        let id = UserId::parse(user).ok_or_else(unknown)?;
        // The question itself meets a store that does not answer.
        if let Err(Error::Unknown { .. }) = call.client.app.assistant.user(&id).await {
            return Err(unknown());
        }
    }
    Ok(Draft { addressee, ..draft })
}
