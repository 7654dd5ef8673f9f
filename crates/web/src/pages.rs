//! The pages, one file each.

pub(super) mod access;
pub(super) mod agent;
pub(super) mod agents;
pub(super) mod approvals;
pub(super) mod calendar;
pub(super) mod history;
pub(super) mod inbox;
pub(super) mod keyboard;
pub(super) mod notification_settings;
pub(super) mod patterns;
pub(super) mod prompt;
pub(super) mod prompts;
pub(super) mod question;
pub(super) mod questions;
pub(super) mod race;
pub(super) mod search;
pub(super) mod settings;
pub(super) mod task;
pub(super) mod tasks;
pub(super) mod thread;
pub(super) mod threads;
pub(super) mod timeline;
pub(super) mod workers;

use std::sync::Arc;

use minijinja::{Value, context};

use crate::error::Failure;
use adjutant_agents::catalogue::Catalogue as AgentCatalogue;
use adjutant_app::App;
use adjutant_host::file_catalogue::Problem;
use adjutant_prompts::Catalogue;

/// Returns a fresh catalogue. The folders are read outside the event loop.
async fn catalogue(app: &Arc<App>) -> Result<Arc<Catalogue>, Failure> {
    app.prompts.files.fresh().await.map_err(Failure::internal)
}

/// Returns a fresh catalogue of the hub's own agents, as [`catalogue`] does for prompts.
async fn definitions(app: &Arc<App>) -> Result<Arc<AgentCatalogue>, Failure> {
    app.agents.registry().files.fresh().await.map_err(Failure::internal)
}

/// Returns a file that a catalogue could not read, for the list of problems.
fn problem_row(problem: &Problem) -> Value {
    context! { root => &problem.source.root, relative => &problem.source.relative, message => &problem.message }
}
