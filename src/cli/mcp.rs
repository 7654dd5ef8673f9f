//! `adjutant mcp TOOLSET`: one toolset on stdin and stdout in this process, without a hub.
//!
//! A client waits for the first answer meanwhile, so the start does only what the answer needs: one thread, and no file
//! but `config.toml`.

mod questions;
pub(super) mod stdio;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::shutdown_signal::{self, ShutdownSignal};
use super::{Common, local_assistant, native_runners, one_of};
use adjutant_agents::selector::config;
use adjutant_agents::{CommandVariant, Selector};
use adjutant_app::App;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::delegation::SandboxMode;
use adjutant_base::config::network::Network;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Database, Roots};
use adjutant_base::logging::Format;
use adjutant_mcp as mcp;

/// Threads for blocking work: a stdin and a stdout that cannot be polled, and reads of the disk. Concurrent calls wait for
/// one read of the folder; without a bound each would occupy a thread.
const BLOCKING_THREADS: usize = 4;

/// A toolset that is served without a hub.
#[derive(Debug, Subcommand)]
pub(super) enum Toolset {
    /// Prompt commands: `list_prompts` and `expand_prompt`
    Prompts {
        /// Read prompts from this folder alone; may be repeated, earlier folders win
        #[arg(long, value_name = "DIR")]
        prompts_dir: Vec<PathBuf>,
    },
    /// Users, calendars and notifications: `getUser`, `listEvents`, `planNotifications` and others
    Assistant {
        /// Keep everything here: `sqlite:FILE` or `postgres://USER@HOST/NAME` [default: adjutant.db in the home folder]
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
    /// Questions to the user: `triggerPopup`, through the hub, so that every channel shows them
    #[command(visible_alias = "popup")]
    Questions {
        /// Serve the contract and a console at this address in this process, without a hub
        #[arg(long, value_name = "ADDR")]
        http: Option<String>,
    },
    /// Codex sessions: `codex` and `codex-reply`, compatible with `codex mcp-server`
    Codex {
        /// The program [default: the `codex` on the PATH]
        #[arg(long, value_name = "PATH")]
        codex: Option<String>,
    },
    /// Delegation: `list_agents` and `delegate_task`
    Agents {
        /// The folder with the agents' YAML files, as an absolute path
        #[arg(long, value_name = "DIR")]
        agents_dir: PathBuf,
        /// The runner to prefer: codex, copilot, or another that is known or configured
        #[arg(long, value_name = "NAME", default_value = "codex")]
        runner: String,
        /// A YAML file with the runners, their priorities and models
        #[arg(long, value_name = "FILE")]
        runner_config: Option<PathBuf>,
        /// The sandbox of runs: auto, none, bubblewrap or podman
        #[arg(long, value_name = "SANDBOX", default_value = "none", hide_possible_values = true, value_parser = one_of(SandboxMode::ALL.iter().map(|mode| (mode.name(), *mode))))]
        sandbox: SandboxMode,
    },
}

/// Serves until the client closes stdin.
pub(super) fn run(toolset: Toolset, mut common: Common) -> Result<(), Failure> {
    let (server, config, runners) = match toolset {
        Toolset::Questions { http } => return questions::run(http.as_deref(), common),
        Toolset::Prompts { prompts_dir } => {
            let roots = if prompts_dir.is_empty() { Roots::Workspace } else { Roots::Exactly(prompts_dir) };
            (
                mcp::ToolsetSelection::Prompts,
                common.config(roots)?,
                native_runners(&RunnersConfig::default())?,
            )
        }
        Toolset::Assistant { database } => {
            let mut config = local_assistant::config(common, database.as_deref())?;
            // A runner that plans works in a temporary folder of this process, which a sandbox would hide.
            config.delegation.sandbox = SandboxMode::None;
            config.delegation.network = Network::All;
            let runners = native_runners(&config.runners)?;
            (mcp::ToolsetSelection::Assistant, config, runners)
        }
        Toolset::Codex { codex } => {
            let mut config = common.config(Roots::User)?;
            // The threads belong to this process, and end with it.
            config.database = Database::Memory;
            config.codex.program = codex.or(config.codex.program);
            config.codex.folder = std::env::current_dir().ok();
            (mcp::ToolsetSelection::Codex, config, native_runners(&RunnersConfig::default())?)
        }
        Toolset::Agents { agents_dir, runner, runner_config, sandbox } => {
            common.log_format = common.log_format.or(Some(Format::Json));
            common.start_log(LevelFilter::INFO)?;
            let folder = agents_folder(&agents_dir)?;
            let mut config = common.config(Roots::Exactly(vec![folder]))?;
            // The tasks belong to this process, and end with it.
            config.database = Database::Memory;
            // The contract documents command lines without a sandbox, so only the flag changes them.
            if sandbox == SandboxMode::None {
                config.delegation.require_sandbox = false;
                config.delegation.network = Network::All;
            }
            config.delegation.sandbox = sandbox;
            if let Some(file) = runner_config {
                config.runners = config::read(&file).map_err(Failure::new)?;
            }
            let runners = Selector::new(&config.runners, Some(&runner), CommandVariant::Contract)
                .map_err(Failure::new)?;
            (mcp::ToolsetSelection::Agents, config, runners)
        }
    };
    let asks_runners = local_assistant::asks_runners(&config);
    let app = App::new(config, runners);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    runtime.block_on(async {
        let (input, output) = stdio::open()?;
        let (worker, stop) = (app.clone(), app.shutdown.clone());
        let work = match server {
            mcp::ToolsetSelection::Codex => Some(tokio::spawn(async move {
                stop.cancelled().await;
                worker.codex.close().await;
            })),
            mcp::ToolsetSelection::Questions | mcp::ToolsetSelection::Prompts => None,
            mcp::ToolsetSelection::Assistant if !asks_runners => None,
            mcp::ToolsetSelection::All | mcp::ToolsetSelection::Agents | mcp::ToolsetSelection::Assistant => {
                Some(tokio::spawn(async move { worker.agents.run(stop).await }))
            }
        };
        shutdown_signal::survive_file_size_limit()?;
        // Without background work, a signal may end the process at once, which is the default.
        let mut stop = work.is_some().then(ShutdownSignal::new).transpose()?;
        let notifying = (server == mcp::ToolsetSelection::Assistant).then(|| {
            tokio::spawn(local_assistant::notify_hubs_of_changes(app.clone(), app.events.subscribe()))
        });
        let session = mcp::AgentSession::of_this_process();
        let serving = mcp::serve_stream(
            app.clone(),
            server,
            ConnectionKind::Stdio,
            mcp::Peer::Process(None),
            session,
            input,
            output,
        );
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => {}
            () = signalled(stop.as_mut()) => {}
        }
        app.shutdown.cancel();
        if let Some(notifying) = notifying {
            let _ = notifying.await;
        }
        if let Some(work) = work {
            // All runs end before this process does, unless a second signal ends it.
            tokio::select! {
                _ = work => {}
                () = signalled(stop.as_mut()) => {}
            }
        }
        Ok::<_, Failure>(())
    })?;
    app.recorder.flush();
    stdio::close();
    // The remaining threads wait for a disk or a terminal, and end with the process.
    runtime.shutdown_background();
    Ok(())
}

async fn signalled(stop: Option<&mut ShutdownSignal>) {
    match stop {
        Some(stop) => {
            stop.received().await;
        }
        None => std::future::pending().await,
    }
}

/// Checks the folder by the rules of the contract: absolute, existing, not `/`.
fn agents_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let shown = folder.display().to_string();
    let invalid = |reason: &str| Failure::usage(format!("--agents-dir {shown} {reason}"));
    if !folder.is_absolute() {
        return Err(invalid("is relative").hint("give the absolute path"));
    }
    let folder = folder.canonicalize().map_err(|error| invalid(&format!("cannot be read: {error}")))?;
    if !folder.is_dir() {
        return Err(invalid("is not a folder"));
    }
    if folder.parent().is_none() {
        return Err(invalid("is the root of the file system").hint("name the folder with the agents' files"));
    }
    Ok(folder)
}
