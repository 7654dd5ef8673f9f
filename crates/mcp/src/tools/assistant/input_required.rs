//! Sampling in the stateless revision: the result of a call carries the prompts for the client's model, and the client
//! calls again with the answers. The state of the dialogue is part of the call, sealed.

use rmcp::model::{InputRequests, InputRequiredResult};
use serde_json::{Map, Value, json};

use super::names::PLAN;
use super::result::Refused;
use super::sampling::{said, sampling};
use crate::client_context::ClientContext;
use crate::error;
use crate::input_required::InputResponse;
use crate::request_state::{StateSealer, canonical};
use adjutant_app::proposals::{DialogueQuestion, DialogueRound, Dialogues};

/// What seals the state of one call: who plans what. The key lives as long as the process: after a restart the client
/// begins anew. A state may come twice, for the same answers plan the same.
pub(super) fn seal(client: &ClientContext, arguments: &Map<String, Value>) -> Result<StateSealer, Refused> {
    let sealer = StateSealer::ephemeral(&["tools/call", &client.caller().key, PLAN, &canonical(arguments)]);
    sealer.ok_or_else(|| Refused::Protocol(error::internal()))
}

/// Returns the dialogues that a call goes on with.
pub(super) fn dialogues(sealer: &StateSealer, response: &InputResponse) -> Result<Dialogues, Refused> {
    let state = sealer.unseal(&response.state);
    state.and_then(|state| serde_json::from_str(&state).ok()).ok_or_else(|| {
        let path = ["requestState".to_owned()];
        let what =
            "`requestState` belongs to no planning that you began with these arguments, or it is too old";
        Refused::Protocol(error::invalid_params(what, &path, "exists", &Value::Null))
    })
}

/// Reads what the client's model said to what was asked under `key`; `None` where there is no reply.
pub(super) fn reply(response: &InputResponse, key: &str) -> Option<String> {
    response.responses.get(key).filter(|reply| reply.is_object()).map(said)
}

/// Says what the client's model is to be asked.
pub(super) fn needed(sealer: &StateSealer, rounds: &DialogueRound) -> Result<InputRequiredResult, Refused> {
    let request = |asked: &DialogueQuestion| {
        let params = sampling(&asked.prompt.instructions(), &asked.turns);
        (asked.key.clone(), json!({"method": "sampling/createMessage", "params": params}))
    };
    let requests: Map<String, Value> = rounds.questions.iter().map(request).collect();
    let requests: Option<InputRequests> = serde_json::from_value(Value::Object(requests)).ok();
    let state = serde_json::to_string(&rounds.dialogues).ok();
    match requests.zip(state) {
        Some((requests, state)) => Ok(InputRequiredResult::new(Some(requests), Some(sealer.seal(&state)))),
        None => Err(Refused::Protocol(error::internal())),
    }
}
