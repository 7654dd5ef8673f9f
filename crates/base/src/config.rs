//! The checked configuration: ready values, each from the command line, else `config.toml`, else a default.

pub mod agents;
pub mod assistant;
pub mod channels;
pub mod client_dirs;
pub mod codex;
mod database;
pub mod delegation;
pub mod effective;
pub mod env;
mod error;
mod file;
pub mod folders;
mod http;
mod loopback;
pub mod network;
pub mod notification_delivery;
pub mod openid;
pub mod permissions;
pub mod program_logins;
pub mod prompts;
pub mod questions;
pub mod recorder;
pub mod runners;
pub mod sources;
mod switch;
mod table;
pub mod toolsets;
pub mod traces;
pub mod workers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::text::shell_quoting;

use agents::{AgentRoot, AgentsConfig, Program};
use assistant::AssistantConfig;
use channels::ChannelsConfig;
use codex::CodexConfig;
pub use database::Database;
use database::DatabaseUrl;
use delegation::Delegation;
pub use error::Error;
use folders::Root;
pub use http::{Auth, HttpConfig, local};
pub use loopback::is_loopback;
use notification_delivery::Delivery;
use openid::OpenIdConfig;
use permissions::{ApprovalRule, PermissionsConfig};
use prompts::PromptsConfig;
use questions::QuestionsConfig;
use recorder::RecorderConfig;
use runners::{RunnerEntry, RunnersConfig};
use sources::SettingSources;
pub use switch::Switch;
use table::{Notation, Seconds};
use toolsets::ToolsetsConfig;
use traces::TracesConfig;
use workers::WorkersConfig;

/// Default time for requests in flight after end of input or a stop signal.
pub const GRACE: Duration = Duration::from_secs(5);

/// The notation of the hub's socket: a path, or `off`.
struct SocketPath;

impl Notation<Option<PathBuf>> for SocketPath {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Option<PathBuf>, Error> {
        Ok(Switch::path(&written).into_option().map(|path| home.join(path)))
    }

    fn show(value: &Option<PathBuf>) -> String {
        format!("{:?}", value.as_deref().map_or("off".to_owned(), env::abbreviate))
    }
}

table::settings! {
    /// The checked configuration.
    #[derive(Clone, Debug)]
    pub struct Config, file File, section "" {
        /// Seconds that requests in flight may take after a stop signal.
        grace: Duration = GRACE, grace_seconds as Seconds;
        /// Unix socket through which clients reach the hub.
        socket: Option<PathBuf> = None, socket as SocketPath;
        /// Database of the hub.
        database: Database = Database::Memory, database as DatabaseUrl;
    }
    others {
        /// `$ADJUTANT_HOME`, else `~/.adjutant`. Empty for a process that needs none.
        home: PathBuf = PathBuf::new();
        /// The id of the machine, which a hub reads in its home. Empty for other processes.
        machine: String = String::new();
        prompts: PromptsConfig = PromptsConfig::default();
        agents: AgentsConfig = AgentsConfig::default();
        assistant: AssistantConfig = AssistantConfig::default();
        delegation: Delegation = Delegation::default();
        delivery: Delivery = Delivery::default();
        permissions: PermissionsConfig = PermissionsConfig::default();
        questions: QuestionsConfig = QuestionsConfig::default();
        channels: ChannelsConfig = ChannelsConfig::default();
        codex: CodexConfig = CodexConfig::default();
        recorder: RecorderConfig = RecorderConfig::default();
        /// The switches of toolsets, as the file had them at the start.
        toolsets: ToolsetsConfig = ToolsetsConfig::default();
        /// The runners of `config.toml`; none means every known one.
        runners: RunnersConfig = RunnersConfig::default();
        http: HttpConfig = HttpConfig::default();
        openid: OpenIdConfig = OpenIdConfig::default();
        workers: WorkersConfig = WorkersConfig::default();
        traces: TracesConfig = TracesConfig::default();
        /// The sources of the values.
        sources: SettingSources = SettingSources::default();
    }
    tables {
        http: http::File;
        openid: openid::Section;
        toolsets: toolsets::File;
        clients: BTreeMap<String, toolsets::Client>;
        approval_rules: Vec<ApprovalRule>;
        permissions: permissions::File;
        questions: questions::File;
        prompts: prompts::File;
        agents: agents::File;
        assistant: assistant::File;
        tasks: delegation::File;
        codex: codex::File;
        log: recorder::File;
        runners: Vec<RunnerEntry>;
        runner_cooldown_minutes: Option<u64>;
        notifications: notification_delivery::File;
        notify: channels::File;
        ntfy: Option<channels::NtfyConfig>;
        workers: workers::File;
        traces: traces::File;
    }
}

impl File {
    /// Applies all sections to `config`; relative paths are below `config.home`.
    fn apply_all(mut self, config: &mut Config) -> Result<(), Error> {
        let home = config.home.clone();
        let invalid = |reason| Error::invalid(&home, reason);
        std::mem::take(&mut self.http).apply(&mut config.http, &home)?;
        std::mem::take(&mut self.openid).apply(&mut config.openid, &home)?;
        config.openid.fault().map_or(Ok(()), |reason| Err(invalid(reason)))?;
        std::mem::take(&mut self.questions).apply(&mut config.questions, &home)?;
        config.questions.fault().map_or(Ok(()), |reason| Err(invalid(reason)))?;
        std::mem::take(&mut self.permissions).apply(&mut config.permissions, &home)?;
        config.permissions.rules = std::mem::take(&mut self.approval_rules);
        std::mem::take(&mut self.prompts).apply(&mut config.prompts, &home)?;
        std::mem::take(&mut self.agents).apply(&mut config.agents, &home)?;
        std::mem::take(&mut self.assistant).apply(&mut config.assistant, &home)?;
        assistant::check(&config.assistant).map_err(invalid)?;
        std::mem::take(&mut self.tasks).apply(&mut config.delegation, &home)?;
        std::mem::take(&mut self.codex).apply(&mut config.codex, &home)?;
        std::mem::take(&mut self.workers).apply(&mut config.workers, &home)?;
        std::mem::take(&mut self.traces).apply(&mut config.traces, &home)?;
        std::mem::take(&mut self.log).apply(&mut config.recorder, &home)?;
        std::mem::take(&mut self.notifications).apply(&mut config.delivery, &home)?;
        std::mem::take(&mut self.notify).apply(&mut config.channels, &home)?;
        if let Some(reason) = self.ntfy.as_ref().and_then(channels::NtfyConfig::invalid_reason) {
            return Err(invalid(reason));
        }
        config.channels.ntfy = self.ntfy.take();
        config.toolsets = toolsets::read(&self.toolsets, std::mem::take(&mut self.clients));
        config.runners = RunnersConfig {
            runners: std::mem::take(&mut self.runners),
            runner_cooldown_minutes: self.runner_cooldown_minutes,
        };
        // A server without a hub keeps its rows in memory, although the file names the database of the hub.
        let hub = !matches!(config.database, Database::Memory);
        Self { database: self.database.filter(|_| hub), ..self }.apply(config, &home)
    }
}

/// Values of the command line; they win over the file.
#[derive(Debug, Default)]
pub struct Overrides {
    pub home: Option<PathBuf>,
    pub http: Option<Switch<SocketAddr>>,
    pub socket: Option<Switch<PathBuf>>,
    pub auth: Option<Auth>,
    pub database: Option<Database>,
}

/// The folders of prompts and agents.
#[derive(Debug)]
pub enum Roots {
    /// Those of the user and the bundled ones, because a hub belongs to no workspace.
    User,
    /// Those of the workspace around the current folder, then those of the user and the bundled ones.
    Workspace,
    /// Only these folders, which have the prompts or the agents that the process serves.
    Exactly(Vec<PathBuf>),
}

impl Config {
    /// Returns the defaults in this home, as far as a client of its running hub needs them.
    pub fn of_home(home: PathBuf) -> Self {
        Self { socket: Some(default_socket(&home)), home, ..Self::default() }
    }

    /// Combines command line, `config.toml` and defaults. Reads that one file, and searches for the workspace if
    /// `roots` asks for it.
    pub fn load(overrides: Overrides, roots: Roots) -> Result<Self, Error> {
        let mut sources = SettingSources { home: env::home_variable(), ..SettingSources::default() };
        sources.flags.extend(overrides.home.is_some().then_some(("home", "--home")));
        let home = match (overrides.home, &roots) {
            // A server with named folders needs no home.
            (None, Roots::Exactly(_)) => env::home(),
            (named, _) => Some(home(named)?),
        };
        let in_workspace = matches!(roots, Roots::Workspace);
        let mut config = Self::default();
        if let Some(home) = home {
            config.socket = Some(default_socket(&home));
            if matches!(roots, Roots::User) {
                config.database = Database::File(default_database(&home));
                config.delegation.spool = Some(spool(&home));
                config.delivery.spool = Some(spool(&home).join("speech"));
                config.delivery.speech = ["espeak-ng", "-v", "{voice}", "-w"].map(str::to_owned).to_vec();
                config.codex.spool = Some(spool(&home));
                config.codex.worktrees = Some(home.join("worktrees"));
            }
            config.delegation.home = Some(home.clone());
            config.recorder.folder = Some(home.join("logs").join("recordings"));
            config.questions.passphrase = Some(home.join("approval-passphrase"));
            config.home = home;
            let file = read(&config.home)?;
            sources.file = file.keys;
            config.http.default_address = !sources.file.contains_key("http.address");
            file.parsed.apply_all(&mut config)?;
        }
        for (set, key, flag) in [
            (overrides.http.is_some(), "http.address", "--http"),
            (overrides.socket.is_some(), "socket", "--socket"),
            (overrides.auth.is_some(), "http.auth", "--auth"),
            (overrides.database.is_some(), "database", "--database"),
        ] {
            sources.flags.extend(set.then_some((key, flag)));
        }
        config.sources = sources;
        if let Some(address) = overrides.http {
            config.http.address = address.into_option();
            config.http.default_address = false;
        }
        if let Some(socket) = overrides.socket {
            config.socket = match socket {
                Switch::Off => None,
                Switch::On(path) => Some(std::path::absolute(&path).unwrap_or(path)),
            };
        }
        config.database = overrides.database.unwrap_or(config.database);
        config.http.auth = overrides.auth.unwrap_or(config.http.auth);
        config.prompts.roots = match roots {
            Roots::Exactly(folders) => {
                let root = |folder: &PathBuf| AgentRoot::named(folder.clone(), Program::Adjutant);
                config.agents.roots = folders.iter().map(root).collect();
                folders.into_iter().map(Root::named).collect()
            }
            Roots::User | Roots::Workspace => {
                config.agents.add_user_roots(&config.home, env::user_home().as_deref());
                config.agents.trust = Some(config.home.join("trusted-agents"));
                let user = Root::optional("user", config.home.join("prompts"));
                let configured = std::mem::take(&mut config.prompts.roots);
                [user].into_iter().chain(configured).chain([Root::bundled()]).collect()
            }
        };
        if in_workspace && let Some(folder) = workspace(&config.home) {
            config.prompts.enter_workspace(&folder);
            config.agents.enter_workspace(&folder);
        }
        Ok(config)
    }
}

/// Returns the home: the named folder, else `$ADJUTANT_HOME`, else `~/.adjutant`.
pub fn home(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    match named {
        Some(folder) => std::path::absolute(folder).map_err(|_| Error::NoHome),
        None => env::home().ok_or(Error::NoHome),
    }
}

/// Returns the beginning of each command for the hub in `home`: the program, with `--home` unless it is the default.
pub fn command_prefix(home: &Path) -> String {
    if self::home(None).is_ok_and(|default| default == home) {
        return "adjutant".to_owned();
    }
    let short = env::with_tilde(home);
    // A shell replaces no tilde in quotes.
    let home = match short.strip_prefix('~').filter(|below| shell_quoting::quoted(below) == *below) {
        Some(_) => short,
        None => shell_quoting::quoted(&home.to_string_lossy()),
    };
    format!("adjutant --home {home}")
}

/// The text of a `config.toml`, parsed.
#[derive(Default)]
struct Parsed {
    parsed: File,
    /// The keys in it with their values, as [`effective::Setting::key`].
    keys: BTreeMap<String, String>,
}

/// Reads `config.toml` in `home`; a missing file sets nothing.
fn read(home: &Path) -> Result<Parsed, Error> {
    let Some((path, text)) = file::read(home)? else { return Ok(Parsed::default()) };
    Ok(Parsed { parsed: file::parse(path, &text)?, keys: sources::parse_keys(&text) })
}

/// Returns the file of the database in the home `home`.
pub fn default_database(home: &Path) -> PathBuf {
    home.join("adjutant.db")
}

/// Returns the socket of a home's hub if `config.toml` does not set it.
pub fn default_socket(home: &Path) -> PathBuf {
    home.join("hub.sock")
}

/// Returns the folder with the files of the runs of a home's hub.
pub fn spool(home: &Path) -> PathBuf {
    home.join("spool")
}

/// Returns the folder of the worker of a home. It has the place of a hub's home for the runs of the worker.
pub fn worker(home: &Path) -> PathBuf {
    home.join("worker")
}

/// Returns the path of a second name of the socket. Its folder has nothing else, so that a sandbox can have it.
pub fn linked_socket(home: &Path) -> PathBuf {
    default_socket(&spool(home).join("hub"))
}

/// Settings of a relay.
#[derive(Debug)]
pub struct Hub {
    /// The hub's socket; `None` if it is switched off.
    pub socket: Option<PathBuf>,
    /// Time for requests in flight after end of input.
    pub grace: Duration,
}

/// Reads the settings of a relay from the `config.toml` of `home`. The hub validates the other keys.
pub fn hub(home: &Path) -> Result<Hub, Error> {
    #[derive(Default, serde::Deserialize)]
    struct Keys {
        grace_seconds: Option<u64>,
        socket: Option<String>,
    }
    let keys: Keys =
        file::read(home)?.map_or_else(|| Ok(Keys::default()), |(path, text)| file::parse(path, &text))?;
    let file = File { grace_seconds: keys.grace_seconds, socket: keys.socket, ..File::default() };
    let mut config = Config { socket: Some(default_socket(home)), ..Config::default() };
    file.apply(&mut config, home)?;
    Ok(Hub { socket: config.socket, grace: config.grace })
}

/// The settings of a changed `config.toml`.
#[derive(Debug)]
pub struct Reloaded {
    /// The switches, which take effect at once.
    pub toolsets: ToolsetsConfig,
    /// The runners, which count from the next run on.
    pub runners: RunnersConfig,
    /// The switch and the rules of permission requests, which take effect at once.
    pub permissions: PermissionsConfig,
    /// Keys of settings that were changed since the start and take effect at the next start.
    pub pending_restart: Vec<String>,
}

/// Reads `config.toml` again. Fails as a start with it would.
pub fn reload(config: &Config) -> Result<Reloaded, Error> {
    let file = read(&config.home)?;
    let pending_restart = config.sources.pending_restart(&file.keys);
    let mut fresh = Config { home: config.home.clone(), ..Config::default() };
    file.parsed.apply_all(&mut fresh)?;
    let Config { toolsets, runners, permissions, .. } = fresh;
    Ok(Reloaded { toolsets, runners, permissions, pending_restart })
}

/// Returns the version of the `config.toml` in `home` by its time and length; `None` if there is none.
pub fn version(home: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(home.join("config.toml")).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Returns whether `home` is the default home.
pub fn is_default_home(home: &Path) -> bool {
    env::user_home().is_some_and(|user_home| user_home.join(".adjutant") == home)
}

/// Returns the folder of the prompts and agents that come first: the nearest with `.adjutant/prompts` or
/// `.adjutant/agents`, else with agents of another program, from the current one up to the repository's. Without any it
/// is the repository's, because such a folder may be made while a client is connected. Outside a repository only the
/// current folder counts: the folders above it may belong to another user.
///
/// `home` is the user's own folder, which is not a project's.
pub fn workspace(home: &Path) -> Option<PathBuf> {
    workspace_of(&std::env::current_dir().ok()?, home)
}

/// Returns [`workspace`] as it is for a client that works in `folder`.
pub fn workspace_of(folder: &Path, home: &Path) -> Option<PathBuf> {
    let (folders, _) = candidates(folder);
    let own = || folders.iter().find(|folder| is_native(folder, home));
    let may_become_own = |folder: &&PathBuf| {
        let is_home = env::user_home().as_ref() == Some(folder) || folder.join(".adjutant") == home;
        !is_home && folder.parent().is_some()
    };
    let any = || folders.last().filter(may_become_own);
    own().or_else(|| folders.iter().find(|folder| is_foreign(folder))).or_else(any).cloned()
}

/// Returns the folder of the project around the current folder; `None` outside a project.
pub fn project(home: &Path) -> Option<PathBuf> {
    let (folders, in_repository) = candidates(&std::env::current_dir().ok()?);
    let repository = || folders.last().filter(|folder| in_repository && folder.join(".adjutant") != home);
    folders.iter().find(|folder| is_native(folder, home)).or_else(repository).cloned()
}

/// Returns the folders from `folder` up to the repository's, and true inside a repository.
fn candidates(folder: &Path) -> (Vec<PathBuf>, bool) {
    let depth = folder.ancestors().position(is_repository);
    let folders = folder.ancestors().take(depth.unwrap_or(0) + 1).map(Path::to_owned);
    (folders.collect(), depth.is_some())
}

/// Returns whether `folder` is the top of a working tree of git. An empty `.git`, which a sandbox may leave in a shared folder
/// such as `/tmp`, makes no project there, and git does not take it for one.
pub fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

fn is_native(folder: &Path, home: &Path) -> bool {
    let configuration = folder.join(".adjutant");
    configuration != home && ["prompts", "agents"].iter().any(|name| configuration.join(name).is_dir())
}

fn is_foreign(folder: &Path) -> bool {
    let mut places = Program::FOREIGN.into_iter().flat_map(Program::folders);
    env::user_home().as_deref() != Some(folder) && places.any(|place| folder.join(place).is_dir())
}
