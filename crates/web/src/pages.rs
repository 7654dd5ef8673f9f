//! The pages, one file each.

pub(super) mod agent;
pub(super) mod agents;
pub(super) mod calendar;
pub(super) mod history;
pub(super) mod overview;
pub(super) mod prompt;
pub(super) mod prompts;
pub(super) mod question;
pub(super) mod questions;
pub(super) mod search;
pub(super) mod settings;
pub(super) mod task;
pub(super) mod tasks;
pub(super) mod thread;
pub(super) mod threads;
pub(super) mod timeline;

use std::sync::Arc;

use crate::error::Failure;
use adjutant_agents::catalogue::Catalogue as AgentCatalogue;
use adjutant_app::App;
use adjutant_prompts::Catalogue;

/// Returns a fresh catalogue. Reading the folders blocks, so it happens off the runtime's own threads.
async fn catalogue(app: &Arc<App>) -> Result<Arc<Catalogue>, Failure> {
    if let Some(ready) = app.prompts.ready() {
        return Ok(ready);
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.prompts.load()).await.map_err(Failure::internal)
}

/// Returns a fresh catalogue of the hub's own agents, as [`catalogue`] does for prompts.
async fn definitions(app: &Arc<App>) -> Result<Arc<AgentCatalogue>, Failure> {
    if let Some(ready) = app.agents.registry().ready() {
        return Ok(ready);
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.agents.registry().load()).await.map_err(Failure::internal)
}
