//! `adjutant doctor`: checks of the installation, and their remedies.
//!
//! Every check is a function that examines one thing and returns a [`CheckResult`]. All checks run concurrently, each with
//! a timeout. No vendor is called: a runner's files show whether it is logged in.

mod certificate;
mod check_result;
mod clients;
mod clock;
mod database;
mod desktop;
mod handshake;
mod hub;
mod machines;
mod orphaned_runs;
mod permissions;
mod repair;
mod report;
mod runners;
mod service;
mod workers;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;
use tokio::task::JoinSet;

use super::output::{self, Failure};
use super::{Common, native_runners, status};
use adjutant_agents::Selector;
use adjutant_base::config::{Config, Roots};
use adjutant_terminal::socket::{HelloReply, Query};
use check_result::{Check, CheckResult, Status};

/// Timeout of a check. The slowest one asks an interpreted program for its version.
const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// Arguments of `adjutant doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: nothing failed; warnings do not count.")]
pub(super) struct DoctorArgs {
    /// Repair what can be repaired without loss, and check again
    #[arg(long)]
    fix: bool,
    /// Check this program over MCP instead of the running one, such as the one a client starts
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Input of the checks.
#[derive(Debug)]
struct DoctorContext {
    config: Config,
    selector: Selector,
    /// Status of the hub, if one runs.
    hub: Option<HelloReply>,
    /// The program that clients start.
    program: PathBuf,
}

/// A check that runs.
type PendingCheck = Pin<Box<dyn Future<Output = CheckResult> + Send>>;

/// Runs the checks, repairs with `--fix`, and prints the results.
pub(super) fn run(args: &DoctorArgs, common: Common) -> Result<ExitCode, Failure> {
    let home = common.home.clone();
    let config = match common.config(Roots::User) {
        Ok(config) => config,
        // The other checks need the configuration.
        Err(failure) => {
            let remedy = failure.hints.first().map(String::as_str);
            let remedy = remedy.unwrap_or("correct config.toml; the other checks need it");
            let check = Check::new("config", CheckResult::fail(&failure.message, remedy));
            return print(args, None, &[check]);
        }
    };
    let program = match &args.program {
        Some(program) => std::path::absolute(program)?,
        None => std::env::current_exe()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let check_all = || -> Result<Vec<Check>, Failure> {
        let context = DoctorContext {
            selector: native_runners(&config.runners)?,
            hub: status::query_hub(&config, Query::Status).ok(),
            program: program.clone(),
            config: config.clone(),
        };
        let bar = output::bar("{bar:24} {pos} of {len} checks");
        let checks = runtime.block_on(all(Arc::new(context), &bar));
        bar.finish_and_clear();
        Ok(checks)
    };
    let mut checks = check_all()?;
    if args.fix {
        let done = runtime.block_on(repair::all(&checks, home.as_deref(), &config));
        if !done.is_empty() {
            checks = check_all()?;
            repair::record(&mut checks, done);
        }
    }
    // A thread of a check that hangs ends with the process.
    runtime.shutdown_background();
    print(args, Some(&config.home), &checks)
}

/// Prints the checks, and returns the exit code.
fn print(args: &DoctorArgs, home: Option<&Path>, checks: &[Check]) -> Result<ExitCode, Failure> {
    let worst = checks.iter().map(|check| check.found.status).max().unwrap_or(Status::Ok);
    if output::is_json() {
        let summary = json!({"adjutant": env!("CARGO_PKG_VERSION"), "home": home, "status": worst});
        let checks = output::list(checks.iter().map(Check::json).collect(), "check_id");
        output::json(&output::with(summary, checks))?;
    } else {
        report::print(checks, args.fix)?;
    }
    Ok(if worst == Status::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs all checks concurrently and returns them in their order.
async fn all(context: Arc<DoctorContext>, bar: &ProgressBar) -> Vec<Check> {
    let mut pending: Vec<(String, PendingCheck)> = Vec::new();
    let mut add = |id: &str, check: PendingCheck| pending.push((id.to_owned(), check));
    let blocking = |check: fn(&DoctorContext) -> CheckResult| -> PendingCheck {
        let context = context.clone();
        Box::pin(blocking(move || check(&context)))
    };
    add("config", blocking(hub::config));
    add("home.permissions", blocking(permissions::home));
    add("passphrase", blocking(permissions::passphrase));
    add("socket.permissions", blocking(permissions::socket));
    add("program", blocking(permissions::program));
    add("hub", blocking(hub::version));
    add("port", blocking(hub::port));
    add("certificate", blocking(certificate::served));
    add("handshake.stdio", Box::pin(handshake::stdio(context.clone())));
    add("handshake.socket", Box::pin(handshake::socket(context.clone())));
    add("handshake.http", Box::pin(handshake::http(context.clone())));
    add("stdout.purity", Box::pin(handshake::purity(context.clone())));
    for (name, check) in runners::all(&context) {
        add(&format!("runner.{name}"), check);
    }
    add("runners", blocking(runners::any));
    add("sandbox", Box::pin(runners::sandbox(context.clone())));
    add("clients", blocking(clients::configured));
    add("database", Box::pin(database::integrity(context.clone())));
    add("machines", Box::pin(machines::all(context.clone())));
    add("workers", Box::pin(workers::all(context.clone())));
    add("runs", blocking(orphaned_runs::orphans));
    add("display", blocking(|_| desktop::display()));
    add("notifications", Box::pin(desktop::notifications(context.clone())));
    add("service", blocking(service::enabled));
    add("clock", blocking(clock::check));
    let mut checks: Vec<Check> =
        pending.iter().map(|(id, _)| Check::new(id, CheckResult::skipped("it did not run"))).collect();
    let mut tasks = JoinSet::new();
    for (place, (_, check)) in pending.into_iter().enumerate() {
        tasks.spawn(async move { (place, tokio::time::timeout(CHECK_TIMEOUT, check).await) });
    }
    bar.set_length(checks.len() as u64);
    while let Some(joined) = tasks.join_next().await {
        bar.inc(1);
        let Ok((place, found)) = joined else { continue };
        if let Some(check) = checks.get_mut(place) {
            check.found = found.unwrap_or_else(|_| {
                CheckResult::fail(
                    format!("it did not answer within {} s", CHECK_TIMEOUT.as_secs()),
                    "try again when the machine is less busy; `adjutant doctor -vv` logs more",
                )
            });
        }
    }
    checks
}

/// Runs a blocking check on a thread. A panic is a failure.
async fn blocking(check: impl FnOnce() -> CheckResult + Send + 'static) -> CheckResult {
    tokio::task::spawn_blocking(check).await.unwrap_or_else(|_| {
        CheckResult::fail("the check panicked", "this is a bug of adjutant: please report it")
    })
}
