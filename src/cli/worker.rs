//! `adjutant worker`: runs delegated tasks of hubs on other machines, after it joined one of them.

mod agent_socket;
mod invite;
mod join;
mod nats_config;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand};
use tokio::net::UnixListener;
use tracing::level_filters::LevelFilter;

use super::output::{self, Failure};
use super::shutdown_signal::ShutdownSignal;
use super::{Common, native_runners};
use adjutant_agents::Selector;
use adjutant_agents::definition::Permission;
use adjutant_agents::lane::is_label;
use adjutant_app::App;
use adjutant_base::config::{self, Config, Database, Roots};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::machine;
use adjutant_net::otlp::TraceExporter;
use adjutant_terminal::socket::{self, Claim, Holder};
use adjutant_workers::{AgentConnections, Credentials, Ended, Login, Worker, WorkerSettings, connect};

/// Arguments of `adjutant worker`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct WorkerArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// NATS server [default: of the hub that it joined]
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// NATS credentials file, if it joined no hub
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
    /// Runners, separated by commas [default: installed]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    runners: Vec<String>,
    /// Claim tasks of this label, too; may be repeated
    #[arg(long = "label", value_name = "LABEL", value_parser = parse_label)]
    labels: Vec<String>,
    /// Run at most this many tasks at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_tasks: u32,
    /// Maximum MiB of repository copies
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_cache_mib: u64,
    /// End when no task is queued for these runners
    #[arg(long)]
    exit_when_idle: bool,
}

/// Commands of `adjutant worker`.
#[derive(Debug, Subcommand)]
enum Command {
    /// Make a one-time code, with which a worker joins this hub
    Invite(invite::InviteArgs),
    /// Join the hub that made a code: get credentials for this machine
    Join(join::JoinArgs),
    /// Print the configuration of a NATS server for this hub
    NatsConfig(nats_config::NatsConfigArgs),
}

/// Runs one of the commands, or tasks until a signal ends the worker, or until it is idle where that ends it.
pub(super) fn run(args: WorkerArgs, common: Common) -> Result<(), Failure> {
    match args.command {
        Some(Command::Invite(args)) => return invite::run(&args, common),
        Some(Command::Join(args)) => return join::run(&args, common),
        Some(Command::NatsConfig(args)) => return nats_config::run(&args, common),
        None => {}
    }
    common.start_log(LevelFilter::INFO)?;
    let mut config = common.config(Roots::User)?;
    let selector = native_runners(&config.runners)?;
    let runners = if args.runners.is_empty() { installed(&selector) } else { args.runners };
    if runners.is_empty() {
        return Err(
            Failure::new("no runner is installed here").hint("name those to claim tasks for: --runners")
        );
    }
    let candidates = selector.candidates();
    let is_known = |name: &String| candidates.iter().any(|candidate| candidate.runner.name() == name);
    if let Some(name) = runners.iter().find(|name| !is_known(name)) {
        return Err(Failure::usage(format!("runner `{}` is not configured here", escape_line(name)))
            .hint("copy its [[runners]] entry from the hub's config.toml to this machine's config.toml"));
    }
    let folder = config::worker(&config.home);
    socket::private_folder(&config.home)?;
    socket::private_folder(&folder)?;
    let claim = claim(&folder)?;
    let credentials =
        if args.creds.is_some() { None } else { Credentials::load(&folder).map_err(Failure::new)? };
    let (url, login) = login(args.nats, args.creds, credentials.as_ref())?;
    let id = match &credentials {
        Some(credentials) => credentials.id().map_err(Failure::new)?,
        None => machine::id(&folder).map_err(Failure::new)?,
    };
    let labels = labels(args.labels, credentials.as_ref())?;
    keep_apart(&mut config, &folder, args.max_tasks);
    let settings = WorkerSettings {
        id,
        name: machine::name(),
        folder: folder.join("orders"),
        caches: folder.join("repositories"),
        max_cache_bytes: args.max_cache_mib << 20,
        runners,
        labels,
        max_tasks: args.max_tasks as usize,
        exit_when_idle: args.exit_when_idle,
        credentials,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let listener = {
        let _entered = runtime.enter();
        agent_socket::listen(&folder)?
    };
    let worked = runtime.block_on(work(App::new(config, selector), (&url, login), settings, listener));
    runtime.shutdown_background();
    drop(claim);
    worked
}

/// Takes the right to be the only process that works in the folder of a worker, and names this process as its holder.
fn claim(folder: &Path) -> Result<Claim, Failure> {
    let mut claim = Claim::take(folder).map_err(|error| match error {
        socket::Error::Taken { holder: Holder { pid, .. } } => {
            Failure::new(format!("a worker runs for this home (pid {pid})"))
                .hint(format!("end it first: kill {pid}"))
        }
        socket::Error::Starting => {
            Failure::new("another worker is starting for this home").hint("try again in a second")
        }
        other => other.into(),
    })?;
    let (pid, adjutant) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
    claim.sign(&Holder { pid, adjutant, http: None, console: None, socket: None })?;
    Ok(claim)
}

/// Returns the address of the NATS server and the way to log in there.
fn login(
    nats: Option<String>,
    creds: Option<PathBuf>,
    credentials: Option<&Credentials>,
) -> Result<(String, Login), Failure> {
    if let Some(credentials) = credentials {
        if credentials.has_expired() {
            return Err(Failure::new("the credentials of this worker have expired")
                .hint("make a code on the hub with `adjutant worker invite`, and join again: adjutant worker join CODE"));
        }
        return Ok((nats.unwrap_or_else(|| credentials.nats()), Login::Worker(credentials.clone())));
    }
    let url = nats.ok_or_else(|| {
        Failure::usage("this worker has joined no hub, and no NATS server is named")
            .hint("join a hub: adjutant worker join CODE")
            .hint("or name the server: --nats URL")
    })?;
    Ok((url, creds.map_or(Login::Open, Login::File)))
}

/// Returns the labels that the worker has: with credentials, those of its code bound the named ones.
fn labels(named: Vec<String>, credentials: Option<&Credentials>) -> Result<Vec<String>, Failure> {
    let Some(granted) = credentials.map(Credentials::labels) else { return Ok(named) };
    if let Some(label) = named.iter().find(|label| !granted.contains(label)) {
        return Err(Failure::usage(format!("the code of this worker did not have the label `{label}`"))
            .hint("join again with a code of `adjutant worker invite --label`"));
    }
    Ok(if named.is_empty() { granted } else { named })
}

/// Parses a label on the command line.
fn parse_label(text: &str) -> Result<String, &'static str> {
    if is_label(text) { Ok(text.to_owned()) } else { Err("use letters, digits and hyphens, 40 at most") }
}

/// Gives the worker a queue of its own. Its worktrees stay until their commits are on the hub.
fn keep_apart(config: &mut Config, folder: &Path, max_tasks: u32) {
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
    app: Arc<App>,
    (url, login): (&str, Login),
    settings: WorkerSettings,
    listener: UnixListener,
) -> Result<(), Failure> {
    let mut signal = ShutdownSignal::new()?;
    let stop = app.shutdown.clone();
    let client = connect(url, login, "adjutant worker").await.map_err(Failure::new)?;
    let traces = TraceExporter::start(&app.config.traces, "worker", &settings.id, &settings.name);
    tracing::info!(runners = settings.runners.join(","), "waiting for tasks");
    let queue = tokio::spawn({
        let (agents, stop) = (app.agents.clone(), stop.clone());
        async move { agents.run(stop).await }
    });
    let connections = AgentConnections::new(client.clone(), &settings.id);
    let serving = tokio::spawn(agent_socket::serve(app.agents.clone(), listener, connections.clone()));
    let worker = Arc::new(Worker::new(app.agents.clone(), client, settings, connections, stop.clone()));
    let ended = tokio::select! {
        ended = worker.clone().run() => ended,
        _ = signal.received() => Ended::Stopped,
    };
    stop.cancel();
    // All runs end before this process does, and their results are delivered, unless a second signal ends it.
    let end = async {
        // A queue that panicked has ended its runs too.
        drop(queue.await);
        worker.deliver_ended().await;
    };
    tokio::select! {
        () = end => {}
        _ = signal.received() => {}
    }
    serving.abort();
    if let Some(traces) = traces {
        traces.finish().await;
    }
    match ended {
        Ended::Stopped => Ok(()),
        Ended::Drained => {
            output::note(
                "drained; `adjutant workers resume NAME` on the hub lets this worker claim tasks again",
            );
            Ok(())
        }
        // As a wrong configuration, so that systemd does not start it again.
        Ended::Revoked => Err(Failure::new("the user of the hub revoked this worker")
            .with_code(2)
            .hint("a new code lets it join again: adjutant worker join CODE")),
    }
}

/// Returns the names of the runners that have their programs on this machine.
fn installed(selector: &Selector) -> Vec<String> {
    let plan = selector.plan(None, None, Permission::default(), Instant::now());
    plan.choices.iter().map(|choice| choice.runner.name().to_owned()).collect()
}
