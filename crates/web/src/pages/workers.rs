//! `/settings/workers`: the workers that this hub knows, and what each runs.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minijinja::{Value, context};

use crate::csrf;
use crate::error::Failure;
use crate::page::{self, Place};
use crate::request::SignedForm;
use crate::timefmt::left;
use adjutant_agents::worker_registry::{ListedWorker, WorkerState};
use adjutant_app::{App, health};

/// The path of the page.
const PATH: &str = "/settings/workers";

/// Maximum machines of the list.
const MAX_MACHINES: usize = 50;

pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    render(&app, None).await
}

/// Drains, resumes or revokes a worker.
pub(crate) async fn act(
    State(app): State<Arc<App>>,
    SignedForm(fields): SignedForm,
) -> Result<Response, Failure> {
    let worker = fields.get("worker");
    let done = match fields.get("act") {
        "drain" => app.agents.drain_worker(worker, true).await,
        "resume" => app.agents.drain_worker(worker, false).await,
        "revoke" => app.agents.revoke_worker(worker).await,
        _ => return render(&app, Some("unknown act".to_owned())).await,
    };
    match done {
        Ok(_) => Ok(page::redirect(PATH)),
        Err(error) => render(&app, Some(error.to_string())).await,
    }
}

async fn render(app: &App, fault: Option<String>) -> Result<Response, Failure> {
    let workers = app.agents.workers().await.map_err(Failure::internal)?;
    // A database of one machine has no list of machines.
    let machines = match app.machine() {
        "" => Vec::new(),
        _ => health::machines(&app.config.database).await.map_err(Failure::internal)?,
    };
    let machine = |machine: &health::Machine| context! { id => &machine.id, version => &machine.version };
    let values = context! {
        // The address may have a login in front.
        nats => app.config.workers.nats.as_deref().map(|address| address.rsplit('@').next().unwrap_or_default()),
        machines => machines.iter().take(MAX_MACHINES).map(machine).collect::<Vec<_>>(),
        csrf => csrf::token()?,
        workers => workers.iter().map(row).collect::<Vec<_>>(),
        is_served => app.config.workers.nats.is_some(),
        version => env!("CARGO_PKG_VERSION"),
        fault,
    };
    page::page(app, Place::Section("/settings"), "workers.html", values).await
}

fn row(worker: &ListedWorker) -> Value {
    context! {
        id => &worker.id,
        name => &worker.name,
        state => worker.state.name(),
        is_active => !matches!(worker.state, WorkerState::Revoked | WorkerState::Expired),
        is_draining => worker.state == WorkerState::Draining,
        version => &worker.version,
        is_other_version => worker.is_other_version,
        runners => &worker.runners,
        labels => &worker.labels,
        max_tasks => worker.max_tasks,
        tasks => worker.tasks.iter().map(|task| context! { id => &task.task_id, agent => &task.agent }).collect::<Vec<_>>(),
        has_credentials => worker.joined_at.is_some(),
        left => worker.expires_at.and_then(left),
        seen_at => worker.seen_at,
    }
}
