//! The pages, one file each.

pub(super) mod overview;
pub(super) mod prompt;
pub(super) mod prompts;

use std::sync::Arc;

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
