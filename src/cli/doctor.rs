//! `adjutant doctor`: what is wrong here, and what to do about it.
//!
//! Every check is a function that looks at one thing and returns a [`Found`]. All run side by side, each with a
//! deadline of its own, so nothing hangs. No vendor is called: what a runner's login is worth, its files say.

mod check;
mod clients;
mod clock;
mod database;
mod desktop;
mod fix;
mod handshake;
mod hub;
mod places;
mod runners;
mod runs;
mod service;
mod show;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::task::JoinSet;

use super::output::{self, Failure};
use super::{Common, status};
use crate::agents::{Form, Selector};
use crate::config::{Config, Roots};
use crate::socket::{Ask, Welcome};
use check::{Check, Found, Status};

/// How long a check may take. The slowest asks a program its version that is a script of an interpreter.
const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of `adjutant doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: nothing failed; warnings are no failure.")]
pub(super) struct DoctorArgs {
    /// Repair what can be repaired without a loss, say what was done, and look again
    #[arg(long)]
    fix: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Let this program speak MCP instead of the one that runs, such as the one that a client starts
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// What the checks look at.
#[derive(Debug)]
struct Patient {
    config: Config,
    selector: Selector,
    /// What the hub says of itself, if one runs.
    hub: Option<Welcome>,
    /// The program that clients start.
    program: PathBuf,
}

/// A check at work.
type Looking = Pin<Box<dyn Future<Output = Found> + Send>>;

/// Looks, repairs if asked to, and tells.
pub(super) fn run(args: &DoctorArgs, common: Common) -> Result<ExitCode, Failure> {
    let home = common.home.clone();
    let config = match common.config(Roots::User) {
        Ok(config) => config,
        Err(failure) => return unreadable(&failure, args.json),
    };
    let program = match &args.program {
        Some(program) => std::path::absolute(program)?,
        None => std::env::current_exe()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let look = || -> Result<Vec<Check>, Failure> {
        let patient = Patient {
            selector: Selector::new(&config.runners, None, Form::Own).map_err(Failure::new)?,
            hub: status::ask(&config, Ask::Status).ok(),
            program: program.clone(),
            config: config.clone(),
        };
        let progress = show::Waiting::new(args.json);
        Ok(runtime.block_on(all(Arc::new(patient), &progress)))
    };
    let mut checks = look()?;
    if args.fix {
        let done = runtime.block_on(fix::all(&checks, home.as_deref(), &config));
        if !done.is_empty() {
            checks = look()?;
            fix::note(&mut checks, done);
        }
    }
    // A check that hangs for ever on a thread of its own ends with the process.
    runtime.shutdown_background();
    let worst = checks.iter().map(|check| check.found.status).max().unwrap_or(Status::Ok);
    if args.json {
        output::json(&json!({
            "adjutant": env!("CARGO_PKG_VERSION"),
            "home": config.home,
            "status": worst.word(),
            "checks": checks.iter().map(Check::json).collect::<Vec<_>>(),
        }))?;
    } else {
        show::print(&checks, args.fix)?;
    }
    Ok(if worst == Status::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Tells of a configuration that cannot be read: without it nothing else can be looked at.
fn unreadable(failure: &Failure, as_json: bool) -> Result<ExitCode, Failure> {
    let remedy = failure.hints.first().cloned();
    let remedy =
        remedy.unwrap_or_else(|| "correct config.toml; everything else is looked at then".to_owned());
    let check = Check::new("config", Found::fail(&failure.message, remedy));
    if as_json {
        let version = env!("CARGO_PKG_VERSION");
        output::json(
            &json!({"adjutant": version, "home": null, "status": "fail", "checks": [check.json()]}),
        )?;
    } else {
        show::print(&[check], false)?;
    }
    Ok(ExitCode::FAILURE)
}

/// Runs all checks side by side and returns them in their order.
async fn all(patient: Arc<Patient>, progress: &show::Waiting) -> Vec<Check> {
    let mut looking: Vec<(String, Looking)> = Vec::new();
    let mut add = |id: &str, look: Looking| looking.push((id.to_owned(), look));
    let whole = patient.clone();
    add("config", Box::pin(async move { hub::config(&whole) }));
    add("home.permissions", Box::pin(places::home(patient.clone())));
    add("socket.permissions", Box::pin(places::socket(patient.clone())));
    add("program", Box::pin(places::program(patient.clone())));
    add("hub", Box::pin(hub::version(patient.clone())));
    add("port", Box::pin(hub::port(patient.clone())));
    add("handshake.stdio", Box::pin(handshake::stdio(patient.clone())));
    add("handshake.socket", Box::pin(handshake::socket(patient.clone())));
    add("handshake.http", Box::pin(handshake::http(patient.clone())));
    add("stdout.purity", Box::pin(handshake::purity(patient.clone())));
    for (name, look) in runners::all(&patient) {
        add(&format!("runner.{name}"), look);
    }
    let whole = patient.clone();
    add("runners", Box::pin(async move { runners::any(&whole) }));
    add("clients", Box::pin(clients::configured(patient.clone())));
    add("database", Box::pin(database::integrity(patient.clone())));
    add("runs", Box::pin(runs::orphans(patient.clone())));
    add("display", Box::pin(desktop::display()));
    add("notifications", Box::pin(desktop::notifications(patient.clone())));
    add("service", Box::pin(service::files(patient.clone())));
    add("clock", Box::pin(clock::look(patient)));
    let mut checks: Vec<Check> =
        looking.iter().map(|(id, _)| Check::new(id, Found::skipped("it was not looked at"))).collect();
    let mut tasks = JoinSet::new();
    for (place, (_, look)) in looking.into_iter().enumerate() {
        tasks.spawn(async move { (place, tokio::time::timeout(PATIENCE, look).await) });
    }
    progress.begin(checks.len());
    while let Some(joined) = tasks.join_next().await {
        progress.one_more();
        let Ok((place, found)) = joined else { continue };
        if let Some(check) = checks.get_mut(place) {
            check.found = found.unwrap_or_else(|_| {
                let late = format!("it did not answer within {} s", PATIENCE.as_secs());
                Found::fail(late, "try again when the machine is less busy; `adjutant doctor -vv` says more")
            });
        }
    }
    checks
}

/// Does what blocks on a thread for that. A check that panics is one that failed.
async fn blocking(look: impl FnOnce() -> Found + Send + 'static) -> Found {
    tokio::task::spawn_blocking(look).await.unwrap_or_else(|_| {
        Found::fail("the check broke off", "this is a fault of adjutant: please report it")
    })
}
