//! What the hub itself sees of the folder a question is about, beside what the agent says of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use minijinja::{Value, context};

use crate::app::App;

/// A page does not wait longer than this for git; the look goes on, and the page's next version has it.
const PATIENCE: Duration = Duration::from_millis(150);

/// Returns the facts about a folder; none where no folder was named.
pub(super) async fn of(app: &Arc<App>, workspace: &str) -> Option<Value> {
    if workspace.is_empty() {
        return None;
    }
    let folder = PathBuf::from(workspace);
    let look = tokio::spawn({
        let app = app.clone();
        async move { app.facts(&folder).await }
    });
    Some(match tokio::time::timeout(PATIENCE, look).await {
        Err(_) => context! { waiting => true },
        Ok(Err(_)) => context! { fault => "it could not be looked at" },
        Ok(Ok(Err(fault))) => context! { fault },
        Ok(Ok(Ok(facts))) => context! {
            branch => facts.branch,
            commit => facts.commit,
            dirty => facts.dirty,
            more => facts.more,
            files => facts.files.iter().map(|(what, path)| context! { what, path }).collect::<Vec<_>>(),
            insertions => facts.insertions,
            deletions => facts.deletions,
        },
    })
}
