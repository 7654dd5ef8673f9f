//! `triggerPopup`, `ask_form` and `await_answer`: a question to the person as a tool of every revision.

mod answer;
mod elicit;
mod form;
mod in_client;
mod ladder;
mod question;
mod rounds;
mod schemas;
mod tasks;

use rmcp::model::CallToolResponse;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use crate::mcp::Handler;
use crate::mcp::dialect::Revision;
pub(crate) use answer::{fault_of, told, word};
pub(crate) use ladder::wait_for;
pub(crate) use question::draft;
pub(crate) use rounds::Brought;
pub(crate) use schemas::tools;
pub(crate) use tasks::{cancel, get, update};

pub(crate) const TRIGGER: &str = "triggerPopup";
pub(crate) const FORM: &str = "ask_form";
pub(crate) const AWAIT: &str = "await_answer";

/// Calls one of the room's tools, with what an earlier round of it brought; `None` when `name` is none of them.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    name: &str,
    arguments: &Map<String, Value>,
    brought: Option<Brought>,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let draft = match name {
        TRIGGER => question::draft(arguments),
        FORM => form::draft(arguments),
        AWAIT => return Some(ladder::await_answer(handler, revision, arguments, context).await),
        _ => return None,
    };
    Some(match draft {
        // All that may come of a question in one future is large.
        Ok(draft) => {
            Box::pin(ladder::ask(handler, (revision, name), arguments, draft, brought, context)).await
        }
        Err(fault) => fault.answer(revision).map(CallToolResponse::from),
    })
}
