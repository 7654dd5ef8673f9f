//! The response of a client of the stateless protocol version in a repeated call (`requestState`, `inputResponses`).

use rmcp::model::{CallToolRequestParams, InputResponses};

/// The response to an input-required result, which the client adds when it repeats its call.
#[derive(Debug)]
pub(crate) struct InputResponse {
    /// The state as the client wrote it. It proves nothing unless it is sealed.
    pub state: String,
    pub responses: InputResponses,
}

impl InputResponse {
    /// Takes the response out of a call; `None` for a call that is not a repeated one.
    pub(crate) fn extract(call: &mut CallToolRequestParams) -> Option<Self> {
        let state = call.request_state.take()?;
        Some(Self { state, responses: call.input_responses.take().unwrap_or_default() })
    }
}
