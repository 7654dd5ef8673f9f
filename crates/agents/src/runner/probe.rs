//! Which program a runner is, and which version: for receipts and the doctor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::Runner;
use super::environment::{Environment, Own};
use super::text::shown;
use crate::config::env;
use crate::process::{self, Cause, Command, Exit, OnHubExit, Timeouts};

/// A CLI that is a script of an interpreter may take seconds for its version on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most bytes of what it answers.
const ANSWER: u64 = 4 * 1024;

/// Returns the executable of `runner`: where the configuration says, else the first on the PATH. A name with a slash
/// is a path itself.
pub(crate) fn find(runner: &Runner, configured: Option<&Path>) -> Option<PathBuf> {
    match configured {
        // Joined to each folder of the PATH, an absolute path is itself; what counts is whether it can be executed.
        Some(path) => path.to_str().and_then(env::on_path),
        None => env::on_path(runner.program()),
    }
}

/// The versions of programs that were asked, until their files change.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    known: Mutex<HashMap<PathBuf, (Stamp, Option<String>)>>,
}

/// What changes when a program is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Versions {
    /// Returns the first line that `program --version` says, asking once until the program changes; `None` where it
    /// does not say one. `scratch` is a folder that does not exist yet, for the run's own files; it is removed.
    pub(crate) async fn of(
        &self,
        program: &Path,
        environment: &Environment,
        scratch: &Path,
    ) -> Option<String> {
        // The launcher may be a link; the program behind it is what an upgrade replaces.
        let found = std::fs::metadata(program).ok()?;
        let stamp = Stamp { modified: found.modified().ok(), length: found.len() };
        if let Ok(known) = self.known.lock()
            && let Some((asked, version)) = known.get(program)
            && *asked == stamp
        {
            return version.clone();
        }
        let version = ask(program, environment, scratch).await;
        if let Ok(mut known) = self.known.lock() {
            known.insert(program.to_owned(), (stamp, version.clone()));
        }
        version
    }
}

async fn ask(program: &Path, environment: &Environment, scratch: &Path) -> Option<String> {
    let own = Own { names: &["CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"], prefixes: &[] };
    let command = Command {
        argv: vec![program.as_os_str().to_owned(), "--version".into()],
        workdir: PathBuf::from("/"),
        env: environment.share(own, &[], [("COPILOT_AUTO_UPDATE", "false")]),
        stdin: None,
        timeouts: Timeouts { wall: Some(PATIENCE), idle: None, first_output: None },
        grace: process::GRACE,
        spool: scratch.to_owned(),
        cap: ANSWER,
        on_hub_exit: OnHubExit::Kill,
    };
    let running = process::start(command).await.ok()?;
    let outcome = running.ended().await;
    let said = outcome.stdout.head(usize::try_from(ANSWER).unwrap_or(usize::MAX));
    // Nothing hangs on what is left in the folder of a question.
    let _ = std::fs::remove_dir_all(scratch);
    let good = outcome.cause == Cause::Exited && outcome.exit == Exit::Code(0);
    let line = shown(said.lines().find(|line| !line.trim().is_empty())?);
    (good && !line.is_empty()).then(|| line.chars().take(120).collect())
}
