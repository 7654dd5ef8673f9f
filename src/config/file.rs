//! `config.toml`: what it may say. A key that is not known is an error with its line, because a misspelt key
//! that is ignored looks exactly like one that works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::folders::Root;
use super::runners::RunnerEntry;
use super::{Auth, Config, Database, Error, Switch};

/// Most bytes of a `config.toml`; nobody writes a larger one by hand.
const LARGEST: u64 = 1024 * 1024;

/// The file as it is written; every member may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Seconds that requests in flight may go on after a stop signal.
    grace_seconds: Option<u64>,
    /// A path, or `off`.
    socket: Option<String>,
    /// `sqlite:FILE` or `postgres://USER@HOST/NAME`; the hub's.
    database: Option<String>,
    #[serde(default)]
    http: Http,
    #[serde(default)]
    prompts: Prompts,
    #[serde(default)]
    agents: Agents,
    #[serde(default)]
    runners: Vec<RunnerEntry>,
    runner_cooldown_minutes: Option<u64>,
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

/// The folders that the file names, relative to the home or absolute.
#[derive(Debug, Default)]
pub(super) struct Folders {
    pub(super) prompts: Vec<Root>,
    pub(super) agents: Vec<PathBuf>,
}

impl File {
    /// Reads `config.toml` in `home`; a missing file says nothing.
    pub(super) fn read(home: &Path) -> Result<Self, Error> {
        let path = home.join("config.toml");
        let unreadable = |reason: String| Error::Unreadable { path: path.clone(), reason };
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error.to_string())),
            Ok(found) if !found.is_file() => return Err(unreadable("it is not a file".to_owned())),
            Ok(found) if found.len() > LARGEST => {
                return Err(unreadable(format!("it is larger than {LARGEST} bytes")));
            }
            Ok(_) => std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?,
        };
        toml::from_str(&text)
            .map_err(|error| Error::Invalid { path, reason: error.to_string().trim_end().to_owned() })
    }

    /// Puts what the file says into `config`; relative folders are below `config.home`.
    pub(super) fn apply(self, config: &mut Config) -> Result<Folders, Error> {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        set(&mut config.grace, self.grace_seconds.map(Duration::from_secs));
        if let Some(text) = self.socket {
            config.socket = match Switch::path(&text) {
                Switch::Off => None,
                Switch::On(path) => Some(config.home.join(path)),
            };
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
        config.runners.runners = self.runners;
        config.runners.runner_cooldown_minutes = self.runner_cooldown_minutes;
        set(&mut config.prompts.limits.file, self.prompts.largest_file_bytes);
        set(&mut config.prompts.limits.expansion, self.prompts.largest_expansion_bytes);
        set(&mut config.prompts.limits.files, self.prompts.most_files);
        set(&mut config.agents.foreign, self.agents.foreign);
        set(&mut config.agents.limits.file, self.agents.largest_file_bytes);
        set(&mut config.agents.limits.files, self.agents.most_files);
        let prompts = self.prompts.folders.into_iter();
        let prompts =
            prompts.map(|folder| Root { folder: Some(config.home.join(&folder)), ..Root::named(folder) });
        Ok(Folders { prompts: prompts.collect(), agents: self.agents.folders })
    }
}
