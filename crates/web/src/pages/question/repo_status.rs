//! The status of a question's folder as the hub itself reads it.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use minijinja::{Value, context};

use crate::timefmt;
use adjutant_app::App;
use adjutant_host::git::Facts;

/// Returns the facts about a folder, for a page; none where no folder was named. A page never waits for git: it shows
/// what is known, since when where that is old, and is told when there is something else to see.
pub(super) fn of(app: &Arc<App>, workspace: &str, now: SystemTime) -> Option<Value> {
    if workspace.is_empty() {
        return None;
    }
    let known = app.repo_status.last_known(Path::new(workspace));
    let waiting = known.is_none();
    let (age, seen) = known.unwrap_or_else(|| (None, Ok(Facts::default())));
    let (fault, facts) = match seen {
        Err(fault) => (Some(fault), Facts::default()),
        Ok(facts) => (None, facts),
    };
    Some(context! {
        waiting,
        as_of => age.and_then(|age| now.checked_sub(age)).map(|at| timefmt::time(at, now)),
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
