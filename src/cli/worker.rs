//! `adjutant worker`: runs delegated tasks of hubs on other machines.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::shutdown_signal::ShutdownSignal;
use super::{Common, native_runners};
use adjutant_agents::Selector;
use adjutant_agents::definition::Permission;
use adjutant_app::App;
use adjutant_base::config::{Config, Database, Roots};
use adjutant_host::machine;
use adjutant_terminal::socket::{self, Claim};
use adjutant_workers::{Worker, WorkerSettings, connect};

/// The folder of a worker in its home: the database of its queue, its runs, and the tasks of hubs.
const FOLDER: &str = "worker";

/// Arguments of `adjutant worker`.
#[derive(Debug, Args)]
pub(super) struct WorkerArgs {
    /// Address of the NATS server that the hubs use
    #[arg(long, value_name = "URL")]
    nats: String,
    /// Credentials file of the NATS server
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
    /// Claim tasks of these runners, separated by commas [default: those that are installed]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    runners: Vec<String>,
    /// Run at most this many tasks at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_tasks: u32,
    /// End when no task is queued for these runners
    #[arg(long)]
    exit_when_idle: bool,
}

/// Runs until a signal ends it, or until it is idle where that ends it.
pub(super) fn run(args: WorkerArgs, common: Common) -> Result<(), Failure> {
    common.start_log(LevelFilter::INFO)?;
    let mut config = common.config(Roots::User)?;
    let selector = native_runners(&config.runners)?;
    let runners = if args.runners.is_empty() { installed(&selector) } else { args.runners };
    if runners.is_empty() {
        return Err(
            Failure::new("no runner is installed here").hint("name those to claim tasks for: --runners")
        );
    }
    let folder = config.home.join(FOLDER);
    socket::private_folder(&config.home)?;
    socket::private_folder(&folder)?;
    let claim = Claim::take(&folder)?;
    let id = machine::id(&folder).map_err(Failure::new)?;
    keep_apart(&mut config, &folder, args.max_tasks);
    let settings = WorkerSettings {
        id,
        name: machine::name(),
        folder: folder.join("orders"),
        runners,
        max_tasks: args.max_tasks as usize,
        exit_when_idle: args.exit_when_idle,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let worked = runtime.block_on(work(App::new(config, selector), &args.nats, args.creds, settings));
    runtime.shutdown_background();
    drop(claim);
    worked
}

/// Gives the worker a queue of its own. Its worktrees stay until their commits are on the hub.
fn keep_apart(config: &mut Config, folder: &std::path::Path, max_tasks: u32) {
    config.database = Database::File(folder.join("worker.db"));
    let tasks = &mut config.delegation;
    tasks.database = None;
    tasks.spool = Some(folder.join("spool"));
    tasks.keep_worktrees = true;
    tasks.max_running = max_tasks;
    tasks.max_running_per_runner = max_tasks;
    tasks.per_runner.clear();
}

async fn work(
    app: std::sync::Arc<App>,
    url: &str,
    creds: Option<PathBuf>,
    settings: WorkerSettings,
) -> Result<(), Failure> {
    let mut signal = ShutdownSignal::new()?;
    let stop = app.shutdown.clone();
    let client = connect(url, creds.as_deref(), "adjutant worker").await.map_err(Failure::new)?;
    tracing::info!(runners = settings.runners.join(","), "waiting for tasks");
    let queue = tokio::spawn({
        let (agents, stop) = (app.agents.clone(), stop.clone());
        async move { agents.run(stop).await }
    });
    let worker = Worker::new(app.agents.clone(), client, settings, stop.clone());
    tokio::select! {
        () = worker.run() => {}
        _ = signal.received() => {}
    }
    stop.cancel();
    // All runs end before this process does, unless a second signal ends it.
    tokio::select! {
        _ = queue => {}
        _ = signal.received() => {}
    }
    Ok(())
}

/// Returns the names of the runners that have their programs on this machine.
fn installed(selector: &Selector) -> Vec<String> {
    let plan = selector.plan(None, None, Permission::default(), Instant::now());
    plan.choices.iter().map(|choice| choice.runner.name().to_owned()).collect()
}
