//! The application: builds the domains on the infrastructure, knows the connected clients, and owns shutdown.

mod acting_process;
pub mod activity_log;
pub mod agent_processes;
mod answer_files;
mod app_of_user;
mod approvals;
pub mod calendar_changes;
mod calendar_refresh;
pub mod calendar_sync;
pub mod calendar_writes;
pub mod client_registry;
mod daily_planning;
mod earlier_questions;
pub mod health;
mod machines;
pub mod monitoring;
mod notification_questions;
pub mod openid_logins;
pub mod pending_counts;
pub mod permissions;
pub mod proposals;
mod question_notifier;
mod repo_status;
pub mod timeline;
pub mod toolset_switches;
mod user_list_cache;
mod user_logins;
pub mod waiters;
mod workspaces;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use activity_log::{ActivityKind, ActivityLog};
use adjutant_agents::{Agents, Selector};
use adjutant_assistant::Assistant;
use adjutant_assistant::logins::Login;
use adjutant_base::config::{self, Config};
use adjutant_base::events::{Event, Events};
use adjutant_base::text::timefmt;
use adjutant_codex::Codex;
use adjutant_host::recorder::{Recorder, redact};
use adjutant_prompts::Prompts;
use adjutant_questions::{Questions, Ticket};
use adjutant_store::Store;
use agent_processes::AgentProcesses;
use client_registry::ClientRegistry;
use earlier_questions::EarlierQuestions;
use monitoring::RequestCounts;
use openid_logins::OpenIdLogins;
use permissions::Permissions;
use repo_status::RepoStatusCache;
use toolset_switches::{PendingChanges, ToolsetSwitches};
use user_list_cache::UserListCache;
use waiters::Waiters;

/// How often the time of `config.toml` is read. A watch of its folder would wake for every write of the database there.
const CONFIG_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The state that all interfaces share: the domains, the connected clients and the settings of one process.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub events: Events,
    pub agents: Agents,
    pub assistant: Assistant,
    pub codex: Codex,
    pub questions: Arc<Questions>,
    /// The user who logged in and acts through this application; `None` for the owner of the hub, and for clients.
    pub login: Option<Login>,
    /// The identity provider at which users log in, if the configuration names one.
    pub openid: Option<Arc<OpenIdLogins>>,
    pub prompts: Prompts,
    pub recorder: Recorder,
    /// The connected clients.
    pub clients: Arc<ClientRegistry>,
    /// Recent activity, newest last, bounded.
    pub activity: Arc<ActivityLog>,
    /// The requests of all clients.
    pub requests: Arc<RequestCounts>,
    /// The processes that are an agent's, so that they do not act for the user.
    pub agent_processes: Arc<AgentProcesses>,
    /// Where others can reach this process.
    pub listening: Arc<Listening>,
    /// The switches of the toolsets in force.
    pub toolsets: Arc<ToolsetSwitches>,
    /// The tasks and questions that calls wait for.
    pub waiters: Arc<Waiters>,
    /// The questions of the approvals that Codex waits for, by approval.
    approval_questions: Arc<Mutex<HashMap<String, Ticket>>>,
    /// The questions about calendar changes that the user allowed to this hub, so that one answer makes one change.
    allowed_changes: Arc<Mutex<HashSet<Ticket>>>,
    permissions: Arc<Permissions>,
    earlier_questions: Arc<EarlierQuestions>,
    /// The stores of this process: the tasks may have one of their own.
    stores: Vec<Store>,
    /// The application of each workspace that has a client, by folder.
    workspaces: Arc<Mutex<HashMap<PathBuf, Weak<Self>>>>,
    /// State of the working trees that questions are about.
    pub repo_status: Arc<RepoStatusCache>,
    /// The list of users, as the lists of resources name them.
    pub user_list: Arc<UserListCache>,
    /// The folder of the project that a client works in; its files come first.
    pub workspace: Option<PathBuf>,
    /// Cancelled once, when the process is to stop in order.
    pub shutdown: CancellationToken,
    pub started: SystemTime,
}

/// Where this process listens: each interface sets its address once it is bound, and the console shows it.
#[derive(Debug, Default)]
pub struct Listening {
    /// The bound address, so port 0 is already a real port.
    pub http: OnceLock<SocketAddr>,
    /// Why the hub does not listen for HTTP, though its configuration says so.
    pub http_fault: OnceLock<String>,
    /// Why the database did not answer when the hub began to serve.
    pub database_fault: OnceLock<String>,
    /// The console's origin as a browser names it: the proxy's where there is one.
    pub console: OnceLock<String>,
    pub socket: OnceLock<PathBuf>,
    /// The arguments that start this hub again; unset if a service manager starts it.
    pub restart_arguments: OnceLock<Vec<OsString>>,
}

/// Removes the example that [`App::fill_demo`] and the assistant added to a database; returns the number of its questions,
/// tasks, Codex sessions and users.
pub async fn remove_demo(database: config::Database) -> Result<u64, adjutant_store::Error> {
    let store = Store::new(database);
    let removed = adjutant_store::demo::remove(&store).await;
    store.close().await;
    removed
}

impl App {
    /// Builds the domains. Reads nothing from disk yet: a domain loads at its first call.
    /// `selector` chooses the runners of delegated tasks.
    pub fn new(config: Config, selector: Selector) -> Arc<Self> {
        let events = Events::new();
        let prompts = Prompts::new(&config.prompts);
        let store = Store::on_machine(config.database.clone(), config.machine.clone());
        let assistant = Assistant::new(store.clone(), events.clone());
        let recorder = Recorder::new(config.recorder.clone());
        let codex = Codex::new(config.codex.clone(), store.clone(), events.clone(), recorder.clone());
        let questions = Questions::new(config.questions.clone(), store.clone(), events.clone());
        let questions = Arc::new(questions.with_redaction(redact::text));
        let tasks = config.delegation.database.clone().map(Store::new);
        let stores: Vec<_> = [store.clone()].into_iter().chain(tasks.clone()).collect();
        let user_list = Arc::new(UserListCache::new(assistant.clone(), stores.clone()));
        let tasks = tasks.unwrap_or(store);
        let settings = config.delegation.clone();
        let agents = Agents::new(&config.agents, settings, selector, tasks, events.clone(), recorder.clone());
        let activity = Arc::<ActivityLog>::default();
        Arc::new(Self {
            clients: Arc::new(ClientRegistry::new(events.clone(), activity.clone())),
            activity,
            requests: Arc::new(RequestCounts::new()),
            agent_processes: Arc::new(AgentProcesses::new(&config)),
            listening: Arc::default(),
            toolsets: Arc::new(ToolsetSwitches::new(config.toolsets.clone())),
            waiters: Arc::default(),
            approval_questions: Arc::default(),
            allowed_changes: Arc::default(),
            permissions: Arc::new(Permissions::new(config.permissions.clone(), &config.home)),
            earlier_questions: Arc::default(),
            stores,
            workspaces: Arc::default(),
            repo_status: Arc::new(RepoStatusCache::new(config.home.clone(), events.clone())),
            user_list,
            workspace: None,
            login: None,
            openid: OpenIdLogins::new(&config.openid).map(Arc::new),
            shutdown: CancellationToken::new(),
            started: SystemTime::now(),
            config,
            events,
            agents,
            assistant,
            codex,
            questions,
            prompts,
            recorder,
        })
    }

    /// Adds the questions, tasks and the Codex session of an example to stores without any. `folder` is their working
    /// folder.
    pub async fn fill_demo(&self, folder: &str) -> Result<(), adjutant_store::Error> {
        for store in &self.stores {
            adjutant_store::demo::fill(store, folder, timefmt::millis(SystemTime::now())).await?;
        }
        Ok(())
    }

    /// Watches the files of prompts and agents until shutdown; what changes becomes an event, and prompts a line of
    /// the activity too.
    pub async fn watch_files(self: Arc<Self>) {
        let mut prompts = self.prompts.files.changes();
        let mut agents = self.agents.registry().files.changes();
        self.prompts.files.watch();
        self.agents.registry().files.watch();
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                Ok(()) = prompts.changed() => {
                    self.activity.record("hub", ActivityKind::PromptsChanged);
                    self.events.send(Event::PromptsChanged);
                }
                Ok(()) = agents.changed() => self.events.send(Event::AgentsChanged),
                else => return,
            }
        }
    }

    /// Returns the id of a connection, which differs from those of all others, also of an earlier hub.
    pub fn session_of(&self, client: u64) -> String {
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{}-{client}", started.as_millis())
    }

    /// Applies changes of `config.toml` until shutdown. A file that cannot be read changes nothing.
    pub async fn watch_config(self: Arc<Self>) {
        let mut known = config::version(&self.config.home);
        while self.shutdown.run_until_cancelled(tokio::time::sleep(CONFIG_POLL_INTERVAL)).await.is_some() {
            let now = config::version(&self.config.home);
            if now == known {
                continue;
            }
            known = now;
            self.reload();
        }
    }

    /// Applies `config.toml` as it is now, and returns how it differs from what is in force. A file that cannot be read
    /// changes nothing. Blocks on the disk for one small file.
    pub fn reload(&self) -> PendingChanges {
        let read = config::reload(&self.config).map_err(|error| error.to_string());
        let read = read.and_then(|reloaded| {
            self.agents.replace_runners(&reloaded.runners).map_err(|error| error.to_string())?;
            self.permissions.apply(reloaded.permissions.clone());
            Ok(reloaded)
        });
        if self.toolsets.apply(read) {
            self.events.send(Event::ToolsetsChanged);
        }
        self.toolsets.pending_changes()
    }

    /// Returns the id of this machine, with which the keys of its clients begin, so that clients with the same name and
    /// folder on two machines differ. Empty where one machine has the database.
    pub fn machine(&self) -> &str {
        self.stores.first().map_or("", Store::machine)
    }

    /// Returns a number that changes with each write to a store; `None` where other processes may write to it.
    pub fn write_generation(&self) -> Option<u64> {
        self.stores.iter().map(Store::written).sum()
    }
}
