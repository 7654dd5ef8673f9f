//! The hub as a service of the user's session: the files of systemd and launchd.
//!
//! This module only creates text. The CLI writes the files and calls the managers.

mod launchd;
mod systemd;

use std::path::{Path, PathBuf};

use adjutant_base::config::env;
use adjutant_base::named_enum;

named_enum! {
    /// The service manager of this system.
    Manager {
        /// systemd's instance for the user.
        Systemd = "systemd",
        /// launchd of macOS.
        Launchd = "launchd",
    }
}

/// The first line of every file; a file without it was not written by this program.
pub(crate) const MARK: &str = "Written by `adjutant service install`";

/// Options of `serve`: a log as in a terminal, but no banner, because the banner has a link that logs in.
const OPTIONS: [&str; 4] = ["--quiet", "--log-level", "info", "--any-port"];

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// The home, if it is not the default.
    pub home: Option<PathBuf>,
    /// The hub's socket, if it has one: the manager listens on it, and the first client starts the hub.
    pub socket: Option<PathBuf>,
    /// The `PATH` of the user's terminal, because a manager's `PATH` is too short to find runners.
    pub path: Option<String>,
    /// The log file, for a manager without a journal.
    pub log: PathBuf,
}

/// A file for a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

named_enum! {
    /// The state of a file on disk, compared with the one that would be written.
    State {
        Missing = "missing",
        Current = "current",
        /// Written by another version, for another place, or with another `PATH`.
        Outdated = "outdated",
        /// Not written by this program.
        Foreign = "foreign",
    }
}

impl File {
    /// Compares the file with the one on disk.
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
    /// Returns the manager of this system.
    pub fn current() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns the files that the manager reads, with their paths; `None` without a home folder for them.
    pub fn files(self, setup: &Setup) -> Option<Vec<File>> {
        match self {
            Self::Systemd => Some(systemd::files(&env::configurations()?.join("systemd/user"), setup)),
            Self::Launchd => {
                Some(vec![launchd::file(&env::user_home()?.join("Library/LaunchAgents"), setup)])
            }
        }
    }

    /// Returns the commands that enable the service, each with its arguments; with `start` the hub runs at once.
    pub fn enable_commands(self, files: &[File], start: bool) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => systemd::enable_commands(files, start),
            Self::Launchd => launchd::enable_commands(files, start),
        }
    }

    /// Returns the commands that stop and disable the service, to be run before the files are removed.
    pub fn disable_commands(self, files: &[File]) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => systemd::disable_commands(files),
            Self::Launchd => launchd::disable_commands(files),
        }
    }

    /// Returns the command that succeeds if the service runs.
    pub fn status_command(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Systemd => &["systemctl", "--user", "is-active", "--quiet", systemd::SERVICE],
            Self::Launchd => &["launchctl", "list", launchd::LABEL],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Returns the command that succeeds if the manager starts the service with the session.
    pub fn enabled_command(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Systemd => &["systemctl", "--user", "is-enabled", systemd::SERVICE],
            Self::Launchd => &["launchctl", "list", launchd::LABEL],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Returns the links by which the manager finds the enabled files; they may be missing.
    pub fn links(self, files: &[File]) -> Vec<PathBuf> {
        match self {
            Self::Systemd => systemd::links(files),
            Self::Launchd => Vec::new(),
        }
    }

    /// Returns the log file, or the command that shows the log.
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
