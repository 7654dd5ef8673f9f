//! Planning for one user in this process, shared by `plan USER` and `plan --all`.

use std::future::Future;
use std::sync::Arc;

use jiff::Timestamp;

use super::super::local_assistant::asks_runners;
use adjutant_app::App;
use adjutant_app::proposals;
use adjutant_app::proposals::{Client, PlanResult, Providers};
use adjutant_assistant::{Error, EventId, UserId};

/// Runs `planning`, and the task queue meanwhile if the configuration asks runners. All runs have ended when this returns.
/// They also end if this process is killed.
pub(super) async fn with_runners<T>(app: &Arc<App>, planning: impl Future<Output = T>) -> T {
    if !asks_runners(&app.config) {
        return planning.await;
    }
    let (agents, stop) = (app.agents.clone(), app.shutdown.clone());
    let work = tokio::spawn(async move { agents.run(stop).await });
    let planned = planning.await;
    app.shutdown.cancel();
    // The worker ends by itself; a failure of its task changes nothing here.
    let _ = work.await;
    planned
}

/// Plans with the configured providers. This process has no connected client to ask.
pub(super) async fn planned_for(
    app: &App,
    user: &UserId,
    event: Option<&EventId>,
    force: bool,
    now: Timestamp,
) -> Result<PlanResult, Error> {
    let client = Client::default();
    let providers = Providers {
        config: &app.config.assistant,
        agents: Some(&app.agents),
        client: &client,
        cancelled: &app.shutdown,
    };
    Ok(proposals::plan(&app.assistant, providers, (user, event), force, now).await?.unwrap_or_default())
}
