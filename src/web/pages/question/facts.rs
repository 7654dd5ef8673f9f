//! What the hub itself sees of the folder a question is about, beside what the agent says of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use minijinja::{Value, context};

use crate::app::App;
use crate::git::Facts;

/// A page does not wait longer than this for git; the look goes on, and the page's next version has it.
const PATIENCE: Duration = Duration::from_millis(150);

/// Returns the facts about a folder, for a page; none where no folder was named.
pub(super) async fn of(app: &Arc<App>, workspace: &str) -> Option<Value> {
    if workspace.is_empty() {
        return None;
    }
    let (waiting, fault, facts) = match look(app, workspace, PATIENCE).await {
        None => (true, None, Facts::default()),
        Some(Err(fault)) => (false, Some(fault), Facts::default()),
        Some(Ok(facts)) => (false, None, facts),
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

/// Looks at a folder; `None` when git has not answered within `patience`.
pub(in crate::web::pages) async fn look(
    app: &Arc<App>,
    folder: &str,
    patience: Duration,
) -> Option<Result<Facts, String>> {
    let folder = PathBuf::from(folder);
    let look = tokio::spawn({
        let app = app.clone();
        async move { app.facts(&folder).await }
    });
    let seen = tokio::time::timeout(patience, look).await.ok()?;
    Some(seen.unwrap_or_else(|_| Err("it could not be looked at".to_owned())))
}
