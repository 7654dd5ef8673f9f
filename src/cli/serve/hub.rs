//! Lifecycle of the hub: one per home, listen, wait for a signal, shut down.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::{ServeArgs, demo};
use crate::cli::output::Failure;
use crate::cli::shutdown_signal::Stop;
use adjutant_agents::{CommandVariant, Selector};
use adjutant_app::App;
use adjutant_base::config::{Auth, Config};
use adjutant_http as http;
use adjutant_terminal::socket::{self, Claim, Holder, InheritedListeners};

/// Threads that serve. A hub waits most of its time; two keep one long answer from delaying the others.
const THREADS: usize = 2;
/// Threads for what blocks. Calls of many clients wait for one reading of the disk; without a bound each of them
/// would wait on a thread of its own.
const BLOCKING_THREADS: usize = 16;

/// What the tasks may take beyond the grace for requests, before they are dropped.
const AFTER_GRACE: Duration = Duration::from_secs(1);

const OTHER_ADDRESS: &str = "use --http 127.0.0.1:0 for any free port, or --http off";

/// How long callers wait for what the last hub left to be known, so that its agents are taken for what they are.
const RESUME_TIMEOUT: Duration = Duration::from_secs(5);

/// How long relays of the last hub have to come back before their questions may pass to other sessions. A relay looks
/// for a hub every two seconds.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a look at who took our port may take.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Interval of the check that the home is still there, which is one `stat`.
const HOME_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// A hub that serves.
pub(super) struct Hub {
    pub(super) app: Arc<App>,
    links: socket::Links,
    demo: bool,
}

impl Hub {
    /// Returns a one-time link to the console; `None` when there is no console.
    pub(super) fn link(&self) -> Option<String> {
        (self.links)()
    }

    /// Says where the hub listens, for a person at a terminal.
    pub(super) fn banner(&self) -> String {
        let listening = &self.app.listening;
        let mut lines =
            vec![format!("adjutant {} serves (pid {})", env!("CARGO_PKG_VERSION"), std::process::id())];
        if let Some(address) = listening.http.get() {
            let token = self.app.config.http.auth == Auth::Token;
            if let Some(console) = listening.console.get() {
                // An agent may have started the hub, and read this.
                let log_in = match (token, listening.socket.get()) {
                    (false, _) => "",
                    (true, Some(_)) => "   (adjutant open logs a browser in)",
                    (true, None) => "   (only --open logs a browser in, because the socket is off)",
                };
                lines.push(format!("  console  {console}/{log_in}"));
            }
            let bearer = if token {
                format!("   (bearer token: {})", self.app.config.home.join("token").display())
            } else {
                String::new()
            };
            lines.push(format!("  mcp      http://{address}/mcp{bearer}"));
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

/// Runs a hub until SIGTERM, SIGINT or SIGHUP, or until its home is gone. `serving` is called once, when all doors are open.
pub(super) fn run(config: Config, args: &ServeArgs, serving: impl FnOnce(&Hub)) -> Result<ExitCode, Failure> {
    socket::private_folder(&config.home)?;
    let claim = Claim::take(&config.home)?;
    // Before there is a second thread.
    let handed = socket::inherited_listeners();
    if args.demo {
        demo::fill(&config.home).map_err(|error| {
            Failure::new(format!("cannot write the example prompt: {error}"))
                .hint("`adjutant doctor` looks at the permissions of the home folder")
        })?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let code = runtime.block_on(live(config, args, (claim, handed), serving));
    runtime.shutdown_background();
    code
}

async fn live(
    mut config: Config,
    args: &ServeArgs,
    (mut claim, handed): (Claim, InheritedListeners),
    serving: impl FnOnce(&Hub),
) -> Result<ExitCode, Failure> {
    let mut stop = Stop::new()?;
    let runners = Selector::new(&config.runners, None, CommandVariant::Native).map_err(Failure::new)?;
    if args.demo {
        demo::keep_mails(&mut config);
    }
    let app = App::new(config, runners);
    if args.demo {
        demo::people(&app).await?;
    }
    let doors = TaskTracker::new();
    // The socket that goes with this process; one that was handed over is its owner's.
    let mut ours = None;
    let mut hub = Hub { app: app.clone(), links: Arc::new(|| None), demo: args.demo };
    if let Some(address) = app.config.http.address {
        let door = match handed.http {
            Some(listener) => {
                http::BoundListener::from_listener(listener, &app.config.http, &app.config.home)
                    .map_err(|error| no_door(&error))?
            }
            None => http_door(&app, address, args.any_port).await?,
        };
        let _ = app.listening.http.set(door.address());
        let _ = app.listening.console.set(door.console().to_owned());
        hub.links = Arc::new(door.links());
        let app = app.clone();
        doors.spawn(async move {
            taken_up(&app).await;
            http::serve(app, door).await;
        });
    }
    if let Some(wanted) = &app.config.socket {
        let path = socket::place(wanted);
        let listener = if let Some(listener) = handed.socket {
            listener
        } else {
            ours = Some(path.clone());
            socket::listen(&path)?
        };
        let _ = app.listening.socket.set(path);
        let (app, links) = (app.clone(), hub.links.clone());
        doors.spawn(async move {
            taken_up(&app).await;
            if let Err(error) = socket::serve(app, listener, links, None).await {
                tracing::error!(error = %error, "the socket is no longer served");
            }
        });
    }
    doors.spawn(app.clone().watch_files());
    doors.spawn(app.clone().watch_config());
    doors.spawn({
        let (agents, stop) = (app.agents.clone(), app.shutdown.clone());
        async move { agents.run(stop).await }
    });
    doors.spawn({
        let (questions, stop) = (app.questions.clone(), app.shutdown.clone());
        async move { questions.run_timers(stop, RECONNECT_TIMEOUT).await }
    });
    doors.spawn(app.clone().send_notifications());
    doors.spawn(app.clone().run_notifier());
    doors.spawn(app.clone().run_codex_sessions());
    doors.close();
    claim.sign(&Holder {
        pid: std::process::id(),
        adjutant: env!("CARGO_PKG_VERSION").to_owned(),
        http: app.listening.http.get().copied(),
        socket: app.listening.socket.get().cloned(),
    })?;
    serving(&hub);
    socket::ready();

    let home_is_lost = tokio::select! {
        _ = stop.asked() => false,
        () = home_lost(&claim, &app.config.home) => {
            tracing::warn!("the home folder was deleted, moved or replaced: the hub stops");
            true
        }
    };
    tracing::info!("stopping: what is in flight may end");
    app.shutdown.cancel();
    let code = tokio::select! {
        ended = tokio::time::timeout(app.config.grace + AFTER_GRACE, doors.wait()) => {
            if ended.is_err() {
                tracing::warn!("stopped with connections still open");
            }
            ExitCode::SUCCESS
        }
        signal = stop.asked() => ExitCode::from(128 + signal),
    };
    // At the path of a lost home the next hub may listen already.
    if let Some(path) = ours
        && !(home_is_lost && socket::is_listening(&path))
    {
        let _ = std::fs::remove_file(path);
    }
    app.recorder.flush();
    drop(claim);
    Ok(code)
}

/// Waits until `home` no longer has the lock file that this hub holds.
async fn home_lost(claim: &Claim, home: &Path) {
    while claim.is_current(home) {
        tokio::time::sleep(HOME_CHECK_INTERVAL).await;
    }
}

/// Waits until the runs that the last hub left are known; a database that hangs keeps nobody out for ever.
async fn taken_up(app: &App) {
    if tokio::time::timeout(RESUME_TIMEOUT, app.agents.runs_adopted()).await.is_err() {
        tracing::warn!(
            "an agent that the last hub left is taken for any other client, until its run is known"
        );
    }
}

/// Opens the HTTP door. Where nobody chose the address and `any_port` allows it, a taken port is no failure.
async fn http_door(app: &App, address: SocketAddr, any_port: bool) -> Result<http::BoundListener, Failure> {
    let config = &app.config;
    let opened = http::BoundListener::open(address, &config.http, &config.home).await;
    let taken =
        matches!(&opened, Err(http::Error::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrInUse);
    let opened = if taken && any_port && config.http.default_address {
        http::BoundListener::open(SocketAddr::new(address.ip(), 0), &config.http, &config.home).await
    } else {
        opened
    };
    opened.map_err(|error| match error {
        http::Error::Bind { .. } if taken && is_hub(address) => {
            Failure::new(&error).hint("the hub of another home listens there").hint(OTHER_ADDRESS)
        }
        http::Error::Bind { .. } | http::Error::Exposed { .. } | http::Error::Token(_) => no_door(&error),
    })
}

/// Says why the HTTP door does not open, and what to do.
fn no_door(error: &http::Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        http::Error::Bind { .. } => failure.hint(OTHER_ADDRESS),
        http::Error::Exposed { .. } => failure.hint(
            "listen on 127.0.0.1, or keep --auth token and name the proxy's hosts: behind_tls_proxy in config.toml",
        ),
        http::Error::Token(_) => failure,
    }
}

/// Tells whether a hub answers at `address`: every page it has names it.
fn is_hub(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, POLL_INTERVAL)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.write_all(format!("GET / HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
        let mut page = String::new();
        stream.take(8 * 1024).read_to_string(&mut page)?;
        Ok::<_, io::Error>(page.contains("Adjutant"))
    };
    ask().unwrap_or(false)
}
