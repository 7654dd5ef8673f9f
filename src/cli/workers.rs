//! `adjutant workers …`: the workers that hubs know.

use std::time::SystemTime;

use clap::Subcommand;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Common, hub_client, native_runners};
use adjutant_agents::worker_registry::{ListedWorker, WorkerState};
use adjutant_agents::{Agents, Error};
use adjutant_app::App;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Config, Roots};
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt::{instant, span};

/// Characters of a shortened id.
const SHORT_ID_LEN: usize = 12;

/// Commands of `adjutant workers`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List workers with their state, their tasks and the end of their credentials
    List,
    /// Revoke a worker: no hub answers it from now on, and its running tasks are lost
    Revoke {
        /// The name of the worker, or its id
        worker: String,
    },
    /// Let a worker end its tasks and claim no more
    Drain {
        /// The name of the worker, or its id
        worker: String,
    },
    /// Let a drained worker claim tasks again
    Resume {
        /// The name of the worker, or its id
        worker: String,
    },
}

/// Runs one of the commands.
pub(super) fn run(command: Command, common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    hub_client::check(&config)?;
    match command {
        Command::List => {
            print(&with_agents(config, async |agents| agents.workers().await.map_err(Failure::new))?)
        }
        Command::Revoke { worker } => {
            let before = with_agents(config, async |agents| {
                agents.revoke_worker(&worker).await.map_err(|error| failure(&error))
            })?;
            let value = json!({"id": before.id, "name": before.name, "revoked": true});
            output::changed(format!("revoked `{}`", escape_line(&before.name)), &value)
        }
        Command::Drain { worker } => drain(config, &worker, true),
        Command::Resume { worker } => drain(config, &worker, false),
    }
}

/// Runs `act` on the tasks and workers of the database that the hub of `config` uses.
pub(super) fn with_agents<T>(
    config: Config,
    act: impl AsyncFnOnce(Agents) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let app = App::new(config, native_runners(&RunnersConfig::default())?);
    runtime.block_on(act(app.agents.clone()))
}

fn drain(config: Config, worker: &str, draining: bool) -> Result<(), Failure> {
    let before = with_agents(config, async |agents| {
        agents.drain_worker(worker, draining).await.map_err(|error| failure(&error))
    })?;
    let name = escape_line(&before.name);
    let line = match (draining, before.tasks.len()) {
        (true, 0) => format!("`{name}` claims no more tasks"),
        (true, count) => format!("`{name}` claims no more tasks, and ends after its {count} running"),
        (false, _) => format!("`{name}` may claim tasks; start it if it has ended"),
    };
    output::changed(line, &json!({"id": before.id, "name": before.name, "draining": draining}))
}

fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error);
    match error {
        Error::UnknownWorker { .. } | Error::SeveralWorkers { .. } => {
            failure.hint("`adjutant workers list` shows them; an id or its beginning names one")
        }
        _ => failure,
    }
}

fn print(workers: &[ListedWorker]) -> Result<(), Failure> {
    if output::is_json() {
        return output::json(&output::list(workers.iter().map(as_json).collect(), "worker_id"));
    }
    let rows = workers.iter().map(|worker| {
        [
            worker.id.get(..SHORT_ID_LEN).unwrap_or(&worker.id).to_owned(),
            escape_line(&worker.name),
            worker.state.name().to_owned(),
            format!("{} of {}", worker.tasks.len(), worker.max_tasks),
            escape_line(&[worker.runners.join(" "), worker.labels.join(" ")].join("  ")),
            escape_line(&worker.version),
            expiry(worker),
            ago(worker.seen_at),
        ]
    });
    output::table(
        ["ID", "NAME", "STATE", "TASKS", "RUNNERS, LABELS", "VERSION", "CREDENTIALS", "SEEN"],
        4,
        &rows.collect::<Vec<_>>(),
        "no workers yet; `adjutant worker invite` makes a code to join with",
    )?;
    for worker in
        workers.iter().filter(|worker| worker.is_other_version && worker.state != WorkerState::Revoked)
    {
        output::note(format!(
            "`{}` has adjutant {}, this is {}; install the same version on both",
            escape_line(&worker.name),
            escape_line(&worker.version),
            env!("CARGO_PKG_VERSION")
        ));
    }
    Ok(())
}

fn as_json(worker: &ListedWorker) -> Value {
    output::with_instants(json!(worker), &["/joined_at", "/expires_at", "/seen_at"])
}

/// Describes the end of a worker's credentials.
fn expiry(worker: &ListedWorker) -> String {
    match worker.expires_at {
        None => "none".to_owned(),
        Some(end) => match instant(end).duration_since(SystemTime::now()) {
            Ok(left) => format!("for {}", span(left)),
            Err(_) => "expired".to_owned(),
        },
    }
}

/// Returns how long ago an instant was.
fn ago(millis: i64) -> String {
    let since = SystemTime::now().duration_since(instant(millis)).unwrap_or_default();
    format!("{} ago", span(since))
}
