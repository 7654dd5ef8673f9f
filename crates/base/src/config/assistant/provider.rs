//! Providers of proposals: the model endpoint with its key, the runner, and their tables in `config.toml`.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::env;
use crate::config::error::Error;
use crate::config::loopback::is_loopback;
use crate::config::table::{self, Notation, PositiveSeconds, to_toml};

/// The largest file with a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// A provider of proposals for notifications. Every proposal is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Adviser {
    /// A server that speaks `OpenAI`'s chat completions.
    Endpoint,
    /// One of the coding-agent CLIs on this machine.
    Runner,
    /// The model of the client that plans, by a second call of the same tool.
    Client,
    /// The same model, by an MCP sampling request during the call; only for clients that declared sampling.
    Sampling,
}

/// A server that speaks `OpenAI`'s chat completions.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The URL before `/chat/completions`, without a slash at its end.
    pub base_url: String,
    pub model: String,
    pub key: Key,
    /// The timeout of one answer.
    pub timeout: Duration,
}

/// The place of an API key. Each use reads the key again, so that a new key needs no restart. No value here holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// The server requires no key.
    None,
    /// A variable of the environment.
    Variable(String),
    /// A file that holds only the key.
    File(PathBuf),
}

/// The runner that is asked for proposals.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The name in the runner configuration; `None` selects a runner by priority.
    pub name: Option<String>,
    pub model: Option<String>,
    /// The timeout of one answer.
    pub timeout: Duration,
}

/// The reason why a key cannot be read. It names the place of the key, never its content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the variable {0}, which should hold its key, is not set")]
    Unset(String),
    #[error("the file that should hold its key cannot be read")]
    Unreadable,
    #[error("its key is empty or has more than one line")]
    Unfit,
}

impl Default for Runner {
    fn default() -> Self {
        Self { name: None, model: None, timeout: Duration::from_mins(2) }
    }
}

impl Key {
    /// Reads the key; `None` if the server requires no key. Blocks on the disk for a small file.
    pub fn read(&self) -> Result<Option<String>, KeyError> {
        let text = match self {
            Self::None => return Ok(None),
            Self::Variable(name) => env::variable(name).ok_or_else(|| KeyError::Unset(name.clone()))?,
            Self::File(file) => {
                let found = std::fs::metadata(file).map_err(|_| KeyError::Unreadable)?;
                if !found.is_file() || found.len() > MAX_KEY_BYTES {
                    return Err(KeyError::Unreadable);
                }
                std::fs::read_to_string(file).map_err(|_| KeyError::Unreadable)?
            }
        };
        let key = text.trim();
        if key.is_empty() || key.chars().any(|c| c.is_control() || !c.is_ascii()) {
            return Err(KeyError::Unfit);
        }
        Ok(Some(key.to_owned()))
    }
}

table::table! {
    /// `[assistant.endpoint]` as it is written.
    pub(in crate::config) struct EndpointFile {
        /// The address before `/chat/completions`; required.
        base_url: String,
        /// The model's name; required.
        model: String,
        /// The environment variable with the key.
        key_env: Option<String>,
        /// The file with the key, relative to the home or absolute.
        key_file: Option<PathBuf>,
        /// How long one answer may take.
        timeout_seconds: Option<NonZeroU64>,
    }
}

table::table! {
    /// `[assistant.runner]` as it is written.
    #[derive(Default)]
    pub(in crate::config) struct RunnerFile {
        /// Name of the runner as in `[[runners]]`; by priority if not set.
        name: Option<String>,
        /// Name of the model; the runner's default if not set.
        model: Option<String>,
        /// Maximum seconds of one answer.
        timeout_seconds: Option<NonZeroU64>,
    }
}

/// The notation of [`Endpoint`].
pub(super) struct EndpointTable;

impl Notation<Option<Endpoint>> for EndpointTable {
    type Written = EndpointFile;

    fn read(written: EndpointFile, home: &Path) -> Result<Option<Endpoint>, Error> {
        written.checked(home).map(Some).map_err(|reason| Error::invalid(home, reason))
    }

    fn show(value: &Option<Endpoint>) -> String {
        let endpoint = value.as_ref();
        endpoint.map_or(String::new(), |endpoint| {
            format!("{:?}", format!("{} at {}", endpoint.model, endpoint.base_url))
        })
    }
}

/// The notation of [`Runner`].
pub(super) struct RunnerTable;

impl Notation<Runner> for RunnerTable {
    type Written = RunnerFile;

    fn read(written: RunnerFile, home: &Path) -> Result<Runner, Error> {
        let timeout = match written.timeout_seconds {
            Some(seconds) => PositiveSeconds::read(seconds, home)?,
            None => Runner::default().timeout,
        };
        Ok(Runner { name: written.name, model: written.model, timeout })
    }

    fn show(value: &Runner) -> String {
        to_toml(&value.name)
    }
}

impl EndpointFile {
    fn checked(self, home: &Path) -> Result<Endpoint, String> {
        let fault = |what: &str| Err(format!("assistant.endpoint.{what}"));
        let key = match (self.key_env, self.key_file) {
            (None, None) => Key::None,
            (Some(name), None) => Key::Variable(name),
            (None, Some(file)) => Key::File(home.join(file)),
            (Some(_), Some(_)) => return fault("key_env and key_file are two places for one key"),
        };
        let base_url = self.base_url.trim_end_matches('/').to_owned();
        let Some((scheme, rest)) =
            base_url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        else {
            return fault("base_url must start with http:// or https://");
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') || rest.contains(['?', '#']) {
            return fault("base_url must be a host and a path: set the key with key_env or key_file");
        }
        if scheme == "http" && key != Key::None && !is_loopback(authority) {
            return fault("base_url must start with https://, because a key is sent there");
        }
        if self.model.trim().is_empty() {
            return fault("model is empty");
        }
        let timeout = Duration::from_secs(self.timeout_seconds.map_or(30, NonZeroU64::get));
        Ok(Endpoint { base_url, model: self.model, key, timeout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_line_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let key = Key::File(file.clone());
        assert_eq!(key.read(), Err(KeyError::Unreadable));
        std::fs::write(&file, "sk-1\n").unwrap();
        assert_eq!(key.read(), Ok(Some("sk-1".to_owned())));
        for unfit in ["", " \n", "a\nb", "schlüssel"] {
            std::fs::write(&file, unfit).unwrap();
            assert_eq!(key.read(), Err(KeyError::Unfit), "{unfit:?}");
        }
        let unset = "ADJUTANT_TEST_NO_SUCH_KEY".to_owned();
        assert_eq!(Key::Variable(unset.clone()).read(), Err(KeyError::Unset(unset)));
        assert_eq!(Key::None.read(), Ok(None));
    }
}
