//! Context of one request, which the dispatcher hands to a tool.

use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::client_context::ClientContext;
use crate::protocol_version::Revision;

/// The client of one request, the protocol version of its response, and rmcp's context of the request.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    pub client: &'a ClientContext,
    pub revision: Revision,
    pub request: &'a RequestContext<RoleServer>,
}
