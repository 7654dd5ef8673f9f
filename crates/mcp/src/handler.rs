//! The methods of the protocol, for every transport: one hand-written `ServerHandler`, no macros.

mod who;

use std::sync::{Arc, OnceLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::agents::{self, Link, Origin};
use crate::app::App;
use crate::app::clients::Connected;
use crate::config::rooms::Room;
use crate::mcp::changes::Telling;
use crate::mcp::connection::Connection;
use crate::mcp::dialect::{self, Revision};
use crate::mcp::links::Links;
use crate::mcp::{
    Server, assistant, changes, completion, error, instructions, popups, prompts, skills, tasks, tools, trace,
};
use crate::prompts::Catalogue;
use crate::trace::within;

/// Characters of what a client adds to its name.
const CLIENT: usize = 80;

/// Answers one connection's, or one HTTP session's, requests.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    app: Arc<App>,
    server: Server,
    connected: Arc<Connected>,
    connection: Option<Arc<Connection>>,
    /// Whether the client is an agent that works on a task here, once that was looked up.
    origin: Arc<OnceLock<Origin>>,
    link: Option<Arc<Link>>,
    /// What tells the client from others of its name, where it says so.
    client: Option<String>,
    /// Links to the console that this client was given.
    links: Arc<Links>,
    /// What the client, or the subscription that this is for, was told.
    telling: Arc<Telling>,
}

impl Handler {
    pub(crate) fn new(app: Arc<App>, server: Server, connected: Arc<Connected>) -> Self {
        // A process on a pipe or a socket may be gone later.
        let origin = connected.pid.map_or_else(OnceLock::new, |pid| OnceLock::from(app.agents.origin(pid)));
        Self {
            app,
            server,
            connected,
            connection: None,
            origin: Arc::new(origin),
            link: None,
            client: None,
            links: Arc::default(),
            telling: Arc::default(),
        }
    }

    /// For a client that came over `link` and tells itself from others of its name by `client`.
    pub(crate) fn over_http(mut self, link: Option<Arc<Link>>, client: Option<String>) -> Self {
        self.link = link;
        self.client = client.map(|client| client.chars().take(CLIENT).collect());
        self
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

    /// Whether this client has `room` here and now.
    pub(crate) fn has(&self, room: Room) -> bool {
        self.server.has(room)
            && (self.server != Server::All || self.app.rooms.has(room, self.connected.name()))
    }

    pub(crate) fn connected(&self) -> &Connected {
        &self.connected
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    pub(crate) fn telling(&self) -> &Telling {
        &self.telling
    }

    /// For one subscription, which is told by itself.
    pub(crate) fn for_subscription(mut self, telling: Arc<Telling>) -> Self {
        self.telling = telling;
        self
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

    /// The agents as they are on disk now.
    pub(crate) async fn agents(&self) -> Arc<agents::catalogue::Catalogue> {
        if let Some(catalogue) = self.app.agents.definitions().ready() {
            return catalogue;
        }
        let app = self.app.clone();
        tokio::task::spawn_blocking(move || app.agents.definitions().load()).await.unwrap_or_default()
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

    /// Says of a list who gives it and, at 2026-07-28, how long it may be taken for fresh.
    fn stamp(&self, revision: Revision, ttl: &mut Option<u64>, meta: &mut Option<MetaObject>) {
        *ttl = dialect::fresh(revision);
        self.sign(revision, meta);
    }

    /// Says who gives an answer.
    fn sign(&self, revision: Revision, meta: &mut Option<MetaObject>) {
        dialect::sign(self.server, revision, meta);
    }
}

/// Refuses a method that belongs to a room which this server does not have.
fn needs(has: bool, method: &str) -> Result<(), ErrorData> {
    if has { Ok(()) } else { Err(error::unknown_method(method)) }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(dialect::capabilities(self.server, Revision::V2026_07_28))
            .with_server_info(dialect::server_info(self.server))
            .with_instructions(instructions::of(|room| self.has(room)))
    }

    /// The client is entered first: which rooms it has, and so the instructions, goes by its name.
    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.admit(&context);
        let versions = self.supported_protocol_versions().into_owned();
        let mut found = DiscoverResult::from_server_info(versions, self.get_info());
        found.ttl_ms = dialect::fresh(Revision::V2026_07_28).unwrap_or_default();
        Ok(found)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.origin();
        let mut result = self.negotiate_initialize(&request)?;
        let revision = Revision::parse(result.protocol_version.as_str()).unwrap_or(Revision::V2024_11_05);
        result.capabilities = dialect::capabilities(self.server, revision);
        if revision == Revision::V2024_11_05 {
            result.instructions = None;
        }
        self.connected.identify(&request.client_info.name, &request.client_info.version, revision.as_str());
        if revision > Revision::V2024_11_05 {
            // Which rooms a client has goes by its name, which is known only now.
            result.instructions = Some(instructions::of(|room| self.has(room)));
        }
        // What was agreed on counts from here on, not what was asked for.
        context.peer.set_peer_info(request.with_protocol_version(result.protocol_version.clone()));
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let revision = self.admit(&context);
        let mut list = ListToolsResult::with_all_items(tools::list(self, revision).await);
        self.stamp(revision, &mut list.ttl_ms, &mut list.meta);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let revision = self.admit(&context);
        // Every tool's future in one is large.
        let mut answer = Box::pin(tools::call(self, revision, request, &context))
            .await
            .map_err(|error| error::in_contract(self.server, revision, error))?;
        match &mut answer {
            CallToolResponse::Complete(result) => self.sign(revision, &mut result.meta),
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
        let revision = self.admit(&context);
        let mut task = tasks::get(self, &request.task_id, &context).await?;
        self.sign(revision, &mut task.meta);
        Ok(task)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.admit(&context);
        tasks::update(self, &request, &context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.admit(&context);
        tasks::cancel(self, &request.task_id).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        needs(self.server.has_listings(), "prompts/list")?;
        let revision = self.admit(&context);
        if !self.has(Room::Prompts) {
            let ours = if self.has(Room::Assistant) { assistant::prompts(revision) } else { Vec::new() };
            let mut page = ListPromptsResult::with_all_items(ours);
            self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
            return Ok(page);
        }
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.catalogue().await;
        let mut page = prompts::list(&catalogue, revision, cursor.as_deref());
        if page.next_cursor.is_none() && self.has(Room::Assistant) {
            // A file of the same name comes first.
            let ours = assistant::prompts(revision).into_iter();
            page.prompts.extend(ours.filter(|prompt| catalogue.find(&prompt.name).is_none()));
        }
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        needs(self.server.has_listings(), "prompts/get")?;
        let revision = self.admit(&context);
        // Which prompts the files have decides whose name it is.
        if self.has(Room::Prompts) && self.has(Room::Assistant) {
            self.catalogue().await;
        }
        let ours = if self.has(Room::Assistant) { assistant::get(self, revision, &request) } else { None };
        let mut prompt = match ours {
            Some(ours) => ours?,
            None if self.has(Room::Prompts) => {
                if let Some(mut form) = prompts::missing(self, revision, &mut request, &context).await {
                    self.sign(revision, &mut form.meta);
                    return Ok(form.into());
                }
                prompts::get(self, revision, &request).await?
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
        needs(self.server.has_listings(), "resources/list")?;
        let revision = self.admit(&context);
        let mut page = if self.has(Room::Prompts) {
            let cursor = request.and_then(|request| request.cursor);
            let catalogue = self.catalogue().await;
            skills::resources(&catalogue, cursor.as_deref())?
        } else {
            ListResourcesResult::default()
        };
        if page.next_cursor.is_none() && self.has(Room::Assistant) {
            page.resources.extend(assistant::resources(self, revision).await?);
        }
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let revision = self.admit(&context);
        let templates = if self.has(Room::Assistant) { assistant::templates() } else { Vec::new() };
        let mut list = ListResourceTemplatesResult::with_all_items(templates);
        self.stamp(revision, &mut list.ttl_ms, &mut list.meta);
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        needs(self.server.has_listings(), "resources/read")?;
        let revision = self.admit(&context);
        if self.has(Room::Assistant) && assistant::is_ours(self, &request.uri) {
            let read = assistant::read(self, revision, &request.uri, &context.meta).await;
            return read.map(ReadResourceResponse::from);
        }
        if !self.has(Room::Prompts) {
            return Err(error::resource_not_found(revision, &request.uri));
        }
        let catalogue = self.catalogue().await;
        skills::read(&catalogue, &request.uri).map(ReadResourceResponse::from)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        needs(self.has(Room::Prompts), "skills/list")?;
        let revision = self.admit(&context);
        let cursor = request.and_then(|request| request.cursor);
        let catalogue = self.catalogue().await;
        let mut page = skills::list(&catalogue, cursor.as_deref())?;
        self.stamp(revision, &mut page.ttl_ms, &mut page.meta);
        Ok(page)
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        needs(self.has(Room::Prompts), "skills/get")?;
        let revision = self.admit(&context);
        let catalogue = self.catalogue().await;
        let mut skill = skills::get(&catalogue, &request.uri)?;
        self.stamp(revision, &mut skill.ttl_ms, &mut skill.meta);
        Ok(skill)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let revision = self.admit(&context);
        needs(self.has(Room::Prompts), "completion/complete")
            .map_err(|error| error::in_contract(self.server, revision, error))?;
        let catalogue = self.catalogue().await;
        let mut completed = completion::complete(&catalogue, revision, &request)?;
        self.sign(revision, &mut completed.meta);
        Ok(completed)
    }

    /// Tells a legacy client of changes for as long as its connection lives.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        changes::tell_peer(self, &context.peer).await;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if self.has(Room::Popups) && request.method == popups::METHOD {
            self.admit(&context);
            let work = popups::trigger(self, request.params, &context);
            return within(trace::of(&context.meta), work).await.map(CustomResult);
        }
        // On a stream the service gives the contract its shapes, and nobody but a client can have sent this.
        if request.method == assistant::enclosed::METHOD && self.connection.is_none() {
            let answer = assistant::enclosed::answer(self, &request, context).await.map(CustomResult);
            return answer.map_err(|error| error::in_contract(self.server, Revision::V2024_11_05, error));
        }
        let error = error::unknown_method(&request.method);
        Err(error::in_contract(self.server, Revision::of(&context), error))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(changes::granted(self, requested))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let revision = self.admit(&context);
        let watches = self.server.has_listings() && revision > Revision::V2024_11_05;
        needs(watches, "resources/subscribe")?;
        if !changes::can_be_watched(self, &request.uri) {
            return Err(error::resource_not_found(revision, &request.uri));
        }
        if self.telling.watched().add(self, &request.uri).await {
            Ok(())
        } else {
            Err(error::too_many_watched())
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let watches = self.server.has_listings() && self.admit(&context) > Revision::V2024_11_05;
        needs(watches, "resources/unsubscribe")?;
        self.telling.watched().remove(&request.uri);
        Ok(())
    }

    /// Tells a 2026-07-28 client of changes until it ends the subscription or we stop.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        changes::tell_subscriber(self, &context).await;
        Ok(())
    }
}
