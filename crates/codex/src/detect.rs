//! Which Codex is installed, and which back end it offers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::error::Error;
use super::settings::Back;
use crate::config::codex::{Backend, CodexConfig};
use crate::config::env;
use crate::process;

/// Most bytes of what it says of its version, and how long it may take: it may be a script of an interpreter.
const ANSWER: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(20);

/// The first version whose `app-server` speaks of threads and turns as the one here does, of those that were tried.
const FIRST_WITH_THREADS: (u32, u32) = (0, 92);
/// The first version without `mcp-server`.
const FIRST_WITHOUT_MCP: (u32, u32) = (0, 154);

/// A Codex that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) program: PathBuf,
    pub(crate) version: String,
    pub(crate) back: Back,
}

/// Remembers the answer until the program changes.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<(PathBuf, Option<SystemTime>, String)>>);

impl Probe {
    /// Finds Codex, asks its version, and chooses the back end: the configured one, else the newest that it offers.
    pub(super) async fn look(&self, config: &CodexConfig) -> Result<Installed, Error> {
        let missing = || Error::Missing { configured: config.program.clone() };
        let program = env::on_path(config.program.as_deref().unwrap_or("codex")).ok_or_else(missing)?;
        let modified = std::fs::metadata(&program).and_then(|found| found.modified()).ok();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let version = match known {
            Some((path, stamp, version)) if path == program && stamp == modified => version,
            _ => {
                let version = ask(&program).await.map_err(Error::Version)?;
                let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                *known = Some((program.clone(), modified, version.clone()));
                version
            }
        };
        let back = choose(config.backend, &version)?;
        Ok(Installed { program, version, back })
    }
}

/// Returns the environment of Codex: the person's own, for it is the person's own program; nothing of ours.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| name.to_string_lossy().starts_with("ADJUTANT_");
    env::snapshot().into_iter().filter(|(name, _)| !ours(name)).collect()
}

async fn ask(program: &Path) -> Result<String, String> {
    let argv = [program.as_os_str().to_owned(), "--version".into()];
    let said = process::short(&argv, Path::new("/"), &environment(), ANSWER, PATIENCE).await?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // `codex-cli 0.169.0`
    let version = text.split_whitespace().find(|word| number(word).is_some());
    version.map(ToOwned::to_owned).ok_or_else(|| format!("`{} --version` names none", program.display()))
}

fn choose(backend: Backend, version: &str) -> Result<Back, Error> {
    let number = number(version).unwrap_or(FIRST_WITHOUT_MCP);
    let lacks = |back: Back| Error::NoBack { version: version.to_owned(), back: back.as_str() };
    match backend {
        Backend::Auto | Backend::AppServer if number >= FIRST_WITH_THREADS => Ok(Back::AppServer),
        Backend::Auto => Ok(Back::McpServer),
        Backend::AppServer => Err(lacks(Back::AppServer)),
        Backend::McpServer if number < FIRST_WITHOUT_MCP => Ok(Back::McpServer),
        Backend::McpServer => Err(lacks(Back::McpServer)),
    }
}

fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Back, Backend, choose};

    #[test]
    fn the_back_end_is_what_the_version_offers() {
        let chosen = |backend, version| choose(backend, version).map_err(|error| error.to_string());
        assert_eq!(chosen(Backend::Auto, "0.169.0"), Ok(Back::AppServer));
        assert_eq!(chosen(Backend::Auto, "0.92.0"), Ok(Back::AppServer));
        assert_eq!(chosen(Backend::Auto, "0.77.1"), Ok(Back::McpServer));
        assert_eq!(chosen(Backend::McpServer, "0.153.4"), Ok(Back::McpServer));
        assert_eq!(
            chosen(Backend::McpServer, "0.154.0"),
            Err("codex 0.154.0 has no `mcp-server`".to_owned())
        );
        assert_eq!(chosen(Backend::AppServer, "0.77.1"), Err("codex 0.77.1 has no `app-server`".to_owned()));
        assert_eq!(chosen(Backend::Auto, "1.0.0-alpha.2"), Ok(Back::AppServer));
    }
}
