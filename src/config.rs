//! The checked configuration: ready values, each from the command line, else `config.toml`, else a default.

pub(crate) mod accounts;
pub(crate) mod agents;
pub(crate) mod assistant;
pub(crate) mod channels;
pub(crate) mod clients;
pub(crate) mod codex;
mod database;
pub(crate) mod delegation;
pub(crate) mod delivery;
pub(crate) mod env;
mod file;
pub(crate) mod folders;
pub(crate) mod log;
pub(crate) mod popups;
pub(crate) mod prompts;
pub(crate) mod rooms;
pub(crate) mod runners;
pub(crate) mod settings;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agents::{AgentRoot, AgentsConfig, Program};
use assistant::AssistantConfig;
use codex::CodexConfig;
pub(crate) use database::Database;
use delegation::Delegation;
use folders::Root;
use prompts::PromptsConfig;

/// Who may use `/mcp` and the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Auth {
    /// A bearer token for `/mcp`, a login cookie for the console.
    Token,
    /// Nobody is asked; for loopback only.
    None,
}

/// The HTTP door's share.
#[derive(Clone, Debug)]
pub(crate) struct HttpConfig {
    /// `None` switches the door off.
    pub(crate) address: Option<SocketAddr>,
    /// Whether nobody chose the address, so that another port would do as well.
    pub(crate) default_address: bool,
    pub(crate) auth: Auth,
    /// The names under which a TLS-terminating proxy serves this listener; empty where there is none.
    pub(crate) behind_tls_proxy: Vec<String>,
    /// Bytes of one request body.
    pub(crate) body_limit: usize,
    /// Sessions at once; one more is refused with 503.
    pub(crate) sessions: usize,
    /// A session without a request in flight or an open stream ends after this.
    pub(crate) session_idle: Duration,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            address: Some(SocketAddr::from(([127, 0, 0, 1], 7437))),
            default_address: true,
            auth: Auth::Token,
            behind_tls_proxy: Vec::new(),
            body_limit: 16 * 1024 * 1024,
            sessions: 1024,
            session_idle: Duration::from_mins(30),
        }
    }
}

/// How long requests in flight may go on after end of input or a stop signal, unless `config.toml` says otherwise.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// `$ADJUTANT_HOME`, else `~/.adjutant`. Empty for a process that was given all it needs otherwise.
    pub(crate) home: PathBuf,
    pub(crate) prompts: PromptsConfig,
    pub(crate) agents: AgentsConfig,
    pub(crate) assistant: AssistantConfig,
    pub(crate) delegation: Delegation,
    pub(crate) delivery: delivery::Delivery,
    pub(crate) popups: popups::PopupsConfig,
    pub(crate) channels: channels::ChannelsConfig,
    pub(crate) codex: CodexConfig,
    /// The flight recorder's share.
    pub(crate) log: log::LogConfig,
    /// Which rooms the server of all rooms has, as the file said at the start.
    pub(crate) rooms: rooms::RoomsConfig,
    /// Where rows are kept.
    pub(crate) database: Database,
    /// The runners of `config.toml`; none means the usual ones.
    pub(crate) runners: runners::RunnersConfig,
    pub(crate) http: HttpConfig,
    /// The hub's Unix socket; `None` switches that door off.
    pub(crate) socket: Option<PathBuf>,
    /// How long requests in flight may go on after end of input or a stop signal.
    pub(crate) grace: Duration,
    /// Which settings somebody set, and where.
    pub(crate) said: settings::Said,
}

/// A setting that can be switched off.
#[derive(Clone, Debug)]
pub(crate) enum Switch<T> {
    Off,
    On(T),
}

impl<T> Switch<T> {
    fn into_option(self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::On(value) => Some(value),
        }
    }
}

impl Switch<SocketAddr> {
    /// Reads `off`, `ADDRESS:PORT`, or `localhost:PORT`.
    pub(crate) fn address(text: &str) -> Result<Self, Error> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address: SocketAddr = numeric
            .as_deref()
            .unwrap_or(text)
            .parse()
            .map_err(|_| Error::Address { text: text.to_owned() })?;
        Ok(Self::On(address))
    }
}

impl Switch<PathBuf> {
    /// Reads `off`, or a path.
    pub(crate) fn path(text: &str) -> Self {
        if text == "off" { Self::Off } else { Self::On(PathBuf::from(text)) }
    }
}

/// What the command line says; it wins over the file.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) home: Option<PathBuf>,
    pub(crate) http: Option<Switch<SocketAddr>>,
    pub(crate) socket: Option<Switch<PathBuf>>,
    pub(crate) auth: Option<Auth>,
    pub(crate) database: Option<Database>,
}

/// Where prompts and agents come from.
#[derive(Debug)]
pub(crate) enum Roots {
    /// The user's and the bundled ones: a hub belongs to no workspace.
    User,
    /// Those of the workspace around the current folder, then the user's and the bundled ones.
    Workspace,
    /// These folders alone, for whichever of the two is served.
    Exactly(Vec<PathBuf>),
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no home folder: neither --home nor ADJUTANT_HOME nor HOME is an absolute path")]
    NoHome,
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} is not a folder", home.display())]
    NoFolder { home: PathBuf },
    #[error("{} is not valid: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error("`{text}` is no database; expected sqlite:FILE or postgres://USER@HOST/NAME")]
    Database { text: String },
    #[error("`mail` must start with smtp://, smtps:// or folder:")]
    Mail,
    #[error("`{text}` is not an address; expected one like 127.0.0.1:7437, or `off`")]
    Address { text: String },
}

impl Error {
    /// Says what to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NoHome => "set ADJUTANT_HOME to the folder that adjutant may keep its files in",
            Self::Unreadable { .. } => "make it a file that you may read, or move it away",
            Self::NoFolder { .. } => "move it away, or choose another folder with --home or ADJUTANT_HOME",
            Self::Invalid { .. } => "correct it there; docs/configuration.md lists every setting",
            Self::Database { .. } => "such as sqlite:adjutant.db or postgres://me@localhost/adjutant",
            Self::Mail => "such as smtps://mail.example.org:465, or folder:outbox to write files",
            Self::Address { .. } => {
                "use 127.0.0.1:7437, 127.0.0.1:0 for any free port, or off for no door over HTTP"
            }
        }
    }
}

impl Config {
    /// Puts command line, `config.toml` and defaults together. Reads that one file, and looks for the
    /// workspace's folder when `roots` asks for it.
    pub(crate) fn load(overrides: Overrides, roots: Roots) -> Result<Self, Error> {
        let mut said = settings::Said { home: env::home_variable(), ..settings::Said::default() };
        said.flags.extend(overrides.home.is_some().then_some(("home", "--home")));
        let home = match (overrides.home, &roots) {
            // A server that was given its folders needs no home.
            (None, Roots::Exactly(_)) => env::home(),
            (named, _) => Some(home(named)?),
        };
        let in_workspace = matches!(roots, Roots::Workspace);
        let mut config = Self { grace: GRACE, ..Self::default() };
        let mut configured = file::Folders::default();
        if let Some(home) = home {
            config.socket = Some(usual_socket(&home));
            if matches!(roots, Roots::User) {
                config.database = Database::File(home.join("adjutant.db"));
                config.delegation.spool = Some(home.join("spool"));
                config.delivery.spool = Some(home.join("spool").join("speech"));
                config.delivery.speech = ["espeak-ng", "-v", "{voice}", "-w"].map(str::to_owned).to_vec();
                config.codex.spool = Some(home.join("spool"));
            }
            config.log.folder = Some(home.join("logs").join("recordings"));
            config.popups.passphrase = Some(home.join("desk-passphrase"));
            config.home = home;
            let file = file::File::read(&config.home)?;
            said.file.clone_from(&file.keys);
            configured = file.apply(&mut config)?;
        }
        for (set, key, flag) in [
            (overrides.http.is_some(), "http.address", "--http"),
            (overrides.socket.is_some(), "socket", "--socket"),
            (overrides.auth.is_some(), "http.auth", "--auth"),
            (overrides.database.is_some(), "database", "--database"),
        ] {
            said.flags.extend(set.then_some((key, flag)));
        }
        config.said = said;
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
                let own = |folder: &PathBuf| AgentRoot::named(folder.clone(), Program::Adjutant);
                config.agents.roots = folders.iter().map(own).collect();
                folders.into_iter().map(Root::named).collect()
            }
            Roots::User | Roots::Workspace => {
                let person = env::person();
                let agents = config.agents.user_roots(&config.home, person.as_deref(), configured.agents);
                config.agents.roots = agents;
                config.agents.trust = Some(config.home.join("trusted-agents"));
                let user = Root::standing("user", config.home.join("prompts"));
                [user].into_iter().chain(configured.prompts).chain([Root::bundled()]).collect()
            }
        };
        if in_workspace && let Some(folder) = workspace(&config.home) {
            config.prompts.enter_workspace(&folder);
            config.agents.enter_workspace(&folder);
        }
        Ok(config)
    }
}

/// Returns the home: the folder that was named, else `$ADJUTANT_HOME`, else `~/.adjutant`.
pub(crate) fn home(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    match named {
        Some(folder) => std::path::absolute(folder).map_err(|_| Error::NoHome),
        None => env::home().ok_or(Error::NoHome),
    }
}

/// Returns where the hub of a home listens unless `config.toml` says otherwise.
pub(crate) fn usual_socket(home: &Path) -> PathBuf {
    home.join("hub.sock")
}

/// What a relay needs to know of its hub.
#[derive(Debug)]
pub(crate) struct Hub {
    /// Where it listens; `None` when that door is switched off.
    pub(crate) socket: Option<PathBuf>,
    /// How long requests in flight may go on after end of input.
    pub(crate) grace: Duration,
}

/// Reads how the hub of `home` is reached: of `config.toml` no more than that.
pub(crate) fn hub(home: &Path) -> Result<Hub, Error> {
    file::hub(home)
}

/// What `config.toml` says while a hub runs.
#[derive(Debug)]
pub(crate) struct Again {
    /// The switches, which count at once.
    pub(crate) rooms: rooms::RoomsConfig,
    /// The keys of settings that were changed since the start, and count from the next one on.
    pub(crate) waiting: Vec<String>,
}

/// Reads `config.toml` again. Fails as a start with it would.
pub(crate) fn again(config: &Config) -> Result<Again, Error> {
    let file = file::File::read(&config.home)?;
    let waiting = settings::waiting(&config.said, &file.keys);
    let mut fresh = Config { home: config.home.clone(), ..Config::default() };
    file.apply(&mut fresh)?;
    Ok(Again { rooms: fresh.rooms, waiting })
}

/// Says which version of `config.toml` lies in `home`, by its time and length; `None` where there is none.
pub(crate) fn version(home: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(home.join("config.toml")).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Whether that is the home that a process finds without being told.
pub(crate) fn is_usual_home(home: &Path) -> bool {
    env::person().is_some_and(|person| person.join(".adjutant") == home)
}

/// Returns the nearest folder with `.adjutant/prompts` or `.adjutant/agents`, else with agents of another program, from the current one up to the repository's. Outside a
/// repository only the current one counts: what lies above may be anybody's.
///
/// `home` is the user's own folder, which is no project's.
pub(crate) fn workspace(home: &Path) -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?;
    let depth = current.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let folders = || current.ancestors().take(depth + 1);
    folders().find(|folder| is_own(folder, home)).or_else(|| folders().find(is_foreign)).map(Path::to_owned)
}

fn is_own(folder: &Path, home: &Path) -> bool {
    let own = folder.join(".adjutant");
    own != home && ["prompts", "agents"].iter().any(|room| own.join(room).is_dir())
}

fn is_foreign(folder: &&Path) -> bool {
    let mut places = Program::FOREIGN.into_iter().flat_map(Program::folders);
    env::person().as_deref() != Some(folder) && places.any(|place| folder.join(place).is_dir())
}
