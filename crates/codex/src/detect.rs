//! Detection of the installed Codex and of the protocol that it offers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::error::Error;
use super::thread_options::Backend;
use adjutant_base::config::codex::{Backend as Choice, CodexConfig};
use adjutant_base::config::env;
use adjutant_base::mutex::lock;
use adjutant_host::process;

/// Bytes of the answer to `--version`, and the time for it: the program may be a script of an interpreter.
const MAX_VERSION_BYTES: u64 = 4096;
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The first tested version with the threads and turns of `app-server` that are used here.
const FIRST_WITH_THREADS: (u32, u32) = (0, 92);
/// The first version without `mcp-server`.
const FIRST_WITHOUT_MCP: (u32, u32) = (0, 154);
/// The first tested version without the approval policy `on-failure`, and in `mcp-server` without `untrusted`.
const FIRST_WITHOUT_ON_FAILURE: (u32, u32) = (0, 153);
/// The approval policy that the contract has and later versions have not, and the one that they have instead.
const ON_FAILURE: &str = "on-failure";
const ON_REQUEST: &str = "on-request";

/// An installed Codex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub program: PathBuf,
    pub version: String,
    pub backend: Backend,
}

/// Caches the version until the program changes.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<(PathBuf, Option<SystemTime>, String)>>);

impl Probe {
    /// Finds Codex, asks for its version, and chooses the protocol: the configured one, otherwise the newest that it
    /// offers.
    pub(super) async fn detect(&self, config: &CodexConfig) -> Result<Installed, Error> {
        let missing = || Error::Missing { configured: config.program.clone() };
        let program = env::find_in_path(config.program.as_deref().unwrap_or("codex")).ok_or_else(missing)?;
        let modified = std::fs::metadata(&program).and_then(|found| found.modified()).ok();
        let known = lock(&self.0).clone();
        let version = match known {
            Some((path, stamp, version)) if path == program && stamp == modified => version,
            _ => {
                let version = ask(&program).await.map_err(Error::Version)?;
                let mut known = lock(&self.0);
                *known = Some((program.clone(), modified, version.clone()));
                version
            }
        };
        let backend = choose(config.backend, &version)?;
        Ok(Installed { program, version, backend })
    }

    /// Returns whether the version that was asked last takes an approval policy; before that, whether the latest does.
    pub(super) fn takes_policy(&self, choice: Choice, policy: &str) -> bool {
        let known = lock(&self.0);
        let backend = |version: &String| choose(choice, version).unwrap_or(Backend::AppServer);
        known
            .as_ref()
            .map_or(policy != ON_FAILURE, |(.., version)| takes_policy(version, backend(version), policy))
    }
}

impl Installed {
    /// Returns the approval policy for one of the contract. `on-failure` is `on-request` where Codex has it no longer.
    /// `untrusted` is not replaced, because every other policy asks less.
    pub(super) fn approval_policy(&self, policy: String) -> String {
        if policy == ON_FAILURE && !takes_policy(&self.version, self.backend, &policy) {
            return ON_REQUEST.to_owned();
        }
        policy
    }
}

fn takes_policy(version: &str, backend: Backend, policy: &str) -> bool {
    match policy {
        ON_REQUEST | "never" => true,
        "untrusted" if backend == Backend::AppServer => true,
        _ => number(version).is_some_and(|number| number < FIRST_WITHOUT_ON_FAILURE),
    }
}

/// Returns the environment of Codex: the user's own, because it is the user's program, without the variables of
/// Adjutant.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| name.to_string_lossy().starts_with("ADJUTANT_");
    env::snapshot().into_iter().filter(|(name, _)| !ours(name)).collect()
}

async fn ask(program: &Path) -> Result<String, String> {
    let argv = [program.as_os_str().to_owned(), "--version".into()];
    let said =
        process::output(&argv, Path::new("/"), &environment(), MAX_VERSION_BYTES, VERSION_TIMEOUT).await?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // `codex-cli 0.169.0`
    let version = text.split_whitespace().find(|word| number(word).is_some());
    version
        .map(ToOwned::to_owned)
        .ok_or_else(|| format!("`{} --version` prints no version", program.display()))
}

fn choose(choice: Choice, version: &str) -> Result<Backend, Error> {
    let number = number(version).unwrap_or(FIRST_WITHOUT_MCP);
    let lacks = |back: Backend| Error::NoBack { version: version.to_owned(), back: back.name() };
    match choice {
        Choice::Auto | Choice::AppServer if number >= FIRST_WITH_THREADS => Ok(Backend::AppServer),
        Choice::Auto => Ok(Backend::McpServer),
        Choice::AppServer => Err(lacks(Backend::AppServer)),
        Choice::McpServer if number < FIRST_WITHOUT_MCP => Ok(Backend::McpServer),
        Choice::McpServer => Err(lacks(Backend::McpServer)),
    }
}

/// Returns the first two numbers of a version.
pub(super) fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Backend, Choice, choose};

    #[test]
    fn the_back_end_is_what_the_version_offers() {
        let chosen = |choice, version| choose(choice, version).map_err(|error| error.to_string());
        assert_eq!(chosen(Choice::Auto, "0.169.0"), Ok(Backend::AppServer));
        assert_eq!(chosen(Choice::Auto, "0.92.0"), Ok(Backend::AppServer));
        assert_eq!(chosen(Choice::Auto, "0.77.1"), Ok(Backend::McpServer));
        assert_eq!(chosen(Choice::McpServer, "0.153.4"), Ok(Backend::McpServer));
        assert_eq!(chosen(Choice::McpServer, "0.154.0"), Err("codex 0.154.0 has no `mcp-server`".to_owned()));
        assert_eq!(chosen(Choice::AppServer, "0.77.1"), Err("codex 0.77.1 has no `app-server`".to_owned()));
        assert_eq!(chosen(Choice::Auto, "1.0.0-alpha.2"), Ok(Backend::AppServer));
    }
}
