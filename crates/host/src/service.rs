//! The hub as a service of the user's session: the files of systemd and launchd.
//!
//! Text alone: the files are written and the managers are called by the command line.

mod launchd;
mod systemd;

use std::path::{Path, PathBuf};

use adjutant_base::config::env;

/// Who starts services here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// systemd's instance for the user.
    Systemd,
    /// macOS.
    Launchd,
}

/// The first line of every file; one without it is somebody's own.
pub const MARK: &str = "Written by `adjutant service install`";

/// How the hub is told to serve: a log as in a terminal, but no banner, for that holds a link which logs in.
const OPTIONS: [&str; 4] = ["--quiet", "--log-level", "info", "--any-port"];

/// What the hub is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// The home, where it is not the usual one.
    pub home: Option<PathBuf>,
    /// The hub's socket, if it has one: the manager listens on it, and the first client starts the hub.
    pub socket: Option<PathBuf>,
    /// The `PATH` of the person's terminal: a manager's own is too short to find runners on it.
    pub path: Option<String>,
    /// Where the log goes, for a manager without a journal.
    pub log: PathBuf,
}

/// A file for a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

/// How a file on the disk stands to the one that would be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Missing,
    Current,
    /// Written by another version, for another place, or with another `PATH`.
    Outdated,
    /// Not written by us.
    Foreign,
}

impl State {
    /// Returns the state as it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Current => "current",
            Self::Outdated => "outdated",
            Self::Foreign => "foreign",
        }
    }
}

impl File {
    /// Compares it with what is on the disk.
    pub fn state(&self) -> State {
        match std::fs::read_to_string(&self.path) {
            Err(_) if !self.path.exists() => State::Missing,
            Ok(text) if text == self.text => State::Current,
            Ok(text) if text.contains(MARK) => State::Outdated,
            Ok(_) | Err(_) => State::Foreign,
        }
    }
}

impl Manager {
    /// The one of this system.
    pub fn current() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns the service manager's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }

    /// Returns the files that it reads, and where. `None` when there is no home folder to put them into.
    pub fn files(self, setup: &Setup) -> Option<Vec<File>> {
        match self {
            Self::Systemd => Some(systemd::files(&env::configurations()?.join("systemd/user"), setup)),
            Self::Launchd => {
                Some(vec![launchd::file(&env::user_home()?.join("Library/LaunchAgents"), setup)])
            }
        }
    }

    /// Returns the commands that take the files up, each with its arguments; with `start` the hub runs at once.
    pub fn enable_commands(self, files: &[File], start: bool) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => systemd::enable_commands(files, start),
            Self::Launchd => launchd::enable_commands(files, start),
        }
    }

    /// Returns the commands that end the service and forget it, to be run before the files go.
    pub fn disable_commands(self, files: &[File]) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => systemd::disable_commands(files),
            Self::Launchd => launchd::disable_commands(files),
        }
    }

    /// Returns the command that ends well when the service runs.
    pub fn status_command(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Systemd => &["systemctl", "--user", "is-active", "--quiet", systemd::SERVICE],
            Self::Launchd => &["launchctl", "list", launchd::LABEL],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Says where the log is.
    pub fn log(self, setup: &Setup) -> String {
        match self {
            Self::Systemd => format!("journalctl --user --unit {}", systemd::SERVICE),
            Self::Launchd => setup.log.display().to_string(),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
