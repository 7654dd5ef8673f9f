//! The methods of the protocol, for every transport: one hand-written `ServerHandler`, no macros.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::app::App;
use crate::app::clients::Connected;
use crate::mcp::connection::Connection;
use crate::mcp::dialect::{self, Revision};
use crate::mcp::{Server, completion, error, prompts, skills, tools};
use crate::prompts::Catalogue;

/// How long the watch on the prompt folders waits for a new client's first answers, which take less than it takes.
const SETTLING: Duration = Duration::from_millis(20);

const INSTRUCTIONS: &str = "When a message of the user contains a token like `:name` (for example `:research tides`), \
call expand_prompt with that name and the text behind it before you answer, then follow the returned prompt as if the \
user had written it. list_prompts shows which names exist.";

/// Answers one connection's, or one HTTP session's, requests.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    app: Arc<App>,
    server: Server,
    connected: Arc<Connected>,
    connection: Option<Arc<Connection>>,
}

impl Handler {
    pub(crate) fn new(app: Arc<App>, server: Server, connected: Arc<Connected>) -> Self {
        Self { app, server, connected, connection: None }
    }

    /// Lets large answers go to the wire as prepared bytes, where our own edge writes them.
    pub(crate) fn with_connection(mut self, connection: Arc<Connection>) -> Self {
        self.connection = Some(connection);
        self
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub(crate) fn server(&self) -> Server {
        self.server
    }

    pub(crate) fn connected(&self) -> &Connected {
        &self.connected
    }

    pub(crate) fn connection(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref()
    }

    /// The prompts as they are on disk now. Reading them happens off the event loop.
    pub(crate) async fn catalogue(&self) -> Arc<Catalogue> {
        if let Some(catalogue) = self.app.prompts.ready() {
            return catalogue;
        }
        let app = self.app.clone();
        // A panic while loading must not end the connection: the empty catalogue answers with a clear "unknown".
        tokio::task::spawn_blocking(move || app.prompts.load()).await.unwrap_or_default()
    }

    /// Notes who calls; returns the revision that the answer has to speak.
    fn admit(&self, context: &RequestContext<RoleServer>) -> Revision {
        self.connected.count();
        let revision = Revision::of(context);
        if revision == Revision::V2026_07_28
            && !self.connected.identified()
            && let Some(client) = context.client_info()
        {
            self.connected.identify(&client.name, &client.version, revision.as_str());
        }
        revision
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(dialect::capabilities(self.server, Revision::V2026_07_28))
            .with_server_info(dialect::server_info(self.server))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        let revision = Revision::parse(result.protocol_version.as_str()).unwrap_or(Revision::V2024_11_05);
        result.capabilities = dialect::capabilities(self.server, revision);
        if revision == Revision::V2024_11_05 {
            result.instructions = None;
        }
        self.connected.identify(&request.client_info.name, &request.client_info.version, revision.as_str());
        // What was agreed on counts from here on, not what was asked for.
        context.peer.set_peer_info(request.with_protocol_version(result.protocol_version.clone()));
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(self.admit(&context))))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let revision = self.admit(&context);
        tools::call(self, revision, request, &context).await.map(CallToolResponse::from)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let revision = self.admit(&context);
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.catalogue().await;
        Ok(prompts::list(&catalogue, revision, cursor.as_deref()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let revision = self.admit(&context);
        prompts::get(self, revision, &request).await.map(GetPromptResponse::from)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.admit(&context);
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.catalogue().await;
        skills::resources(&catalogue, cursor.as_deref())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.admit(&context);
        let catalogue = self.catalogue().await;
        skills::read(&catalogue, &request.uri).map(ReadResourceResponse::from)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.admit(&context);
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.catalogue().await;
        skills::list(&catalogue, cursor.as_deref())
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.admit(&context);
        let catalogue = self.catalogue().await;
        skills::get(&catalogue, &request.uri)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let revision = self.admit(&context);
        let catalogue = self.catalogue().await;
        completion::complete(&catalogue, revision, &request)
    }

    /// Tells a legacy client of changes for as long as its connection lives.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let peer = context.peer;
        let revision = peer.peer_info().and_then(|info| Revision::parse(info.protocol_version.as_str()));
        // The contract of 2024-11-05 declares no list changes for the prompts server.
        if revision == Some(Revision::V2024_11_05) && self.server == Server::Prompts {
            return;
        }
        let stop = self.app.shutdown.clone();
        // A client asks for its lists right behind this, and waits for them.
        tokio::select! {
            () = tokio::time::sleep(SETTLING) => {}
            () = stop.cancelled() => return,
        }
        let mut changes = self.app.prompts.changes();
        loop {
            tokio::select! {
                told = changes.changed() => if told.is_err() { return },
                () = stop.cancelled() => return,
                () = closed(&peer) => return,
            }
            if peer.notify_prompt_list_changed().await.is_err()
                || peer.notify_resource_list_changed().await.is_err()
            {
                return;
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(error::unknown_method(&request.method))
    }

    /// Reads the files before the subscription is acknowledged: what changes from then on is told, and a first
    /// reading that came later would swallow it.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        if self.app.prompts.ready().is_none() {
            self.app.prompts.load();
        }
        Some(requested.clone())
    }

    /// Tells a 2026-07-28 client of changes until it ends the subscription or we stop.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.app.prompts.changes();
        let (prompts, resources) = (
            context.accepted().prompts_list_changed == Some(true),
            context.accepted().resources_list_changed == Some(true),
        );
        loop {
            tokio::select! {
                told = changes.changed() => if told.is_err() { return Ok(()) },
                () = context.cancelled() => return Ok(()),
                () = self.app.shutdown.cancelled() => return Ok(()),
            }
            let sink = context.sink();
            if prompts && sink.notify_prompt_list_changed().await.is_err() {
                return Ok(());
            }
            if resources && sink.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Ends when the peer's transport has closed, which rmcp only lets us ask for.
async fn closed(peer: &rmcp::Peer<RoleServer>) {
    let mut every = tokio::time::interval(std::time::Duration::from_secs(5));
    loop {
        every.tick().await;
        if peer.is_transport_closed() {
            return;
        }
    }
}
