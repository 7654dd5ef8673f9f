//! `adjutant mcp questions`: questions to the user, for a client that does not know the hub.
//!
//! Without `--http` this is `connect questions`, which starts a hub if none runs, because a question that nobody sees
//! is worse than none. With `--http` this process has a separate Inbox: it serves the contract at that address and
//! on stdin and stdout, and serves a console. Its client may read stderr, so no link that logs in is written there:
//! `adjutant open ADDR` gets it over a socket, which asks the kernel for the process that connects.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::FileType;
use tracing::level_filters::LevelFilter;

use super::stdio;
use crate::cli::output::{self, Failure};
use crate::cli::shutdown_signal::ShutdownSignal;
use crate::cli::{Common, connect, native_runners, open};
use adjutant_app::App;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Auth, Config, Database, Overrides, Roots, Switch};
use adjutant_http as http;
use adjutant_mcp as mcp;
use adjutant_terminal::socket;

/// Interval between two checks for pending questions.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Serves until the client closes stdin; with an address and no client there, until a signal.
pub(super) fn run(address: Option<&str>, common: Common) -> Result<(), Failure> {
    let Some(address) = address else {
        return connect::run(
            connect::ConnectArgs { toolset: "questions".to_owned(), ..connect::ConnectArgs::default() },
            common,
        );
    };
    common.start_log(LevelFilter::WARN)?;
    let Switch::On(address) = Switch::address(address)? else {
        return Err(Failure::usage("--http has no address to listen on").hint("--http 127.0.0.1:7438"));
    };
    let overrides = Overrides { home: common.home, auth: Some(Auth::Token), ..Overrides::default() };
    let mut config = Config::load(overrides, Roots::User)?;
    // The contract admits agents without a token, so this process answers this machine alone: the configured proxy and
    // certificate are the hub's.
    config.http.restrict_to_this_machine();
    // Another database than the hub's; a process with the same address continues with it.
    config.database = match address.port() {
        0 => Database::Memory,
        port => Database::File(config.home.join(format!("questions-{port}.db"))),
    };
    let app = App::new(config, native_runners(&RunnersConfig::default())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(app, address))?;
    stdio::close();
    runtime.shutdown_background();
    Ok(())
}

async fn serve(app: Arc<App>, address: std::net::SocketAddr) -> Result<(), Failure> {
    socket::private_folder(&app.config.home)?;
    let listener =
        http::BoundListener::open(address, &app.config.http, &app.config.home).await.map_err(Failure::new)?;
    let listener = listener.allow_unauthenticated_agents();
    let address = listener.address();
    output::note(format!("questions on {}/mcp", listener.console()));
    let _ = app.listening.console.set(listener.console().to_owned());
    // A terminal, or nothing at all, is not a client, so its end does not end this process.
    let client = rustix::fs::fstat(io::stdin()).is_ok_and(|found| {
        !matches!(FileType::from_raw_mode(found.st_mode), FileType::CharacterDevice | FileType::RegularFile)
    });
    if let Err(error) = open::remove_stale_sockets(&app.config.home) {
        tracing::warn!(%error, "the sockets of earlier consoles could not be removed");
    }
    let path = open::console_socket(&app.config.home, address);
    let logins = socket::serve(
        app.clone(),
        socket::listen(&path)?,
        Arc::new(listener.links()),
        client.then(std::process::id),
    );
    let mut stop = ShutdownSignal::new()?;
    let timers = {
        let (questions, stop) = (app.questions.clone(), app.shutdown.clone());
        tokio::spawn(async move { questions.run_timers(stop, Duration::ZERO).await })
    };
    let logins = tokio::spawn(logins);
    let listening = tokio::spawn(http::serve_questions(app.clone(), listener));
    let noting =
        tokio::spawn(app.shutdown.clone().run_until_cancelled_owned(note_pending(app.clone(), address)));
    let (input, out) = stdio::open()?;
    let serving = mcp::serve_stream(
        app.clone(),
        mcp::ToolsetSelection::Questions,
        ConnectionKind::Stdio,
        mcp::Peer::Process(None),
        mcp::AgentSession::of_this_process(),
        input,
        out,
    );
    tokio::select! {
        () = async {
            serving.await;
            if !client {
                std::future::pending::<()>().await;
            }
        } => {}
        _ = stop.received() => {}
    }
    app.shutdown.cancel();
    // A task that panicked has ended too.
    let _ = tokio::join!(timers, logins, listening, noting);
    let _ = std::fs::remove_file(path);
    Ok(())
}

/// Notes on stderr where to answer, each time that a question is pending and none was before.
async fn note_pending(app: Arc<App>, address: std::net::SocketAddr) {
    let mut noted = false;
    loop {
        let pending = app.questions.count_pending().await.is_ok_and(|pending| pending > 0);
        if pending && !noted {
            let console = app.listening.console.get().map_or("", String::as_str);
            output::note(format!(
                "a question is pending at {console}/questions; `adjutant open {address}` logs a browser in"
            ));
        }
        noted = pending;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
