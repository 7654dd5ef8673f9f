//! `adjutant stop` and `adjutant restart`.

use std::ffi::OsString;
use std::fmt::Display;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::tasks::short_id;
use super::{Common, status};
use adjutant_agents::task::State;
use adjutant_base::config::{Config, Roots};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::process;
use adjutant_terminal::socket::control::hub::{RunningTasks, Stopped};
use adjutant_terminal::socket::control::tasks::Query;
use adjutant_terminal::socket::control::{self, ControlClient};
use adjutant_terminal::socket::{self, Start};

/// Time for a stopped hub to end after its requests in flight.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum running tasks that are listed.
const MAX_LISTED: u32 = 100;

/// Arguments of `adjutant stop` and `adjutant restart`.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Wait until the running tasks have ended; no other task is started
    #[arg(long)]
    wait: bool,
    /// Cancel the running tasks
    #[arg(long, conflicts_with = "wait")]
    cancel: bool,
}

/// Ends the hub.
pub(super) fn stop(args: &StopArgs, common: Common) -> Result<(), Failure> {
    let config = common.hub_config()?;
    let stopped = end(args, &config, false)?.is_some();
    let line = if stopped {
        "the hub has stopped; a new client or `adjutant serve --background` starts it again"
    } else {
        "no hub runs"
    };
    output::changed(line, &json!({"stopped": stopped}))
}

/// Ends the hub, and starts it again as it was started.
pub(super) fn restart(args: &StopArgs, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let home = || vec!["serve".into(), "--home".into(), config.home.clone().into_os_string()];
    check(&config, home())?;
    let again: Vec<OsString> = match end(args, &config, true)? {
        // The service manager listens, and starts the hub for a connection.
        Some(Stopped { arguments: None }) => {
            let hub = status::query_hub(&config, socket::Query::Status)?;
            return restarted(format!("the service runs the hub again (pid {})", hub.pid), &config);
        }
        Some(Stopped { arguments: Some(words) }) => words.into_iter().map(OsString::from).collect(),
        None => home(),
    };
    let again = again.into_iter().filter(|word| word != "--detached").chain(["--background".into()]);
    let started = process::run_self(&again.collect::<Vec<_>>())?;
    let text = String::from_utf8_lossy(&started.stderr);
    if !started.status.success() {
        // A client may have started it in between.
        if let Ok(hub) = status::query_hub(&config, socket::Query::Status) {
            return restarted(format!("a client has started the hub again (pid {})", hub.pid), &config);
        }
        let reason = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        return Err(Failure::new(format!("the hub has stopped and could not be started again: {reason}")));
    }
    restarted(text.trim(), &config)
}

/// Checks that the running hub could start again with the configuration as it is now; `home` are the arguments of a hub
/// without others. The hub still runs if this fails.
fn check(config: &Config, home: Vec<OsString>) -> Result<(), Failure> {
    let client = ControlClient::connect(&config.home, config.socket.as_deref(), None, Start::Never);
    // Without a hub, its start checks the same.
    let Ok(mut client) = client else { return Ok(()) };
    let words = match client.restart_arguments() {
        Ok(Stopped { arguments: Some(words) }) => words.into_iter().map(OsString::from).collect(),
        Ok(Stopped { arguments: None }) | Err(_) => home,
    };
    let words = words.into_iter().filter(|word| word != "--detached").chain(["--check".into()]);
    let checked = process::run_self(&words.collect::<Vec<_>>())?;
    if checked.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&checked.stderr);
    let mut lines = text.lines();
    let reason = lines.next().unwrap_or_default();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    let failure = Failure::new(format!("the hub still runs, because it could not start again: {reason}"));
    Err(lines.filter_map(|line| line.strip_prefix("hint: ")).fold(failure, Failure::hint))
}

/// Reports the hub that runs now.
fn restarted(line: impl Display, config: &Config) -> Result<(), Failure> {
    let hub = if output::is_json() { Some(status::query_hub(config, socket::Query::Status)?) } else { None };
    output::changed(line, &json!({"pid": hub.map(|hub| hub.pid)}))
}

/// Ends the hub of `config`'s home, and waits until the next one can start; `None` if none runs.
fn end(args: &StopArgs, config: &Config, restarts: bool) -> Result<Option<Stopped>, Failure> {
    let client = ControlClient::connect(&config.home, config.socket.as_deref(), None, Start::Never);
    let mut client = match client {
        Err(control::Error::Hub(socket::Error::NoHub { .. })) if socket::vacant(&config.home) => {
            return Ok(None);
        }
        client => client?,
    };
    let query = Query { states: vec![State::Running], limit: MAX_LISTED, ..Query::default() };
    let running = match client.tasks(query) {
        Ok(running) => running.tasks,
        // A hub ends too if its store does not answer; it knows itself whether tasks run.
        Err(control::Error::Rejected(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    for task in &running {
        let (agent, text) = (escape_line(&task.agent), escape_line(&task.text));
        output::note(format!("task {} runs: {agent}: {}", short_id(&task.id), output::clipped(&text, 60)));
    }
    let tasks = match (args.wait, args.cancel) {
        (true, _) => RunningTasks::Await,
        (_, true) => RunningTasks::Cancel,
        (false, false) => RunningTasks::Keep,
    };
    let stopped = client.stop(tasks, restarts).map_err(|error| match error {
        control::Error::Rejected(_) if tasks == RunningTasks::Keep => {
            Failure::from(error).hint("--wait ends the hub after them, --cancel cancels them")
        }
        error => error.into(),
    })?;
    let end = Instant::now() + config.grace + END_TIMEOUT;
    while !socket::vacant(&config.home) {
        if Instant::now() > end {
            return Err(Failure::new("the hub was stopped, and has not ended in time")
                .hint("`adjutant status` shows its pid"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(Some(stopped))
}
