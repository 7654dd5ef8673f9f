//! The pages, one file each.

pub(super) mod agent;
pub(super) mod agents;
pub(super) mod calendar;
pub(super) mod find;
pub(super) mod history;
pub(super) mod overview;
pub(super) mod prompt;
pub(super) mod prompts;
pub(super) mod question;
pub(super) mod questions;
pub(super) mod settings;
pub(super) mod task;
pub(super) mod tasks;
pub(super) mod thread;
pub(super) mod threads;
pub(super) mod timeline;

use std::sync::Arc;

use crate::agents::catalogue::Catalogue as Definitions;
use crate::app::App;
use crate::prompts::Catalogue;
use crate::web::error::Failure;

/// Returns a fresh catalogue. Reading the folders blocks, so it happens off the runtime's own threads.
async fn catalogue(app: &Arc<App>) -> Result<Arc<Catalogue>, Failure> {
    if let Some(ready) = app.prompts.ready() {
        return Ok(ready);
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.prompts.load()).await.map_err(Failure::internal)
}

/// Returns a fresh catalogue of the hub's own agents, as [`catalogue`] does for prompts.
async fn definitions(app: &Arc<App>) -> Result<Arc<Definitions>, Failure> {
    if let Some(ready) = app.agents.definitions().ready() {
        return Ok(ready);
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.agents.definitions().load()).await.map_err(Failure::internal)
}
