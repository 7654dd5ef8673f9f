//! Whom the assistant asks before it plans, in which order, and how long its calls may take.

mod file;

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::env;
pub(super) use file::File;

/// The largest file with a key, in bytes.
const LARGEST_KEY: u64 = 16 * 1024;

/// The assistant's share.
#[derive(Clone, Debug)]
pub(crate) struct AssistantConfig {
    /// How long a call of a tool may take, without the time in which somebody is asked.
    pub(crate) call_timeout: Duration,
    /// Who is asked what to tell before an event, in this order; nobody leaves it to the policy.
    pub(crate) advisers: Vec<Adviser>,
    /// How long one planning may wait for them all together.
    pub(crate) planning: Duration,
    /// Occurrences that one planning asks about, the nearest first.
    pub(crate) questions: usize,
    /// There wherever `advisers` names it.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) runner: Runner,
}

/// Somebody who may propose what is told. Whatever they propose is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Adviser {
    /// A server that speaks `OpenAI`'s chat completions.
    Endpoint,
    /// One of the coding-agent CLIs on this machine.
    Runner,
    /// The model of the client that plans, by a second call of the same tool.
    Client,
    /// The same model, by a request of ours while the call waits; for clients that declared it.
    Sampling,
}

/// A server that speaks `OpenAI`'s chat completions.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Without a slash at its end; `/chat/completions` follows.
    pub(crate) base_url: String,
    pub(crate) model: String,
    pub(crate) key: Key,
    /// For one answer.
    pub(crate) timeout: Duration,
}

/// Where a key stands. It is read when it is needed, so a new one needs no restart, and no value here holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The server wants none.
    None,
    /// A variable of the environment.
    Variable(String),
    /// A file that holds nothing else.
    File(PathBuf),
}

/// Which of the coding-agent CLIs is asked.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// As the runner configuration names it; nobody leaves it to the priorities.
    pub(crate) name: Option<String>,
    pub(crate) model: Option<String>,
    /// For one answer.
    pub(crate) timeout: Duration,
}

/// Why there is no key; names where it should be and nothing of what is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("the variable {0}, which should hold its key, is not set")]
    Unset(String),
    #[error("the file that should hold its key cannot be read")]
    Unreadable,
    #[error("its key is empty, or no text of one line")]
    Unfit,
}

impl Default for AssistantConfig {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(30),
            advisers: Vec::new(),
            planning: Duration::from_secs(45),
            questions: 10,
            endpoint: None,
            runner: Runner { name: None, model: None, timeout: Duration::from_mins(2) },
        }
    }
}

impl Key {
    /// Reads the key; `None` where there is none to be sent. Blocks on the disk for a small file.
    pub(crate) fn read(&self) -> Result<Option<String>, KeyFault> {
        let text = match self {
            Self::None => return Ok(None),
            Self::Variable(name) => env::variable(name).ok_or_else(|| KeyFault::Unset(name.clone()))?,
            Self::File(file) => {
                let found = std::fs::metadata(file).map_err(|_| KeyFault::Unreadable)?;
                if !found.is_file() || found.len() > LARGEST_KEY {
                    return Err(KeyFault::Unreadable);
                }
                std::fs::read_to_string(file).map_err(|_| KeyFault::Unreadable)?
            }
        };
        let key = text.trim();
        if key.is_empty() || key.chars().any(|c| c.is_control() || !c.is_ascii()) {
            return Err(KeyFault::Unfit);
        }
        Ok(Some(key.to_owned()))
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
        assert_eq!(key.read(), Err(KeyFault::Unreadable));
        std::fs::write(&file, "sk-1\n").unwrap();
        assert_eq!(key.read(), Ok(Some("sk-1".to_owned())));
        for unfit in ["", " \n", "a\nb", "schlüssel"] {
            std::fs::write(&file, unfit).unwrap();
            assert_eq!(key.read(), Err(KeyFault::Unfit), "{unfit:?}");
        }
        let unset = "ADJUTANT_TEST_NO_SUCH_KEY".to_owned();
        assert_eq!(Key::Variable(unset.clone()).read(), Err(KeyFault::Unset(unset)));
        assert_eq!(Key::None.read(), Ok(None));
    }
}
