//! Sandbox of a run: below the level `full` the kernel holds the permission, not the runner's program.

mod bubblewrap;
mod mounts;
mod network;
mod podman;
mod runner_files;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::definition::Permission;
use crate::runner::Runner;
use crate::runner::environment::RunnerEnv;
use adjutant_base::config::delegation::{Delegation, SandboxMode};
use adjutant_base::config::env;
use adjutant_base::config::network::Network;
use adjutant_host::process::{self, Cause, Command, Exit, OnHubExit, Timeouts};
use adjutant_host::temporary_folder;
pub(crate) use mounts::SandboxedRun;
pub(crate) use network::RunNetwork;
pub(crate) use podman::RunRoot;

/// Timeout of a probe: two empty sandboxes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes of a probe's output, and of its reason.
const MAX_OUTPUT: u64 = 64 * 1024;
const MAX_REASON: usize = 4096;

adjutant_base::named_enum! {
    /// The holder of the permission level of a run.
    Holder {
        /// The kernel, in a sandbox of bubblewrap.
        Bubblewrap = "kernel (bubblewrap)",
        /// The kernel, in a container of podman.
        Podman = "kernel (podman)",
        /// The sandbox that the runner itself sets up.
        Runner = "the runner's own sandbox",
        /// Nothing but the tools that the runner offers its model.
        Word = "the runner's word",
    }
}

impl Holder {
    /// Returns whether the kernel holds the level, in the hub's sandbox.
    pub(crate) fn is_kernel(self) -> bool {
        matches!(self, Self::Bubblewrap | Self::Podman)
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
    /// The program, once a probe of a sandbox has passed (`plain`), or of a sandbox within a sandbox (`nested`).
    plain: OnceCell<PathBuf>,
    nested: OnceCell<PathBuf>,
}

impl Sandbox {
    /// Does no I/O: the program is probed before the first run that needs it.
    pub fn new(settings: &Delegation) -> Self {
        Self {
            mode: settings.sandbox,
            required: settings.require_sandbox,
            network: settings.network.clone(),
            hub: settings.home.clone(),
            environment: RunnerEnv::capture(),
            plain: OnceCell::new(),
            nested: OnceCell::new(),
        }
    }

    /// Returns the holder of `permission` on `runner`, with these `networks` of the agent's file and of the tasks above;
    /// `None` at `full`, which nothing holds. The error is the reason of a refusal, a sentence fragment.
    pub async fn holder(
        &self,
        runner: &Runner,
        permission: Permission,
        networks: &[Network],
    ) -> Result<Option<Holder>, String> {
        if permission == Permission::Full {
            return Ok(None);
        }
        let is_all = [&self.network].into_iter().chain(networks).all(|rule| *rule == Network::All);
        match self.program(runner).await {
            Ok(_) if self.mode == SandboxMode::Podman => Ok(Some(Holder::Podman)),
            Ok(_) => Ok(Some(Holder::Bubblewrap)),
            Err(reason) if self.is_required() => Err(reason),
            Err(reason) if !is_all => Err(format!("its `network` is limited, and {reason}")),
            Err(_) if matches!(runner, Runner::Codex) => Ok(Some(Holder::Runner)),
            Err(_) => Ok(Some(Holder::Word)),
        }
    }

    /// Returns the network of a run; `networks` are those of the agent's file and of the tasks above, `hosts` those of the
    /// runner's configuration.
    pub(crate) fn network(&self, networks: Vec<Network>, runner: &Runner, hosts: &[String]) -> RunNetwork {
        RunNetwork::new(self.network.clone(), networks, runner, hosts)
    }

    /// Returns whether a run is refused where the sandbox does not work.
    pub fn is_required(&self) -> bool {
        self.required || matches!(self.mode, SandboxMode::Bubblewrap | SandboxMode::Podman)
    }

    /// Returns the program of the sandbox for `runner` after a probe on this machine, or why there is none. A failed
    /// probe is repeated at the next call.
    pub async fn program(&self, runner: &Runner) -> Result<&Path, String> {
        // Codex makes a sandbox of its own in this one. The machine may allow one and not two.
        let is_nested = matches!(runner, Runner::Codex);
        let probed = if is_nested { &self.nested } else { &self.plain };
        probed.get_or_try_init(|| self.probe(is_nested)).await.map(PathBuf::as_path)
    }

    /// Returns the command line that runs `argv` in the sandbox, and a folder that is kept until the end of the run. Call
    /// it after [`Self::holder`].
    pub(crate) async fn wrap(
        &self,
        mut run: SandboxedRun<'_>,
        argv: Vec<OsString>,
    ) -> Result<(Vec<OsString>, Option<RunRoot>), String> {
        let program = self.program(run.runner).await?;
        let inside = process::inside_command(run.socket)
            .map_err(|error| format!("this program has no path that a sandbox can have: {error}"))?;
        run.visible.extend(inside.first().map(PathBuf::from));
        let hub = self.hub.as_deref();
        let run_root = (self.mode == SandboxMode::Podman).then(RunRoot::new);
        let mut line = if let Some(run_root) = &run_root {
            // The agent must not write it, so it is next to the folder that the agent can write.
            let state = run.scratch.with_extension("podman");
            podman::command_line(program, &run, hub, (&state, run_root))?
        } else {
            bubblewrap::command_line(program, &run, hub)?
        };
        if run_root.is_some() || run.socket.is_some() {
            line.extend(inside);
        }
        line.extend(argv);
        Ok((line, run_root))
    }

    async fn probe(&self, is_nested: bool) -> Result<PathBuf, String> {
        let missing = |name: &str| format!("{name} is not installed");
        let bubblewrap = env::find_in_path("bwrap").ok_or_else(|| missing("bubblewrap"));
        let folder = temporary_folder::path();
        let run_root = RunRoot::new();
        let (name, program, argv) = match self.mode {
            SandboxMode::None => return Err("`sandbox` is `none`".to_owned()),
            SandboxMode::Auto | SandboxMode::Bubblewrap => {
                let program = bubblewrap?;
                let argv = bubblewrap::probe(&program, is_nested);
                ("bubblewrap", program, argv)
            }
            SandboxMode::Podman => {
                let program = env::find_in_path("podman").ok_or_else(|| missing("podman"))?;
                let nested = if is_nested { Some(bubblewrap?) } else { None };
                let argv = podman::probe(&program, nested.as_deref(), (&folder, &run_root))?;
                ("podman", program, argv)
            }
        };
        // Podman leaves a process that keeps its namespaces. The supervisor of the probe ends it.
        let command = Command {
            argv,
            workdir: "/".into(),
            env: self.environment.for_check(),
            stdin: None,
            timeouts: Timeouts { wall: Some(PROBE_TIMEOUT), ..Timeouts::default() },
            grace: Duration::ZERO,
            spool: folder.join("probe"),
            cap: MAX_OUTPUT,
            on_hub_exit: OnHubExit::Kill,
            is_wrapped: false,
        };
        let outcome = match process::start(command).await {
            Ok(running) => Ok(running.ended().await),
            Err(error) => Err(error.to_string()),
        };
        let stderr = outcome.as_ref().map(|outcome| outcome.stderr.head(MAX_REASON)).unwrap_or_default();
        let _ = std::fs::remove_dir_all(folder);
        let outcome = outcome?;
        if outcome.exit == Exit::Code(0) {
            return Ok(program);
        }
        let reason = if matches!(outcome.cause, Cause::TimedOut(_)) {
            format!("it took longer than {} s", PROBE_TIMEOUT.as_secs())
        } else {
            crate::runner::sanitize::display_text(stderr.lines().next().unwrap_or("it wrote no reason"))
        };
        Err(if is_nested {
            format!("no sandbox within {name} works on this machine: {reason}")
        } else {
            format!("{name} does not work on this machine: {reason}")
        })
    }
}
