//! Sampling in the stateless revision: what the client's model is asked is part of the answer, and the client calls
//! again with what it said. What was said so far goes with the call, under a seal.

use rmcp::model::{InputRequests, InputRequiredResult};
use serde_json::{Map, Value, json};

use super::plan::{said, sampling};
use super::{PLAN, Refused};
use crate::app::planning::{Asked, Dialogues, Rounds};
use crate::mcp::seal::{Seal, canonical};
use crate::mcp::tools::popups::Brought;
use crate::mcp::{Handler, error};

/// What seals the state of one call: who plans what. The key lives as long as the process: after a restart the client
/// begins anew. A state may come twice, for the same answers plan the same.
pub(super) fn seal(handler: &Handler, arguments: &Map<String, Value>) -> Result<Seal, Refused> {
    let seal = Seal::of_the_process(&["tools/call", &handler.caller().key, PLAN, &canonical(arguments)]);
    seal.ok_or_else(|| Refused::Protocol(error::internal()))
}

/// Returns the dialogues that a call goes on with.
pub(super) fn dialogues(seal: &Seal, brought: &Brought) -> Result<Dialogues, Refused> {
    let state = seal.open(&brought.state);
    state.and_then(|state| serde_json::from_str(&state).ok()).ok_or_else(|| {
        let path = ["requestState".to_owned()];
        let what =
            "`requestState` belongs to no planning that you began with these arguments, or it is too old";
        Refused::Protocol(error::invalid_params(what, &path, "exists", &Value::Null))
    })
}

/// Reads what the client's model said to what was asked under `key`; `None` where there is no reply.
pub(super) fn reply(brought: &Brought, key: &str) -> Option<String> {
    brought.responses.get(key).filter(|reply| reply.is_object()).map(said)
}

/// Says what the client's model is to be asked.
pub(super) fn needed(seal: &Seal, rounds: &Rounds) -> Result<InputRequiredResult, Refused> {
    let request = |asked: &Asked| {
        let params = sampling(&asked.question.instructions(), &asked.turns);
        (asked.key.clone(), json!({"method": "sampling/createMessage", "params": params}))
    };
    let requests: Map<String, Value> = rounds.asked.iter().map(request).collect();
    let requests: Option<InputRequests> = serde_json::from_value(Value::Object(requests)).ok();
    let state = serde_json::to_string(&rounds.dialogues).ok();
    match requests.zip(state) {
        Some((requests, state)) => Ok(InputRequiredResult::new(Some(requests), Some(seal.close(&state)))),
        None => Err(Refused::Protocol(error::internal())),
    }
}
