//! `adjutant mcp popup`: questions to the person, for a client that knows no hub.
//!
//! A question that nobody sees is worse than none, so without more this is `connect popup`: the person's hub shows it,
//! and is started where there is none. With `--http` this process is a desk of its own: the contract at that address
//! and on stdin and stdout, a console beside it, and its link on stderr whenever something waits.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use tracing::level_filters::LevelFilter;

use super::stdio;
use crate::agents::{Form, Selector};
use crate::app::App;
use crate::app::clients::Transport;
use crate::cli::output::{self, Failure};
use crate::cli::stop::Stop;
use crate::cli::{Common, connect};
use crate::config::runners::RunnersConfig;
use crate::config::{Auth, Config, Database, Overrides, Roots, Switch};
use crate::http;
use crate::mcp;

/// A link logs in for two minutes; after that a new one is printed with the next question.
const LINK: Duration = Duration::from_secs(110);

/// How often the desk is looked at for something that waits.
const LOOK: Duration = Duration::from_millis(500);

/// Serves until the client closes stdin; with an address and no client there, until a signal.
pub(super) fn run(address: Option<&str>, common: Common) -> Result<ExitCode, Failure> {
    let Some(address) = address else {
        return connect::run(connect::ConnectArgs { server: "popup".to_owned(), no_start: false }, common);
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
        port => Database::File(config.home.join(format!("popup-{port}.db"))),
    };
    let runners = Selector::new(&RunnersConfig::default(), None, Form::Own).map_err(Failure::new)?;
    let app = App::new(config, runners);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(app, address))?;
    stdio::close();
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn serve(app: Arc<App>, address: std::net::SocketAddr) -> Result<(), Failure> {
    let door = http::Door::open(address, &app.config.http, &app.config.home).await.map_err(Failure::new)?;
    let door = door.letting_agents_pass();
    output::note(format!("popups on http://{}/mcp", door.address()));
    let _ = app.listening.console.set(door.console().to_owned());
    let links = door.links();
    let mut stop = Stop::new()?;
    let desk = {
        let (popups, stop) = (app.popups.clone(), app.shutdown.clone());
        tokio::spawn(async move { popups.work(stop).await })
    };
    let listening = tokio::spawn(http::serve_popups(app.clone(), door));
    let telling = tokio::spawn(app.shutdown.clone().run_until_cancelled_owned(tell(app.clone(), links)));
    let (input, out) = stdio::open()?;
    // A terminal, or nothing at all, is no client whose end would mean anything.
    let client = rustix::fs::fstat(io::stdin()).is_ok_and(|found| {
        !matches!(FileType::from_raw_mode(found.st_mode), FileType::CharacterDevice | FileType::RegularFile)
    });
    let serving = mcp::serve_stream(app.clone(), mcp::Server::Popup, Transport::Stdio, None, input, out);
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
        let waits = app.popups.pending(None, 1).await.is_ok_and(|page| page.total > 0);
        if waits
            && told.is_none_or(|told| told.elapsed() > LINK)
            && let Some(link) = links()
        {
            told = Some(Instant::now());
            output::note(format!("a question waits; answer it at {link}"));
        }
        tokio::time::sleep(LOOK).await;
    }
}
