//! Sampling in the stateless revision: the result of a call carries the prompts for the client's model, and the client
//! calls again with the answers. The sealed state of the dialogue is part of the call.

use rmcp::model::{InputRequests, InputRequiredResult};
use serde_json::{Map, Value, json};

use super::names::PLAN;
use super::result::CallError;
use super::sampling::{reply_text, sampling};
use crate::client_context::ClientContext;
use crate::error;
use crate::input_required::InputResponse;
use crate::request_state::{StateSealer, canonical};
use adjutant_app::proposals::{DialogueQuestion, DialogueRound, Dialogues};

/// Returns the sealer of one call's state, bound to the caller and the arguments. The key lives as long as the process,
/// so the client starts again after a restart. A state may come twice, because the same answers plan the same.
pub(super) fn seal(client: &ClientContext, arguments: &Map<String, Value>) -> Result<StateSealer, CallError> {
    let sealer = StateSealer::ephemeral(&["tools/call", &client.caller().key, PLAN, &canonical(arguments)]);
    sealer.ok_or_else(|| CallError::Protocol(error::internal()))
}

/// Returns the dialogues that a call continues.
pub(super) fn dialogues(sealer: &StateSealer, response: &InputResponse) -> Result<Dialogues, CallError> {
    let state = sealer.unseal(&response.state);
    state.and_then(|state| serde_json::from_str(&state).ok()).ok_or_else(|| {
        let path = ["requestState".to_owned()];
        let message =
            "`requestState` belongs to no planning that you began with these arguments, or it is too old";
        CallError::Protocol(error::invalid_params(message, &path, "exists", &Value::Null))
    })
}

/// Returns the reply of the client's model to the question `key`; `None` if there is none.
pub(super) fn reply(response: &InputResponse, key: &str) -> Option<String> {
    response.responses.get(key).filter(|reply| reply.is_object()).map(reply_text)
}

/// Returns the result that asks the client's model.
pub(super) fn next_round(
    sealer: &StateSealer,
    round: &DialogueRound,
) -> Result<InputRequiredResult, CallError> {
    let request = |question: &DialogueQuestion| {
        let params = sampling(&question.prompt.instructions(), &question.turns);
        (question.key.clone(), json!({"method": "sampling/createMessage", "params": params}))
    };
    let requests: Map<String, Value> = round.questions.iter().map(request).collect();
    let requests: Option<InputRequests> = serde_json::from_value(Value::Object(requests)).ok();
    let state = serde_json::to_string(&round.dialogues).ok();
    match requests.zip(state) {
        Some((requests, state)) => Ok(InputRequiredResult::new(Some(requests), Some(sealer.seal(&state)))),
        None => Err(CallError::Protocol(error::internal())),
    }
}
