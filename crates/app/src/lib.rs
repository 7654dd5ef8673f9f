//! The application: builds the rooms on the ground, knows who is connected, and owns shutdown.

pub(crate) mod activity;
mod approvals;
pub(crate) mod awaited;
pub(crate) mod calendars;
pub(crate) mod clients;
mod doorbell;
mod facts;
pub(crate) mod health;
mod notices;
mod people;
pub(crate) mod planning;
pub(crate) mod rooms;
pub(crate) mod timeline;
pub(crate) mod waiting;
mod workspaces;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use tokio_util::sync::CancellationToken;

use crate::agents::{Agents, Selector};
use crate::assistant::Assistant;
use crate::codex::Codex;
use crate::config::Config;
use crate::events::{Event, Events};
use crate::popups::Popups;
use crate::prompts::Prompts;
use crate::recorder::Recorder;
use crate::store::Store;
use activity::{Activity, What};
use awaited::Awaited;
use clients::Clients;
use facts::Known;
use people::People;
use rooms::Rooms;
use workspaces::Workspaces;

/// Everything a door needs, shared by all connections of one process.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) events: Events,
    pub(crate) agents: Agents,
    pub(crate) assistant: Assistant,
    pub(crate) codex: Codex,
    pub(crate) popups: Popups,
    pub(crate) prompts: Prompts,
    pub(crate) recorder: Recorder,
    /// Who is connected now.
    pub(crate) clients: Arc<Clients>,
    /// What happened lately, newest last, bounded.
    pub(crate) activity: Arc<Activity>,
    /// Where others can reach this process.
    pub(crate) listening: Arc<Listening>,
    /// Which rooms the server of all rooms has now.
    pub(crate) rooms: Arc<Rooms>,
    /// What calls wait for now.
    pub(crate) awaited: Arc<Awaited>,
    /// Where rows are kept: those of tasks may be apart.
    stores: Vec<Store>,
    workspaces: Workspaces,
    facts: Arc<Known>,
    people: Arc<People>,
    /// The folder of the project whose files come first, for clients that work in one.
    pub(crate) workspace: Option<PathBuf>,
    /// Cancelled once, when the process is to stop in order.
    pub(crate) shutdown: CancellationToken,
    pub(crate) started: SystemTime,
}

/// Where this process listens: each door sets its own once it is bound, and the console shows it.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    /// The bound address, so port 0 is already a real port.
    pub(crate) http: OnceLock<SocketAddr>,
    /// The console's origin as a browser names it: the proxy's where there is one.
    pub(crate) console: OnceLock<String>,
    pub(crate) socket: OnceLock<PathBuf>,
}

impl App {
    /// Builds the rooms. Reads nothing from disk yet: a room loads when it is first asked.
    /// `selector` chooses the runners of delegated tasks.
    pub(crate) fn new(config: Config, selector: Selector) -> Arc<Self> {
        let events = Events::new();
        let prompts = Prompts::new(config.prompts.roots.clone(), config.prompts.limits);
        let store = Store::new(config.database.clone());
        let assistant = Assistant::new(store.clone(), events.clone());
        let recorder = Recorder::new(config.log.clone());
        let codex = Codex::new(config.codex.clone(), store.clone(), events.clone(), recorder.clone());
        let popups = Popups::new(config.popups.clone(), store.clone(), events.clone());
        let tasks = config.delegation.database.clone().map(Store::new);
        let stores = [store.clone()].into_iter().chain(tasks.clone()).collect();
        let tasks = tasks.unwrap_or(store);
        let settings = config.delegation.clone();
        let agents = Agents::new(&config.agents, settings, selector, tasks, events.clone(), recorder.clone());
        let activity = Arc::<Activity>::default();
        Arc::new(Self {
            clients: Arc::new(Clients::new(events.clone(), activity.clone())),
            activity,
            listening: Arc::default(),
            rooms: Arc::new(Rooms::new(config.rooms.clone())),
            awaited: Arc::default(),
            stores,
            workspaces: Workspaces::default(),
            facts: Arc::default(),
            people: Arc::default(),
            workspace: None,
            shutdown: CancellationToken::new(),
            started: SystemTime::now(),
            config,
            events,
            agents,
            assistant,
            codex,
            popups,
            prompts,
            recorder,
        })
    }

    /// Watches the files of prompts and agents until shutdown; what changes becomes an event, and prompts a line of
    /// the activity too.
    pub(crate) async fn watch_files(self: Arc<Self>) {
        let mut prompts = self.prompts.changes();
        let mut agents = self.agents.definitions().changes();
        self.prompts.watch();
        self.agents.definitions().watch();
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                Ok(()) = prompts.changed() => {
                    self.activity.record("hub", What::PromptsChanged);
                    self.events.send(Event::PromptsChanged);
                }
                Ok(()) = agents.changed() => self.events.send(Event::AgentsChanged),
                else => return,
            }
        }
    }

    /// Returns what tells a connection from all others, also from those of an earlier hub.
    pub(crate) fn session_of(&self, client: u64) -> String {
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{}-{client}", started.as_millis())
    }

    /// Returns a number that is another one after each change of a store; nothing where others may change one too.
    pub(crate) fn written(&self) -> Option<u64> {
        self.stores.iter().map(Store::written).sum()
    }

    /// Returns the application of each workspace that has a client now, by folder.
    pub(crate) fn workspaces(&self) -> Vec<Arc<Self>> {
        self.workspaces.all()
    }
}
