//! Wrapper of rmcp's dispatch: a panic becomes an error response, and 2024-11-05 gets the contracts' forms.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, InitializeRequestParams, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer};

use crate::connection::Connection;
use crate::handler::Handler;
use crate::protocol_version;
use crate::protocol_version::Revision;
use crate::subscriptions::SubscriberState;
use crate::{assistant, error};

/// The service of one stdio or socket connection.
#[derive(Debug)]
pub(crate) struct StreamService {
    handler: Handler,
    connection: Arc<Connection>,
}

impl StreamService {
    /// Serves `connection` with `handler`.
    pub(crate) fn new(handler: Handler, connection: Arc<Connection>) -> Self {
        Self { handler, connection }
    }

    async fn answer(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let initialize = match &request {
            ClientRequest::InitializeRequest(request) => Some(request.params.clone()),
            _ => None,
        };
        if let Some(answer) =
            assistant::contract(self.handler.client(), &request, Revision::of(&context), &context.meta).await
        {
            return answer.map(|value| ServerResult::CustomResult(CustomResult(value)));
        }
        let unsigned =
            Revision::of(&context) == Revision::V2026_07_28 && protocol_version::signs_json(request.method());
        let subscription = match &request {
            ClientRequest::SubscriptionsListenRequest(request) => {
                let state =
                    SubscriberState::begin(self.handler.client(), &request.params.notifications).await;
                Some(self.handler.clone().for_subscription(Arc::new(state)))
            }
            _ => None,
        };
        let handler = subscription.as_ref().unwrap_or(&self.handler);
        let result = rmcp::Service::handle_request(handler, request, context).await?;
        if unsigned && let Ok(mut result) = serde_json::to_value(&result) {
            protocol_version::sign_json(self.handler.client().selection, &mut result);
            return Ok(ServerResult::CustomResult(CustomResult(result)));
        }
        Ok(match (initialize, result) {
            (Some(params), ServerResult::InitializeResult(result)) => self.initialized(&params, result),
            (_, result) => result,
        })
    }

    fn initialized(
        &self,
        params: &InitializeRequestParams,
        result: rmcp::model::InitializeResult,
    ) -> ServerResult {
        let Some(revision) = Revision::parse(result.protocol_version.as_str()) else {
            return ServerResult::InitializeResult(result);
        };
        self.connection.set_revision(revision);
        match protocol_version::contract_initialize(
            self.handler.client().selection,
            revision,
            &result,
            &params.client_info,
        ) {
            Some(value) => ServerResult::CustomResult(CustomResult(value)),
            None => ServerResult::InitializeResult(result),
        }
    }
}

impl rmcp::Service<RoleServer> for StreamService {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let (id, revision) = (context.id.clone(), Revision::of(&context));
        let is_subscription = matches!(request, ClientRequest::SubscriptionsListenRequest(_));
        // Boxed, because the future of all methods is large and rmcp moves a spawned future several times.
        let answer = AssertUnwindSafe(Box::pin(self.answer(request, context))).catch_unwind();
        let answer = answer.map(|answer| {
            answer.unwrap_or_else(|_| {
                tracing::error!(request.id = %id, "a handler panicked");
                Err(error::internal())
            })
        });
        let answer = if is_subscription {
            answer.await
        } else {
            self.handler.client().app.requests.count(answer).await
        };
        answer.map_err(|error| error::in_contract(self.handler.client().selection, revision, error))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        rmcp::Service::handle_notification(&self.handler, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        rmcp::ServerHandler::get_info(&self.handler)
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        rmcp::ServerHandler::supported_protocol_versions(&self.handler)
    }
}
