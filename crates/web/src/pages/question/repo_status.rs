//! The status of a question's folder as the hub itself reads it.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use minijinja::context;
use minijinja::value::{Serde, Value};

use adjutant_app::App;
use adjutant_base::text::timefmt::millis;
use adjutant_host::git::Facts;

/// Returns the status of a folder for a page; `None` without a folder. A page never waits for Git: it shows the last known
/// status with its age, and is updated when the status changes.
pub(super) fn of(app: &Arc<App>, workspace: &str, now: SystemTime) -> Option<Value> {
    if workspace.is_empty() {
        return None;
    }
    let known = app.repo_status.last_known(Path::new(workspace));
    let waiting = known.is_none();
    let (age, read) = known.unwrap_or_else(|| (None, Ok(Facts::default())));
    let fault = read.as_ref().err().cloned();
    let facts = read.unwrap_or_default();
    Some(context! {
        waiting,
        as_of => age.and_then(|age| now.checked_sub(age)).map(millis),
        fault,
        ..Value::from(Serde(&facts))
    })
}
