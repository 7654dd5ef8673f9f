//! Sandbox of a run: below the level `full` the kernel holds the permission, whatever the runner's program does.

mod bubblewrap;
mod runner_files;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::definition::Permission;
use crate::runner::Runner;
use crate::runner::environment::RunnerEnv;
use adjutant_base::config::delegation::{Delegation, Network, SandboxMode};
use adjutant_base::config::env;
use adjutant_host::process;
pub(crate) use bubblewrap::SandboxedRun;

/// Timeout of a probe: two empty sandboxes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes of a probe's output.
const MAX_OUTPUT: u64 = 4096;

adjutant_base::named_enum! {
    /// The holder of the permission level of a run.
    Holder {
        /// The kernel, in the hub's sandbox.
        Kernel = "kernel (bubblewrap)",
        /// The sandbox that the runner itself sets up.
        Runner = "the runner's own sandbox",
        /// Nothing but the tools that the runner offers its model.
        Word = "the runner's word",
    }
}

/// The sandbox of all runs of a hub.
#[derive(Debug)]
pub struct Sandbox {
    mode: SandboxMode,
    required: bool,
    network: Network,
    /// The hub's own folder, if it has one.
    hub: Option<PathBuf>,
    environment: RunnerEnv,
    /// The program, once a probe has passed: alone, and with the same sandbox in it.
    plain: OnceCell<PathBuf>,
    nested: OnceCell<PathBuf>,
}

impl Sandbox {
    /// Does no I/O: the program is probed before the first run that needs it.
    pub fn new(settings: &Delegation) -> Self {
        Self {
            mode: settings.sandbox,
            required: settings.require_sandbox,
            network: settings.sandbox_network,
            hub: settings.home.clone(),
            environment: RunnerEnv::capture(),
            plain: OnceCell::new(),
            nested: OnceCell::new(),
        }
    }

    /// Returns the holder of `permission` on `runner`; `None` at `full`, which nothing holds. The error is the reason of
    /// a refusal, a sentence fragment.
    pub async fn holder(&self, runner: &Runner, permission: Permission) -> Result<Option<Holder>, String> {
        if permission == Permission::Full {
            return Ok(None);
        }
        let found = match self.mode {
            SandboxMode::None => Err("`sandbox` is `none`".to_owned()),
            SandboxMode::Auto | SandboxMode::Bubblewrap => self.program(runner).await,
        };
        match found {
            Ok(_) => Ok(Some(Holder::Kernel)),
            Err(reason) if self.is_required() => Err(reason),
            Err(_) if matches!(runner, Runner::Codex) => Ok(Some(Holder::Runner)),
            Err(_) => Ok(Some(Holder::Word)),
        }
    }

    /// Returns whether a run is refused where the sandbox does not work.
    pub fn is_required(&self) -> bool {
        self.required || self.mode == SandboxMode::Bubblewrap
    }

    /// Returns the program of the sandbox for `runner` after a probe on this machine, or why there is none. A failed
    /// probe is repeated at the next call.
    pub async fn program(&self, runner: &Runner) -> Result<&Path, String> {
        // Codex makes a sandbox of its own in this one. The machine may allow one and not two.
        let is_nested = matches!(runner, Runner::Codex);
        let probed = if is_nested { &self.nested } else { &self.plain };
        probed.get_or_try_init(|| self.probe(is_nested)).await.map(PathBuf::as_path)
    }

    /// Returns the command line that runs `argv` in the sandbox. Call it after [`Self::holder`].
    pub(crate) async fn wrap(
        &self,
        run: &SandboxedRun<'_>,
        argv: Vec<OsString>,
    ) -> Result<Vec<OsString>, String> {
        let program = self.program(run.runner).await?;
        let mut line = bubblewrap::command_line(program, run, self.network, self.hub.as_deref())?;
        line.extend(argv);
        Ok(line)
    }

    async fn probe(&self, is_nested: bool) -> Result<PathBuf, String> {
        let program = env::find_in_path("bwrap").ok_or("bubblewrap is not installed")?;
        let argv = bubblewrap::probe(&program, is_nested);
        let env = self.environment.for_check();
        let found = process::output(&argv, Path::new("/"), &env, MAX_OUTPUT, PROBE_TIMEOUT).await?;
        if found.code == Some(0) {
            return Ok(program);
        }
        let stderr = String::from_utf8_lossy(&found.stderr);
        let reason = stderr.lines().next().unwrap_or("it says nothing");
        let what = if is_nested { "no sandbox within bubblewrap works" } else { "bubblewrap does not work" };
        Err(format!("{what} on this machine: {}", crate::runner::sanitize::display_text(reason)))
    }
}
