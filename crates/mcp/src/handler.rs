//! The methods of the protocol, for every transport: one hand-written `ServerHandler`, no macros.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientRequest, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, ServerResult, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::assistant::http_wrapping;
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version;
use crate::protocol_version::Revision;
use crate::subscriptions::SubscriberState;
use crate::tools::questions::answer_files;
use crate::{
    assistant, completion, error, instructions, prompts, skills, subscriptions, tasks, tools, trace_meta,
    trigger_popup,
};
use adjutant_base::config::toolsets::Toolset;
use adjutant_base::spans::{ActiveSpan, SpanKind};
use adjutant_base::trace_context::scope;

/// Answers the requests of one connection, of one HTTP session, or one stateless HTTP request.
#[derive(Clone, Debug)]
pub struct Handler {
    client: ClientContext,
    /// The state of the client, or of the subscription that this handler serves.
    subscriber: Arc<SubscriberState>,
}

impl Handler {
    /// Creates the handler of a client.
    pub fn new(client: ClientContext) -> Self {
        Self { client, subscriber: Arc::default() }
    }

    /// Returns the handler for one subscription with its state.
    pub fn for_subscription(mut self, subscriber: Arc<SubscriberState>) -> Self {
        self.subscriber = subscriber;
        self
    }

    /// Returns the context that this handler shares with its tools.
    pub(crate) fn client(&self) -> &ClientContext {
        &self.client
    }

    /// Counts the request for its client, and returns the request's context.
    fn admit<'a>(&'a self, request: &'a RequestContext<RoleServer>) -> CallContext<'a> {
        self.client.connected.count_request();
        let revision = Revision::of(request);
        if revision == Revision::V2026_07_28
            && !self.client.connected.is_identified()
            && let Some(client) = request.client_info()
        {
            self.client.connected.identify(&client.name, &client.version, revision.as_str());
        }
        CallContext { client: &self.client, revision, request }
    }

    /// Answers a wrapped request, see [`http_wrapping`].
    async fn answer_wrapped(
        &self,
        wrapped: &CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let unknown = || error::unknown_method(http_wrapping::METHOD);
        let (request, meta) = http_wrapping::unwrap(wrapped).ok_or_else(unknown)?;
        if let Some(answer) = assistant::contract(&self.client, &request, Revision::V2024_11_05, &meta).await
        {
            return answer;
        }
        // The resource or prompt may belong to the prompts toolset.
        let answer = match request {
            ClientRequest::ReadResourceRequest(request) => {
                ServerResult::from(self.read_resource(request.params, context).await?)
            }
            ClientRequest::GetPromptRequest(request) => {
                ServerResult::from(self.get_prompt(request.params, context).await?)
            }
            _ => return Err(unknown()),
        };
        serde_json::to_value(answer).map_err(|reason| {
            tracing::error!(%reason, "a response cannot be serialized");
            error::internal()
        })
    }

    /// Adds the server's name to a list and, at 2026-07-28, how long the list is fresh.
    fn stamp(&self, revision: Revision, ttl: &mut Option<u64>, meta: &mut Option<MetaObject>) {
        *ttl = protocol_version::list_ttl_ms(revision);
        self.sign(revision, meta);
    }

    /// Adds the server's name to a result.
    fn sign(&self, revision: Revision, meta: &mut Option<MetaObject>) {
        protocol_version::sign(self.client.selection, revision, meta);
    }
}

/// Returns the error for an unknown method unless the client `has` the method's toolset.
fn require(has: bool, method: &str) -> Result<(), ErrorData> {
    if has { Ok(()) } else { Err(error::unknown_method(method)) }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(protocol_version::capabilities(self.client.selection, Revision::V2026_07_28))
            .with_server_info(protocol_version::server_info(self.client.selection))
            .with_instructions(instructions::for_toolsets(|toolset| self.client.has(toolset)))
    }

    /// The client is registered first, because its toolsets, and so the instructions, depend on its name.
    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.admit(&context);
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = protocol_version::list_ttl_ms(Revision::V2026_07_28).unwrap_or_default();
        Ok(result)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.client.origin();
        let mut result = self.negotiate_initialize(&request)?;
        let revision = Revision::parse(result.protocol_version.as_str()).unwrap_or(Revision::V2024_11_05);
        result.capabilities = protocol_version::capabilities(self.client.selection, revision);
        if revision == Revision::V2024_11_05 {
            result.instructions = None;
        }
        self.client.connected.identify(
            &request.client_info.name,
            &request.client_info.version,
            revision.as_str(),
        );
        if revision > Revision::V2024_11_05 {
            // The toolsets of a client depend on its name, which is known only now.
            result.instructions = Some(instructions::for_toolsets(|toolset| self.client.has(toolset)));
        }
        // From here on the negotiated version counts, not the requested one.
        context.peer.set_peer_info(request.with_protocol_version(result.protocol_version.clone()));
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let CallContext { revision, .. } = self.admit(&context);
        let mut list = ListToolsResult::with_all_items(tools::list(&self.client, revision).await);
        self.stamp(revision, &mut list.ttl_ms, &mut list.meta);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.admit(&context);
        let revision = call.revision;
        let trace = trace_meta::of(&call.request.meta);
        let mut span = ActiveSpan::start(trace.as_ref(), SpanKind::Server, || {
            format!("tools/call {}", error::clip(&request.name))
        });
        span.set("mcp.method.name", || "tools/call".to_owned());
        span.set("gen_ai.tool.name", || error::clip(&request.name));
        // Boxed, because a future that may be any tool's is large.
        let work = Box::pin(tools::call(&call, request));
        let mut answer = scope(span.below(trace), work).await.map_err(|error| {
            span.fail(&error.code.0.to_string());
            error::in_contract(self.client.selection, revision, error)
        })?;
        match &mut answer {
            CallToolResponse::Complete(result) => {
                if result.is_error == Some(true) {
                    span.fail("tool_error");
                    self.client.app.requests.add_tool_error();
                }
                self.sign(revision, &mut result.meta);
            }
            CallToolResponse::InputRequired(result) => self.sign(revision, &mut result.meta),
            CallToolResponse::Task(task) => self.sign(revision, &mut task.meta),
            _ => {}
        }
        Ok(answer)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let call = self.admit(&context);
        let revision = call.revision;
        let mut task = tasks::get(&call, &request.task_id).await?;
        self.sign(revision, &mut task.meta);
        Ok(task)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::update(&self.admit(&context), &request).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.admit(&context);
        tasks::cancel(&self.client, &request.task_id).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        require(self.client.selection.has_listings(), "prompts/list")?;
        let CallContext { revision, .. } = self.admit(&context);
        let mut page = ListPromptsResult::default();
        let mut catalogue = None;
        if self.client.has(Toolset::Prompts) {
            let cursor = request.and_then(|request| request.cursor);
            let prompts = catalogue.insert(self.client.prompts().await);
            page = prompts::list(prompts, revision, cursor.as_deref());
        }
        if page.next_cursor.is_none() && self.client.has(Toolset::Assistant) {
            // A file of the same name overrides a prompt of the assistant.
            let is_file = |name: &str| catalogue.as_ref().is_some_and(|files| files.find(name).is_some());
            page.prompts
                .extend(assistant::prompts(revision).into_iter().filter(|prompt| !is_file(&prompt.name)));
        }
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        require(self.client.selection.has_listings(), "prompts/get")?;
        let call = self.admit(&context);
        let revision = call.revision;
        // The catalogue decides whether the name is a prompt file or a prompt of the assistant.
        if self.client.has(Toolset::Prompts) && self.client.has(Toolset::Assistant) {
            self.client.prompts().await;
        }
        let of_assistant = if self.client.has(Toolset::Assistant) {
            assistant::get(&self.client, revision, &request)
        } else {
            None
        };
        let mut prompt = match of_assistant {
            Some(prompt) => prompt?,
            None if self.client.has(Toolset::Prompts) => {
                if let Some(mut form) = prompts::missing_arguments(&call, &mut request).await {
                    self.sign(revision, &mut form.meta);
                    return Ok(form.into());
                }
                prompts::get(&self.client, revision, &request).await?
            }
            None => {
                let name = error::clip(&request.name);
                return Err(error::unknown_name(revision, format!("unknown prompt `{name}`")));
            }
        };
        self.sign(revision, &mut prompt.meta);
        Ok(prompt.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let revision = Revision::of(&context);
        require(protocol_version::has_resources(self.client.selection, revision), "resources/list")?;
        self.admit(&context);
        let mut page = if self.client.has(Toolset::Prompts) {
            let cursor = request.and_then(|request| request.cursor);
            let catalogue = self.client.prompts().await;
            skills::resources(&catalogue, cursor.as_deref())?
        } else {
            ListResourcesResult::default()
        };
        if page.next_cursor.is_none() && self.client.has(Toolset::Assistant) {
            let (resources, generation) = assistant::resources(&self.client, revision).await?;
            page.resources.extend(resources);
            if let Some(generation) = generation {
                self.subscriber.record_users(generation);
            }
        }
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let CallContext { revision, .. } = self.admit(&context);
        let templates = if self.client.has(Toolset::Assistant) { assistant::templates() } else { Vec::new() };
        let mut list = ListResourceTemplatesResult::with_all_items(templates);
        self.stamp(revision, &mut list.ttl_ms, &mut list.meta);
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let revision = Revision::of(&context);
        require(protocol_version::has_resources(self.client.selection, revision), "resources/read")?;
        self.admit(&context);
        if answer_files::serves(&self.client, revision, &request.uri) {
            return answer_files::read(&self.client, revision, &request.uri).await.map(Into::into);
        }
        if self.client.has(Toolset::Assistant) && assistant::serves(&self.client, &request.uri) {
            let read = assistant::read(&self.client, revision, &request.uri, &context.meta).await;
            return read.map(ReadResourceResponse::from);
        }
        if !self.client.has(Toolset::Prompts) {
            return Err(error::resource_not_found(revision, &request.uri));
        }
        let catalogue = self.client.prompts().await;
        skills::read(&catalogue, &request.uri).map(ReadResourceResponse::from)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        require(self.client.has(Toolset::Prompts), "skills/list")?;
        let CallContext { revision, .. } = self.admit(&context);
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.client.prompts().await;
        let mut page = skills::list(&catalogue, cursor.as_deref())?;
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        require(self.client.has(Toolset::Prompts), "skills/get")?;
        let CallContext { revision, .. } = self.admit(&context);
        let catalogue = self.client.prompts().await;
        let mut skill = skills::get(&catalogue, &request.uri)?;
        self.stamp(revision, &mut skill.ttl_ms, &mut skill.meta);
        Ok(skill)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let CallContext { revision, .. } = self.admit(&context);
        require(self.client.has(Toolset::Prompts), "completion/complete")
            .map_err(|error| error::in_contract(self.client.selection, revision, error))?;
        let catalogue = self.client.prompts().await;
        let mut completed = completion::complete(&catalogue, revision, &request)?;
        self.sign(revision, &mut completed.meta);
        Ok(completed)
    }

    /// Notifies a client with a handshake of changes until its connection ends.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        subscriptions::notify_peer(&self.client, &self.subscriber, &context.peer).await;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if self.client.has(Toolset::Questions) && request.method == trigger_popup::METHOD {
            let call = self.admit(&context);
            let work = trigger_popup::trigger(&call, request.params);
            return scope(trace_meta::of(&context.meta), work).await.map(CustomResult);
        }
        // On a stream nothing is wrapped, so only a client can have sent this there.
        if request.method == http_wrapping::METHOD && self.client.connection.is_none() {
            let answer = self.answer_wrapped(&request, context).await.map(CustomResult);
            return answer
                .map_err(|error| error::in_contract(self.client.selection, Revision::V2024_11_05, error));
        }
        let error = error::unknown_method(&request.method);
        Err(error::in_contract(self.client.selection, Revision::of(&context), error))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(subscriptions::granted_filter(&self.client, requested))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let CallContext { revision, .. } = self.admit(&context);
        let watches = self.client.selection.has_listings() && revision > Revision::V2024_11_05;
        require(watches, "resources/subscribe")?;
        if !subscriptions::can_be_watched(&self.client, &request.uri) {
            return Err(error::resource_not_found(revision, &request.uri));
        }
        if subscriptions::watch(&self.client, &self.subscriber.watched, &request.uri).await {
            Ok(())
        } else {
            Err(error::too_many_watched(subscriptions::MAX_WATCHED))
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let watches =
            self.client.selection.has_listings() && self.admit(&context).revision > Revision::V2024_11_05;
        require(watches, "resources/unsubscribe")?;
        self.subscriber.watched.remove(&request.uri);
        Ok(())
    }

    /// Notifies a client of 2026-07-28 of changes until it ends the subscription or the application stops.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        subscriptions::run_subscription(&self.client, &self.subscriber, &context).await;
        Ok(())
    }
}
