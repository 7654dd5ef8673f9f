//! Probes the program and the version of a runner, for run reports and the doctor.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::Runner;
use super::environment::{RunnerEnv, RunnerVariables};
use super::sanitize::display_text;
use adjutant_base::config::env;
use adjutant_host::process::{self, Cause, Command, Exit, OnHubExit, Timeouts};

/// How long a version command may take: an interpreted CLI needs seconds on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Most bytes of the answer.
const MAX_ANSWER: u64 = 4 * 1024;

/// Returns the executable of `runner`: the configured one, else the first on the `PATH`. A name with a slash is a path
/// itself.
pub fn find(runner: &Runner, configured: Option<&Path>) -> Option<PathBuf> {
    match configured {
        // A search joins the path to each folder of the `PATH`, which changes no absolute path, and checks that it is
        // executable.
        Some(path) => path.to_str().and_then(env::find_in_path),
        None => env::find_in_path(runner.program()),
    }
}

/// The file of a program when it was probed, and the version that it printed.
type ProbedVersion = (Stamp, Option<String>);

/// The versions of probed programs, until their files change.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// By the command that prints the version.
    known: Mutex<HashMap<Vec<OsString>, ProbedVersion>>,
}

/// The metadata of a program's file that changes when the program is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Versions {
    /// Returns the first line that the version command of `runner` prints; `None` without a command or a line. The
    /// command runs again only after the runner's `program` has changed. `scratch` is a folder that does not exist yet,
    /// for the run's own files; it is removed.
    pub(crate) async fn version(
        &self,
        runner: &Runner,
        program: &Path,
        environment: &RunnerEnv,
        scratch: &Path,
    ) -> Option<String> {
        let argv = runner.version_command(program)?;
        // `metadata` follows a link of the launcher, because an upgrade replaces the program that it points to.
        let found = std::fs::metadata(program).ok()?;
        let stamp = Stamp { modified: found.modified().ok(), length: found.len() };
        if let Ok(known) = self.known.lock()
            && let Some((asked, version)) = known.get(&argv)
            && *asked == stamp
        {
            return version.clone();
        }
        let version = probe(argv.clone(), environment, scratch).await;
        if let Ok(mut known) = self.known.lock() {
            known.insert(argv, (stamp, version.clone()));
        }
        version
    }
}

async fn probe(argv: Vec<OsString>, environment: &RunnerEnv, scratch: &Path) -> Option<String> {
    let variables =
        RunnerVariables { names: &["CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"], prefixes: &[] };
    let command = Command {
        argv,
        workdir: PathBuf::from("/"),
        env: environment.for_runner(variables, &[], [("COPILOT_AUTO_UPDATE", "false")]),
        stdin: None,
        timeouts: Timeouts { wall: Some(VERSION_TIMEOUT), idle: None, first_output: None },
        grace: process::GRACE,
        spool: scratch.to_owned(),
        cap: MAX_ANSWER,
        on_hub_exit: OnHubExit::Kill,
        is_wrapped: false,
    };
    let running = process::start(command).await.ok()?;
    let outcome = running.ended().await;
    let answer = outcome.stdout.head(usize::try_from(MAX_ANSWER).unwrap_or(usize::MAX));
    // The result of the probe does not depend on its files.
    let _ = std::fs::remove_dir_all(scratch);
    let good = outcome.cause == Cause::Exited && outcome.exit == Exit::Code(0);
    let line = display_text(answer.lines().find(|line| !line.trim().is_empty())?);
    (good && !line.is_empty()).then(|| line.chars().take(120).collect())
}
