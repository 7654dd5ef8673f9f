//! The tools, in the order they are listed. A new room adds one line to each of the two functions.

pub(crate) mod prompts;

use rmcp::model::{CallToolRequestParams, CallToolResult, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, error};

/// Returns the tools as `revision` shows them.
pub(crate) fn list(revision: Revision) -> Vec<Tool> {
    prompts::tools(revision)
}

/// Calls a tool by name.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    match request.name.as_ref() {
        prompts::LIST => Ok(prompts::list(handler, revision, context).await),
        prompts::EXPAND => prompts::expand(handler, revision, &arguments, context).await,
        name => {
            let message = format!("unknown tool `{}`; tools/list shows the names", error::clip(name));
            Err(error::unknown_name(revision, message))
        }
    }
}
