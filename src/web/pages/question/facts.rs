//! What the hub itself sees of the folder a question is about, beside what the agent says of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use minijinja::{Value, context};

use crate::app::App;
use crate::git::Facts;

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
    let (waiting, fault, facts) = match tokio::time::timeout(PATIENCE, look).await {
        Err(_) => (true, None, Facts::default()),
        Ok(Err(_)) => (false, Some("it could not be looked at".to_owned()), Facts::default()),
        Ok(Ok(Err(fault))) => (false, Some(fault), Facts::default()),
        Ok(Ok(Ok(facts))) => (false, None, facts),
    };
    Some(context! {
        waiting,
        fault,
        branch => facts.branch,
        commit => facts.commit,
        dirty => facts.dirty,
        more => facts.more,
        files => facts.files.iter().map(|(what, path)| context! { what, path }).collect::<Vec<_>>(),
        insertions => facts.insertions,
        deletions => facts.deletions,
    })
}
