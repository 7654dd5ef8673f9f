//! Lifecycle of the hub: one per home, listen, wait for a signal, shut down.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::{ServeArgs, demo, wakeups};
use crate::cli::native_runners;
use crate::cli::output::Failure;
use crate::cli::shutdown_signal::{HANG_UP, ShutdownSignal};
use adjutant_agents::worker_order::RemoteAgent;
use adjutant_app::{App, health};
use adjutant_base::config::{self, Auth, Config, Database};
use adjutant_host::machine;
use adjutant_host::process::Ancestor;
use adjutant_http as http;
use adjutant_net::http_client;
use adjutant_net::otlp::TraceExporter;
use adjutant_terminal::socket::{self, Claim, Holder, InheritedListeners};

/// Threads of the runtime. A hub mostly waits; with two, a long answer does not delay the others.
const WORKER_THREADS: usize = 2;
/// Threads for blocking work. Calls of many clients wait for one read of the disk; without a bound each would occupy a
/// thread.
const BLOCKING_THREADS: usize = 16;

/// Agents on workers that have connected and are not served yet.
const MAX_ARRIVALS: usize = 16;

/// Time for the tasks to end after the grace period of requests.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The file of the home with the address at which the last hub listened for HTTP.
const LAST_ADDRESS: &str = "last-http-address";

const OTHER_ADDRESS: &str = "use --http 127.0.0.1:0 for any free port, or --http off";
const OTHER_CONFIGURED_ADDRESS: &str = "choose another `address` below [http] in config.toml";
const END_THE_OTHER: &str =
    "end the program that listens there, or choose another `address` below [http] in config.toml";

/// Time that clients wait until the runs of the last hub are known, so that their processes are recognized as agents. A client
/// that connects gives up after five seconds without a reply, so this is less.
const RESUME_TIMEOUT: Duration = Duration::from_secs(3);

/// Time for relays of the last hub to come back before their questions may pass to other sessions. A relay looks for a hub
/// every two seconds.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for asking the program that listens on the configured port.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of its page.
const MAX_PAGE_BYTES: usize = 256 * 1024;

/// Interval of the check that the home is still there, which is one `stat`.
const HOME_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// A hub that serves.
pub(super) struct Hub {
    pub(super) app: Arc<App>,
    links: socket::Links,
    demo: bool,
    /// The file of a database with rows that another, empty one replaces.
    left_behind: Option<String>,
}

impl Hub {
    /// Returns a one-time link to the console for a browser below `opener`; `None` without a console.
    pub(super) fn link(&self, opener: Option<Ancestor>) -> Option<String> {
        (self.links)(opener)
    }

    /// Notes what is wrong with the database server: it does not answer, or is new while a file of the home has rows.
    async fn check_database_server(&mut self) {
        let app = &self.app;
        if let Some(fault) = app.database_fault().await {
            tracing::error!(fault, "the database does not answer");
            let _ = app.listening.database_fault.set(fault);
        } else if let Some(file) = health::left_behind(&app.config.database, &app.config.home).await {
            let file = file.display().to_string();
            tracing::warn!(file, "the database is new, and nothing of this file is copied to it");
            self.left_behind = Some(file);
        }
    }

    /// Returns the hub's folder.
    pub(super) fn home(&self) -> &Path {
        &self.app.config.home
    }

    /// Returns the addresses of the hub as JSON.
    pub(super) fn addresses(&self) -> Value {
        let listening = &self.app.listening;
        json!({
            "adjutant": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "console": listening.console.get(),
            "http": listening.http.get(),
            "http_fault": listening.http_fault.get(),
            "database_fault": listening.database_fault.get(),
            "socket": listening.socket.get(),
        })
    }

    /// Returns the addresses of the hub, for a terminal.
    pub(super) fn banner(&self) -> String {
        let listening = &self.app.listening;
        let mut lines =
            vec![format!("adjutant {} serves (pid {})", env!("CARGO_PKG_VERSION"), std::process::id())];
        if let Some(address) = listening.http.get() {
            let token = self.app.config.http.auth == Auth::Token;
            if let Some(console) = listening.console.get() {
                // An agent may have started the hub, and read this.
                let log_in = match (token, listening.socket.get()) {
                    (false, _) => String::new(),
                    (true, Some(_)) => {
                        format!("   ({} open logs a browser in)", config::command_prefix(self.home()))
                    }
                    (true, None) => {
                        "   (only --open logs a browser in, because the socket is off)".to_owned()
                    }
                };
                lines.push(format!("  console  {console}/{log_in}"));
            }
            let bearer = if token {
                format!("   (bearer token: {})", self.app.config.home.join("token").display())
            } else {
                String::new()
            };
            lines.push(format!("  mcp      {}/mcp{bearer}", self.app.config.http.origin(*address)));
        }
        if let Some(fault) = listening.http_fault.get() {
            lines.push(format!("  no console: {fault}; free the port, then run: adjutant restart"));
        }
        if let Some(fault) = listening.database_fault.get() {
            lines.push(format!("  database: {fault}"));
        }
        if let Some(file) = &self.left_behind {
            lines.push(format!("  database: it is new, and nothing of {file} is copied to it"));
        }
        if let Some(path) = listening.socket.get() {
            lines.push(format!("  socket   {}   (agents run: adjutant connect)", path.display()));
        }
        if self.demo {
            lines.extend(demo::suggestions(&self.app.config.home));
        }
        lines.join("\n")
    }
}

/// Runs a hub until SIGTERM or SIGINT, until the user stops it, or until its home is lost. SIGHUP reloads `config.toml`, but
/// ends a hub in a terminal, which may have been closed. `again` are the arguments that start it again. Calls `serving` once,
/// when all interfaces listen.
pub(super) fn run(
    mut config: Config,
    args: &ServeArgs,
    again: Vec<OsString>,
    serving: impl FnOnce(&Hub),
) -> Result<ExitCode, Failure> {
    socket::private_folder(&config.home)?;
    let claim = Claim::take(&config.home)?;
    config.machine = machine::id(&config.home).map_err(Failure::new)?;
    // Must run before there is a second thread.
    let inherited = socket::inherited_listeners();
    if args.demo {
        demo::fill(&config.home).map_err(|error| {
            Failure::new(format!("cannot write the example prompt: {error}"))
                .hint("`adjutant doctor` checks the permissions of the home folder")
        })?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let code = runtime.block_on(serve(config, args, again, (claim, inherited), serving));
    runtime.shutdown_background();
    code
}

#[expect(clippy::too_many_lines, reason = "the parts of a hub in the order in which they start and end")]
async fn serve(
    mut config: Config,
    args: &ServeArgs,
    again: Vec<OsString>,
    (mut claim, inherited): (Claim, InheritedListeners),
    serving: impl FnOnce(&Hub),
) -> Result<ExitCode, Failure> {
    let mut stop = ShutdownSignal::new()?;
    let runners = native_runners(&config.runners)?;
    if args.demo {
        demo::store_mails(&mut config);
    }
    let app = App::new(config, runners);
    if inherited.socket.is_none() && inherited.http.is_none() {
        let _ = app.listening.restart_arguments.set(again);
    }
    if args.demo {
        demo::add_rows(&app).await?;
    }
    let traces = TraceExporter::start(&app.config.traces, "hub", &app.config.machine, &machine::name());
    let tasks = TaskTracker::new();
    // The socket to remove at the end. An inherited one belongs to the service manager.
    let mut own_socket = None;
    let mut hub = Hub { app: app.clone(), links: Arc::new(|_| None), demo: args.demo, left_behind: None };
    if let Some(address) = app.config.http.address {
        let listener = match inherited.http {
            Some(listener) => {
                let listener =
                    http::BoundListener::from_listener(listener, &app.config.http, &app.config.home);
                Some(listener.map_err(|error| listen_failure(&error))?)
            }
            None => http_listener(&app, address, args).await?,
        };
        if let Some(listener) = listener {
            remember_address(&app.config.home, listener.address());
            let _ = app.listening.http.set(listener.address());
            let _ = app.listening.console.set(listener.console().to_owned());
            hub.links = Arc::new(listener.links());
            let app = app.clone();
            tasks.spawn(async move {
                wait_for_recovery(&app).await;
                http::serve(app, listener).await;
            });
        }
    }
    if let Some(path) = &app.config.socket {
        let path = socket::place(path);
        let listener = if let Some(listener) = inherited.socket {
            listener
        } else {
            own_socket = Some(path.clone());
            socket::listen(&path)?
        };
        socket::link_for_runs(&app.config.home, &path);
        let _ = app.listening.socket.set(path);
        let (app, links) = (app.clone(), hub.links.clone());
        tasks.spawn(async move {
            wait_for_recovery(&app).await;
            if let Err(error) = socket::serve(app, listener, links, None).await {
                tracing::error!(error = %error, "the socket is no longer served");
            }
        });
    }
    tasks.spawn(app.clone().watch_files());
    tasks.spawn(app.clone().watch_config());
    tasks.spawn(app.clone().refresh_calendars());
    tasks.spawn(app.clone().record_machine());
    tasks.spawn({
        let (agents, stop) = (app.agents.clone(), app.shutdown.clone());
        async move { agents.run(stop).await }
    });
    tasks.spawn({
        let (questions, stop) = (app.questions.clone(), app.shutdown.clone());
        async move { questions.run_timers(stop, RECONNECT_TIMEOUT).await }
    });
    tasks.spawn({
        let (questions, stop) = (app.questions.clone(), app.shutdown.clone());
        async move { questions.watch_other_hubs(stop).await }
    });
    let (arrivals, remote_agents) = mpsc::channel(MAX_ARRIVALS);
    let (workers, stop_workers) = (&app.config, app.shutdown.clone());
    let workers = adjutant_workers::Hub::new(
        app.agents.clone(),
        workers.workers.clone(),
        workers.machine.clone(),
        workers.home.clone(),
        arrivals,
    );
    tasks.spawn(workers.serve(stop_workers));
    tasks.spawn(serve_remote_agents(app.clone(), remote_agents));
    tasks.spawn(wakeups::exchange(app.clone()));
    tasks.spawn(app.clone().send_notifications());
    tasks.spawn(app.clone().plan_daily());
    tasks.spawn(app.clone().run_notifier());
    tasks.spawn(app.clone().run_codex_sessions());
    tasks.spawn(app.clone().withdraw_earlier_questions());
    tasks.spawn(app.clone().remove_old_answer_files());
    tasks.close();
    claim.sign(&Holder {
        pid: std::process::id(),
        adjutant: env!("CARGO_PKG_VERSION").to_owned(),
        http: app.listening.http.get().copied(),
        console: app.listening.console.get().cloned(),
        socket: app.listening.socket.get().cloned(),
    })?;
    // A relay waits for the start, so a file is opened afterwards.
    if matches!(app.config.database, Database::Postgres(_)) {
        hub.check_database_server().await;
    }
    serving(&hub);
    socket::ready();

    let home_is_lost = serve_until_stop(&app, &mut stop, &claim).await;
    tracing::info!("stopping after the requests in flight");
    app.shutdown.cancel();
    let code = tokio::select! {
        ended = tokio::time::timeout(app.config.grace + SHUTDOWN_TIMEOUT, tasks.wait()) => {
            if ended.is_err() {
                tracing::warn!("stopped with connections still open");
            }
            ExitCode::SUCCESS
        }
        signal = stop.received() => ExitCode::from(128 + signal),
    };
    // At the path of a lost home the next hub may listen already.
    if let Some(path) = own_socket
        && !(home_is_lost && socket::is_listening(&path))
    {
        let _ = std::fs::remove_file(path);
    }
    app.recorder.flush();
    if let Some(traces) = traces {
        traces.finish().await;
    }
    drop(claim);
    Ok(code)
}

/// Serves the agents of tasks on workers that connect, until the last one has left a hub that stops.
async fn serve_remote_agents(app: Arc<App>, mut arrivals: mpsc::Receiver<(RemoteAgent, DuplexStream)>) {
    let agents = TaskTracker::new();
    wait_for_recovery(&app).await;
    while let Some((agent, stream)) = arrivals.recv().await {
        agents.spawn(socket::serve_remote_agent(app.clone(), agent, stream));
    }
    agents.close();
    agents.wait().await;
}

/// Waits for the end of the hub, and reloads the configuration at SIGHUP. Returns whether the home is lost.
async fn serve_until_stop(app: &Arc<App>, stop: &mut ShutdownSignal, claim: &Claim) -> bool {
    let in_terminal = io::stderr().is_terminal();
    loop {
        tokio::select! {
            signal = stop.received() => {
                if signal != HANG_UP || in_terminal {
                    return false;
                }
                app.reload();
            }
            () = app.shutdown.cancelled() => return false,
            () = home_lost(claim, &app.config.home) => {
                tracing::warn!("the home folder was deleted, moved or replaced: the hub stops");
                return true;
            }
        }
    }
}

/// Waits until `home` no longer has the lock file that this hub holds.
async fn home_lost(claim: &Claim, home: &Path) {
    while claim.is_current(home) {
        tokio::time::sleep(HOME_CHECK_INTERVAL).await;
    }
}

/// Waits until what the last hub left is taken over, with a timeout because the database may hang.
async fn wait_for_recovery(app: &App) {
    let recovered = async { tokio::join!(app.agents.runs_adopted(), app.questions.recovered()) };
    if tokio::time::timeout(RESUME_TIMEOUT, recovered).await.is_err() {
        tracing::warn!("agents and answers of the last hub are not known until the database answers");
    }
}

/// Notes where the hub of `home` listens for HTTP, for the next one that a relay starts.
fn remember_address(home: &Path, address: SocketAddr) {
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(home.join(LAST_ADDRESS));
    if let Err(error) = file.and_then(|mut file| write!(file, "{address}")) {
        tracing::warn!(%error, "the next hub may listen at another address");
    }
}

/// Listens for HTTP. A hub with the demo or that a relay starts, without an address in the configuration, listens where the
/// last one did, so that clients over HTTP and open pages find it again; if the default port is in use, at another one.
/// Returns `None` if a hub that a relay or the service starts cannot use the address of `config.toml`: agents need the socket,
/// and not that address. A user who starts a hub gets the failure.
async fn http_listener(
    app: &App,
    address: SocketAddr,
    args: &ServeArgs,
) -> Result<Option<http::BoundListener>, Failure> {
    let config = &app.config;
    let any_port = (args.any_port || args.demo) && config.http.default_address;
    let last =
        std::fs::read_to_string(config.home.join(LAST_ADDRESS)).ok().and_then(|last| last.parse().ok());
    if let Some(last) = last.filter(|last: &SocketAddr| any_port && last.ip() == address.ip())
        && let Ok(listener) = http::BoundListener::open(last, &config.http, &config.home).await
    {
        return Ok(Some(listener));
    }
    let opened = http::BoundListener::open(address, &config.http, &config.home).await;
    let in_use =
        matches!(&opened, Err(http::Error::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrInUse);
    let opened = if in_use && any_port {
        http::BoundListener::open(SocketAddr::new(address.ip(), 0), &config.http, &config.home).await
    } else {
        opened
    };
    let is_configured = !config.http.default_address && args.http.is_none();
    let is_optional = is_configured && args.any_port && config.socket.is_some();
    if let Err(error @ http::Error::Bind { .. }) = &opened
        && is_optional
    {
        tracing::warn!(%error, "the hub serves without HTTP and its console");
        let _ = app.listening.http_fault.set(error.to_string());
        return Ok(None);
    }
    let is_taken_by_hub = opened.is_err() && in_use && is_hub(address).await;
    opened.map(Some).map_err(|error| match error {
        http::Error::Bind { .. } => {
            let taken_by = is_taken_by_hub.then_some("the hub of another home listens there");
            let remedy = match (is_configured, in_use) {
                (true, true) => END_THE_OTHER,
                (true, false) => OTHER_CONFIGURED_ADDRESS,
                (false, _) => OTHER_ADDRESS,
            };
            taken_by.into_iter().chain([remedy]).fold(Failure::new(&error), Failure::hint)
        }
        http::Error::Exposed { .. }
        | http::Error::Unauthenticated { .. }
        | http::Error::Tls(_)
        | http::Error::Token(_) => listen_failure(&error),
    })
}

/// Returns the failure to listen for HTTP, with a hint.
pub(super) fn listen_failure(error: &http::Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        http::Error::Bind { .. } => failure.hint(OTHER_ADDRESS),
        http::Error::Exposed { .. } => failure.hint(
            "set tls_certificate, tls_key and tls_names under [http] in config.toml; or name the hosts of a TLS proxy in front in behind_tls_proxy; or listen on 127.0.0.1",
        ),
        http::Error::Unauthenticated { .. } => failure.hint(
            "leave out `--auth none`; or listen on 127.0.0.1, without behind_tls_proxy and tls_certificate in config.toml",
        ),
        http::Error::Tls(_) => failure.hint("correct tls_certificate, tls_key and tls_names under [http] in config.toml"),
        http::Error::Token(_) => failure,
    }
}

/// Returns whether a hub answers at `address`, without or with TLS: all its pages have its name.
async fn is_hub(address: SocketAddr) -> bool {
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{address}/");
        let page = http_client::unverified_page(&url, MAX_PAGE_BYTES, PROBE_TIMEOUT).await;
        if page.is_some_and(|page| page.contains("Adjutant")) {
            return true;
        }
    }
    false
}
