//! `config.toml`: what it may say. A key that is not known is an error with its line, because a misspelt key
//! that is ignored looks exactly like one that works.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::channels;
use super::codex::{Backend, CodexConfig};
use super::delegation::Delegation;
use super::delivery::{self, Delivery, Mail};
use super::folders::Root;
use super::log::{Edge, LogConfig};
use super::rooms;
use super::runners::RunnerEntry;
use super::settings;
use super::{Auth, Config, Database, Error, Switch};

/// Most bytes of a `config.toml`; nobody writes a larger one by hand.
const LARGEST: u64 = 1024 * 1024;

/// As much of the file as a relay needs. What else it says, and what may be wrong with that, is the hub's affair.
#[derive(Debug, Default, Deserialize)]
struct OfHub {
    grace_seconds: Option<u64>,
    socket: Option<String>,
}

/// Reads how the hub of a home is reached.
pub(super) fn hub(home: &Path) -> Result<super::Hub, Error> {
    let file = read(home)?.map_or_else(|| Ok(OfHub::default()), |(path, text)| parse(path, &text))?;
    Ok(super::Hub {
        socket: file.socket.map_or_else(|| Some(super::usual_socket(home)), |text| socket(home, &text)),
        grace: file.grace_seconds.map_or(super::GRACE, Duration::from_secs),
    })
}

/// Reads the setting `socket`.
fn socket(home: &Path, text: &str) -> Option<PathBuf> {
    Switch::path(text).into_option().map(|path| home.join(path))
}

/// Returns the path and the text of `config.toml` in `home`; nothing where there is none.
fn read(home: &Path) -> Result<Option<(PathBuf, String)>, Error> {
    let path = home.join("config.toml");
    let read = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(Error::NoFolder { home: home.to_owned() });
        }
        Err(error) => Err(error.to_string()),
        Ok(found) if !found.is_file() => Err("it is not a file".to_owned()),
        Ok(found) if found.len() > LARGEST => Err(format!("it is larger than {LARGEST} bytes")),
        Ok(_) => std::fs::read_to_string(&path).map_err(|error| error.to_string()),
    };
    match read {
        Ok(text) => Ok(Some((path, text))),
        Err(reason) => Err(Error::Unreadable { path, reason }),
    }
}

fn parse<T: DeserializeOwned>(path: PathBuf, text: &str) -> Result<T, Error> {
    toml::from_str(text)
        .map_err(|error| Error::Invalid { path, reason: error.to_string().trim_end().to_owned() })
}

/// The file as it is written; every member may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The keys that stand in it, with what it says there.
    #[serde(skip)]
    pub(super) keys: BTreeMap<String, String>,
    /// Seconds that requests in flight may go on after a stop signal.
    grace_seconds: Option<u64>,
    /// A path, or `off`.
    socket: Option<String>,
    /// `sqlite:FILE` or `postgres://USER@HOST/NAME`; the hub's.
    database: Option<String>,
    #[serde(default)]
    http: Http,
    #[serde(default)]
    rooms: rooms::File,
    #[serde(default)]
    clients: BTreeMap<String, rooms::Client>,
    #[serde(default)]
    popups: super::popups::File,
    #[serde(default)]
    prompts: Prompts,
    #[serde(default)]
    agents: Agents,
    #[serde(default)]
    assistant: super::assistant::File,
    #[serde(default)]
    tasks: Tasks,
    #[serde(default)]
    codex: Codex,
    #[serde(default)]
    log: Log,
    #[serde(default)]
    runners: Vec<RunnerEntry>,
    runner_cooldown_minutes: Option<u64>,
    #[serde(default)]
    notifications: Notifications,
    #[serde(default)]
    notify: Notify,
    phone: Option<channels::Phone>,
}

/// `[notify]`: who is told that something waits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notify {
    /// Whether the desktop shows notifications.
    desktop: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notifications {
    /// `smtp://USER:PASSWORD@HOST:PORT`, `smtps://…`, or `folder:DIR`.
    mail: Option<String>,
    /// The sender, as `Name <address>`.
    mail_from: Option<String>,
    phone: Option<Phone>,
    /// A program and its arguments; the file and the text are added.
    speech: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phone {
    base_url: String,
    account: String,
    token: String,
    from: String,
}

impl Notifications {
    fn apply(self, delivery: &mut Delivery, home: &Path) -> Result<(), Error> {
        if let Some(text) = self.mail {
            delivery.mail = Some(match text.strip_prefix("folder:") {
                Some(folder) => Mail::Folder(home.join(folder)),
                None if text.starts_with("smtp://") || text.starts_with("smtps://") => Mail::Server(text),
                None => return Err(Error::Mail),
            });
        }
        if let Some(phone) = self.phone {
            delivery.phone = Some(delivery::Phone {
                base_url: phone.base_url.trim_end_matches('/').to_owned(),
                account: phone.account,
                token: phone.token,
                from: phone.from,
            });
        }
        delivery.mail_from = self.mail_from;
        set(&mut delivery.speech, self.speech);
        Ok(())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Http {
    /// `127.0.0.1:7437`, or `off`.
    address: Option<String>,
    auth: Option<Auth>,
    /// The host names under which a TLS-terminating proxy serves this listener.
    behind_tls_proxy: Option<Vec<String>>,
    body_limit_bytes: Option<usize>,
    sessions: Option<usize>,
    session_idle_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompts {
    /// More folders, between the user's own and the bundled prompts.
    #[serde(default)]
    folders: Vec<PathBuf>,
    largest_file_bytes: Option<usize>,
    largest_expansion_bytes: Option<usize>,
    most_files: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agents {
    /// More folders, behind the user's own.
    #[serde(default)]
    folders: Vec<PathBuf>,
    /// Whether the definitions of other programs are read where they lie.
    foreign: Option<bool>,
    largest_file_bytes: Option<usize>,
    most_files: Option<usize>,
}

/// `[codex]`: how its sessions are driven.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Codex {
    /// A path, or a name on the PATH.
    program: Option<String>,
    /// `auto`, `app-server`, `mcp-server`.
    backend: Option<Backend>,
    approval_timeout_seconds: Option<u64>,
    /// How long a thread without a turn keeps its process.
    idle_seconds: Option<u64>,
    max_sessions: Option<usize>,
}

impl Codex {
    fn apply(self, config: &mut CodexConfig) {
        config.program = self.program;
        set(&mut config.backend, self.backend);
        set(&mut config.approval_timeout, self.approval_timeout_seconds.map(Duration::from_secs));
        set(&mut config.idle, self.idle_seconds.map(Duration::from_secs));
        set(&mut config.most_sessions, self.max_sessions);
    }
}

/// `[log]`: what the flight recorder keeps.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    /// `codex`, `http`, `runner`, `socket`, `stdio`; an empty list records nothing.
    record: Option<Vec<Edge>>,
    largest_recording_bytes: Option<u64>,
    keep_bytes: Option<u64>,
    keep_count: Option<usize>,
    keep_days: Option<u64>,
}

impl Log {
    fn apply(self, config: &mut LogConfig) {
        set(&mut config.record, self.record);
        set(&mut config.largest, self.largest_recording_bytes);
        set(&mut config.keep_bytes, self.keep_bytes);
        set(&mut config.keep_count, self.keep_count);
        let days = |days: u64| Duration::from_hours(days.saturating_mul(24));
        set(&mut config.keep_for, self.keep_days.map(days));
    }
}

/// `[tasks]`: what delegated tasks may cost.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tasks {
    /// Runs at once; on one runner; on the runners named.
    max_running: Option<u32>,
    max_running_per_runner: Option<u32>,
    #[serde(default)]
    per_runner: BTreeMap<String, u32>,
    /// How long a call waits for its task before its answer is a handle, where the client would not wait for ever.
    patience_seconds: Option<u64>,
    max_waiting: Option<u32>,
    max_waiting_per_caller: Option<u32>,
    largest_task_bytes: Option<usize>,
    timeout_seconds: Option<u64>,
    longest_timeout_seconds: Option<u64>,
    /// 0 is no limit.
    idle_timeout_seconds: Option<u64>,
    first_output_timeout_seconds: Option<u64>,
    check_timeout_seconds: Option<u64>,
    max_checks: Option<usize>,
    /// Delegations within delegations, and tasks below one of a client.
    max_depth: Option<u32>,
    max_descendants: Option<u32>,
    /// Bytes of each stream of a run that are kept on disk, and of a patch in a receipt.
    spool_bytes: Option<u64>,
    largest_patch_bytes: Option<usize>,
    keep_worktrees: Option<bool>,
    keep_fetched_days: Option<u64>,
    keep_unfetched_days: Option<u64>,
    keep_count: Option<u32>,
}

impl Tasks {
    fn apply(self, limits: &mut Delegation) {
        let seconds = |value: Option<u64>| value.map(Duration::from_secs);
        let days = |value: Option<u64>| value.map(|days| Duration::from_hours(days.saturating_mul(24)));
        // A limit of 0 would let nothing run, ever.
        let some = |value: Option<u32>| value.map(|value| value.max(1));
        set(&mut limits.max_running, some(self.max_running));
        set(&mut limits.max_running_per_runner, some(self.max_running_per_runner));
        limits.per_runner = self.per_runner;
        set(&mut limits.patience, seconds(self.patience_seconds));
        set(&mut limits.max_waiting, self.max_waiting);
        set(&mut limits.max_waiting_per_caller, self.max_waiting_per_caller);
        set(&mut limits.largest_task, self.largest_task_bytes);
        set(&mut limits.timeout, seconds(self.timeout_seconds));
        set(&mut limits.longest_timeout, seconds(self.longest_timeout_seconds));
        let limit = |value: Duration| Some(value).filter(|value| !value.is_zero());
        set(&mut limits.idle_timeout, seconds(self.idle_timeout_seconds).map(limit));
        set(&mut limits.first_output_timeout, seconds(self.first_output_timeout_seconds).map(limit));
        set(&mut limits.check_timeout, seconds(self.check_timeout_seconds));
        set(&mut limits.max_checks, self.max_checks);
        set(&mut limits.max_depth, self.max_depth);
        set(&mut limits.max_descendants, self.max_descendants);
        set(&mut limits.spool_cap, self.spool_bytes);
        set(&mut limits.largest_patch, self.largest_patch_bytes);
        set(&mut limits.keep_worktrees, self.keep_worktrees);
        set(&mut limits.keep_delivered, days(self.keep_fetched_days));
        set(&mut limits.keep_undelivered, days(self.keep_unfetched_days));
        set(&mut limits.keep_count, self.keep_count);
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// The folders that the file names, relative to the home or absolute.
#[derive(Debug, Default)]
pub(super) struct Folders {
    pub(super) prompts: Vec<Root>,
    pub(super) agents: Vec<PathBuf>,
}

impl File {
    /// Reads `config.toml` in `home`; a missing file says nothing.
    pub(super) fn read(home: &Path) -> Result<Self, Error> {
        let Some((path, text)) = read(home)? else { return Ok(Self::default()) };
        let file: Self = parse(path, &text)?;
        Ok(Self { keys: settings::keys(&text), ..file })
    }

    /// Puts what the file says into `config`; relative folders are below `config.home`.
    pub(super) fn apply(self, config: &mut Config) -> Result<Folders, Error> {
        set(&mut config.grace, self.grace_seconds.map(Duration::from_secs));
        if let Some(text) = self.socket {
            config.socket = socket(&config.home, &text);
        }
        // A server without a hub keeps its rows to itself, whatever the hub's place is.
        if let (Some(text), Database::File(_)) = (self.database, &config.database) {
            config.database = Database::parse(&text, &config.home)?;
        }
        if let Some(text) = self.http.address {
            config.http.address = Switch::address(&text)?.into_option();
            config.http.default_address = false;
        }
        set(&mut config.http.auth, self.http.auth);
        set(&mut config.http.behind_tls_proxy, self.http.behind_tls_proxy);
        set(&mut config.http.body_limit, self.http.body_limit_bytes);
        set(&mut config.http.sessions, self.http.sessions);
        set(&mut config.http.session_idle, self.http.session_idle_seconds.map(Duration::from_secs));
        set(&mut config.channels.desktop, self.notify.desktop);
        let invalid = |reason: String| Error::Invalid { path: config.home.join("config.toml"), reason };
        if let Some(reason) = self.phone.as_ref().and_then(channels::Phone::fault) {
            return Err(invalid(reason));
        }
        self.assistant.apply(&mut config.assistant, &config.home).map_err(invalid)?;
        config.channels.phone = self.phone;
        config.runners.runners = self.runners;
        config.runners.runner_cooldown_minutes = self.runner_cooldown_minutes;
        set(&mut config.prompts.limits.file, self.prompts.largest_file_bytes);
        set(&mut config.prompts.limits.expansion, self.prompts.largest_expansion_bytes);
        set(&mut config.prompts.limits.files, self.prompts.most_files);
        set(&mut config.agents.foreign, self.agents.foreign);
        set(&mut config.agents.limits.file, self.agents.largest_file_bytes);
        set(&mut config.agents.limits.files, self.agents.most_files);
        self.popups.apply(&mut config.popups);
        self.tasks.apply(&mut config.delegation);
        self.notifications.apply(&mut config.delivery, &config.home)?;
        self.codex.apply(&mut config.codex);
        self.log.apply(&mut config.log);
        config.rooms = rooms::read(&self.rooms, self.clients);
        let prompts = self.prompts.folders.into_iter();
        let prompts =
            prompts.map(|folder| Root { folder: Some(config.home.join(&folder)), ..Root::named(folder) });
        Ok(Folders { prompts: prompts.collect(), agents: self.agents.folders })
    }
}
