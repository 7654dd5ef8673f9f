//! A handler wrapper that counts requests, and answers a panic with an internal error.
//!
//! rmcp runs every request in a separate task: after a panic its client would wait for ever. On a stream our service
//! catches the panic; rmcp's HTTP service accepts handlers only, so here the handler is wrapped instead.
#![expect(deprecated, reason = "the handshake revisions still have the methods that the newest one drops")]

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult, GetTaskParams,
    GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use adjutant_app::monitoring::RequestCounts;
use adjutant_mcp::error;

/// Answers as the inner handler does, and with an internal error when that panics.
#[derive(Debug)]
pub(crate) struct CatchPanic<H>(pub(crate) H, pub(crate) Arc<RequestCounts>);

async fn caught<T>(work: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a handler panicked");
        Err(error::internal())
    })
}

macro_rules! requests {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        async fn $name(&self, $($argument: $kind),*) -> Result<$result, ErrorData> {
            self.1.count(caught(async move { self.0.$name($($argument),*).await })).await
        }
    )*};
}

macro_rules! notifications {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        async fn $name(&self, $($argument: $kind),*) {
            let _ = caught(async move { Ok(self.0.$name($($argument),*).await) }).await;
        }
    )*};
}

impl<H: ServerHandler> ServerHandler for CatchPanic<H> {
    requests! {
        ping(context: RequestContext<RoleServer>) -> ();
        initialize(request: InitializeRequestParams, context: RequestContext<RoleServer>) -> InitializeResult;
        discover(context: RequestContext<RoleServer>) -> DiscoverResult;
        complete(request: CompleteRequestParams, context: RequestContext<RoleServer>) -> CompleteResult;
        set_level(request: SetLevelRequestParams, context: RequestContext<RoleServer>) -> ();
        get_prompt(request: GetPromptRequestParams, context: RequestContext<RoleServer>) -> GetPromptResponse;
        list_prompts(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> ListPromptsResult;
        list_resources(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> ListResourcesResult;
        list_resource_templates(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> ListResourceTemplatesResult;
        read_resource(request: ReadResourceRequestParams, context: RequestContext<RoleServer>) -> ReadResourceResponse;
        subscribe(request: SubscribeRequestParams, context: RequestContext<RoleServer>) -> ();
        unsubscribe(request: UnsubscribeRequestParams, context: RequestContext<RoleServer>) -> ();
        call_tool(request: CallToolRequestParams, context: RequestContext<RoleServer>) -> CallToolResponse;
        list_tools(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> ListToolsResult;
        on_custom_request(request: CustomRequest, context: RequestContext<RoleServer>) -> CustomResult;
        get_task(request: GetTaskParams, context: RequestContext<RoleServer>) -> GetTaskResult;
        update_task(request: UpdateTaskParams, context: RequestContext<RoleServer>) -> ();
        cancel_task(request: CancelTaskParams, context: RequestContext<RoleServer>) -> ();
        list_skills(request: Option<PaginatedRequestParams>, context: RequestContext<RoleServer>) -> ListSkillsResult;
        get_skill(request: GetSkillRequestParams, context: RequestContext<RoleServer>) -> GetSkillResult;
        read_resource_directory(request: ReadResourceDirectoryRequestParams, context: RequestContext<RoleServer>) -> ReadResourceDirectoryResult;
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        caught(async move { self.0.listen(context).await }).await
    }

    notifications! {
        on_cancelled(notification: CancelledNotificationParam, context: NotificationContext<RoleServer>);
        on_progress(notification: ProgressNotificationParam, context: NotificationContext<RoleServer>);
        on_initialized(context: NotificationContext<RoleServer>);
        on_roots_list_changed(context: NotificationContext<RoleServer>);
        on_custom_notification(notification: CustomNotification, context: NotificationContext<RoleServer>);
    }

    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        self.0.negotiate_initialize(request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let answer = caught::<()>(async { panic!("as this test wants") }).await;
        assert_eq!(answer.unwrap_err().code, rmcp::model::ErrorCode::INTERNAL_ERROR);
    }
}
