//! Context of all requests of one client: the application, the toolset, the client and its connection.

mod identity;

use std::sync::{Arc, OnceLock, Weak};

use adjutant_agents as agents;

use crate::agent_session::AgentSession;
use crate::connection::Connection;
use crate::deliveries::Deliveries;
use crate::toolset::ToolsetSelection;
use crate::url_elicitations::UrlElicitations;
use adjutant_agents::worker_order::RemoteAgent;
use adjutant_agents::{Origin, TcpConnection};
use adjutant_app::App;
use adjutant_app::client_registry::ClientHandle;
use adjutant_base::config::toolsets::Toolset;
use adjutant_prompts::Catalogue;

/// Maximum characters of the name that a client over HTTP adds to its address.
const MAX_CLIENT_LABEL: usize = 80;

/// The context of one connection, or of one HTTP session or stateless HTTP request.
#[derive(Clone, Debug)]
pub struct ClientContext {
    pub app: Arc<App>,
    pub selection: ToolsetSelection,
    pub connected: Arc<ClientHandle>,
    /// The connection of a byte stream; `None` over HTTP.
    pub connection: Option<Arc<Connection>>,
    /// The session of the agent, as its process reported it; empty over HTTP.
    pub(crate) session: AgentSession,
    /// URL elicitations that this client was sent.
    pub links: Arc<UrlElicitations>,
    /// Whether the client is an agent that works on a task of this hub. It is looked up once.
    origin: Arc<OnceLock<Origin>>,
    /// The TCP connection of a client over HTTP, or the first one of its session.
    link: Weak<TcpConnection>,
    /// The label of a client over HTTP that distinguishes it from others with its name, if its address has one.
    label: Option<String>,
    /// The name of the token of a client over HTTP; empty for the hub's own.
    token: String,
    /// The agent of a task on a worker that this client is.
    remote: Option<Arc<RemoteAgent>>,
    /// Outcomes on their way to a client over HTTP.
    deliveries: Option<Arc<Deliveries>>,
}

impl ClientContext {
    /// Creates the context of a client that `app` has registered as `connected`.
    pub fn new(app: Arc<App>, selection: ToolsetSelection, connected: Arc<ClientHandle>) -> Self {
        // The process on a pipe or a socket may have exited by the time of a later request.
        let origin = connected.pid.map_or_else(OnceLock::new, |pid| OnceLock::from(app.agents.origin(pid)));
        Self {
            app,
            selection,
            connected,
            connection: None,
            session: AgentSession::default(),
            links: Arc::default(),
            origin: Arc::new(origin),
            link: Weak::new(),
            label: None,
            token: String::new(),
            remote: None,
            deliveries: None,
        }
    }

    /// Adds what is known of a client over HTTP: its TCP connection, the label by which its address distinguishes it from
    /// others with its name, the name of its token, and the outcomes on their way to it.
    pub fn over_http(
        mut self,
        link: Option<&Arc<TcpConnection>>,
        label: Option<String>,
        token: String,
        deliveries: Arc<Deliveries>,
    ) -> Self {
        self.token = token;
        self.deliveries = Some(deliveries);
        self.link = link.map(Arc::downgrade).unwrap_or_default();
        self.label = label.map(|label| label.chars().take(MAX_CLIENT_LABEL).collect());
        self
    }

    /// Adds the connection, so that large results can be written as prepared bytes, and the agent's session on it.
    pub(crate) fn with_connection(mut self, connection: Arc<Connection>, session: AgentSession) -> Self {
        self.connection = Some(connection);
        self.session = session;
        self
    }

    /// Adds the task on a worker to which the client belongs, if it does.
    pub(crate) fn of_worker(mut self, remote: Option<Arc<RemoteAgent>>) -> Self {
        if let Some(agent) = &remote {
            self.origin = Arc::new(OnceLock::from(Origin::Task(agent.task.clone())));
        }
        self.remote = remote;
        self
    }

    /// Returns a folder that the client names as a path of this machine; of a worker's folders those of the task have one.
    /// The error is the folder of the task on the worker.
    pub(crate) fn folder_here(&self, named: &str) -> Result<String, String> {
        match &self.remote {
            None => Ok(named.to_owned()),
            Some(agent) => agent.here(named).ok_or_else(|| agent.there.display().to_string()),
        }
    }

    /// Returns whether this client has `toolset` now.
    pub fn has(&self, toolset: Toolset) -> bool {
        self.selection.has(toolset)
            && (self.selection != ToolsetSelection::All
                || self.app.toolsets.has(toolset, self.connected.name()))
    }

    /// Returns the prompts that are on disk now. Files are read outside the event loop.
    pub async fn prompts(&self) -> Arc<Catalogue> {
        // A panic while loading must not end the connection: the empty catalogue answers with a clear "unknown".
        self.app.prompts.files.fresh().await.unwrap_or_default()
    }

    /// Returns the agents that are on disk now. Files are read outside the event loop.
    pub async fn agents(&self) -> Arc<agents::catalogue::Catalogue> {
        self.app.agents.registry().files.fresh().await.unwrap_or_default()
    }
}
