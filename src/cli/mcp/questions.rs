//! `adjutant mcp questions`: questions to the user, for a client that does not know the hub.
//!
//! Without `--http` this is `connect questions`, which starts a hub if none runs, because a question that nobody sees
//! is worse than none. With `--http` this process has an Inbox of its own: it serves the contract at that address and
//! on stdin and stdout, serves a console, and prints the console's link on stderr when a question is pending.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use tracing::level_filters::LevelFilter;

use super::stdio;
use crate::cli::output::{self, Failure};
use crate::cli::shutdown_signal::Stop;
use crate::cli::{Common, connect};
use adjutant_agents::{CommandVariant, Selector};
use adjutant_app::App;
use adjutant_app::client_registry::ConnectionKind;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Auth, Config, Database, Overrides, Roots, Switch};
use adjutant_http as http;
use adjutant_mcp as mcp;

/// A link logs in for two minutes; after that a new one is printed with the next question.
const LINK: Duration = Duration::from_secs(110);

/// How often the desk is looked at for something that waits.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Serves until the client closes stdin; with an address and no client there, until a signal.
pub(super) fn run(address: Option<&str>, common: Common) -> Result<ExitCode, Failure> {
    let Some(address) = address else {
        return connect::run(
            connect::ConnectArgs { toolset: "questions".to_owned(), no_start: false },
            common,
        );
    };
    common.start_log(LevelFilter::WARN)?;
    let Switch::On(address) = Switch::address(address)? else {
        return Err(Failure::usage("--http has no address to listen on").hint("--http 127.0.0.1:7438"));
    };
    let overrides = Overrides { home: common.home, auth: Some(Auth::Token), ..Overrides::default() };
    let mut config = Config::load(overrides, Roots::User)?;
    // The hub's rows are the hub's; who has the address has these.
    config.database = match address.port() {
        0 => Database::Memory,
        port => Database::File(config.home.join(format!("questions-{port}.db"))),
    };
    let runners =
        Selector::new(&RunnersConfig::default(), None, CommandVariant::Native).map_err(Failure::new)?;
    let app = App::new(config, runners);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(app, address))?;
    stdio::close();
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn serve(app: Arc<App>, address: std::net::SocketAddr) -> Result<(), Failure> {
    let door =
        http::BoundListener::open(address, &app.config.http, &app.config.home).await.map_err(Failure::new)?;
    let door = door.allow_unauthenticated_agents();
    output::note(format!("questions on http://{}/mcp", door.address()));
    let _ = app.listening.console.set(door.console().to_owned());
    let links = door.links();
    let mut stop = Stop::new()?;
    let desk = {
        let (questions, stop) = (app.questions.clone(), app.shutdown.clone());
        tokio::spawn(async move { questions.run_timers(stop).await })
    };
    let listening = tokio::spawn(http::serve_questions(app.clone(), door));
    let telling = tokio::spawn(app.shutdown.clone().run_until_cancelled_owned(tell(app.clone(), links)));
    let (input, out) = stdio::open()?;
    // A terminal, or nothing at all, is no client whose end would mean anything.
    let client = rustix::fs::fstat(io::stdin()).is_ok_and(|found| {
        !matches!(FileType::from_raw_mode(found.st_mode), FileType::CharacterDevice | FileType::RegularFile)
    });
    let serving = mcp::serve_stream(
        app.clone(),
        mcp::ToolsetSelection::Questions,
        ConnectionKind::Stdio,
        None,
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
        _ = stop.asked() => {}
    }
    app.shutdown.cancel();
    // A task that panicked has ended too.
    let _ = tokio::join!(desk, listening, telling);
    Ok(())
}

/// Prints where to answer whenever something waits and the last link is used up.
async fn tell(app: Arc<App>, links: impl Fn() -> Option<String>) {
    let mut told: Option<Instant> = None;
    loop {
        let waits = app.questions.pending(None, 1).await.is_ok_and(|page| page.total > 0);
        if waits
            && told.is_none_or(|told| told.elapsed() > LINK)
            && let Some(link) = links()
        {
            told = Some(Instant::now());
            output::note(format!("a question is pending; answer it at {link}"));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
