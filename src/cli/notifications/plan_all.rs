//! `adjutant notifications plan --all`.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use serde_json::json;

use super::super::output::{self, Failure};
use super::single_user_plan::planned_for;
use adjutant_app::App;
use adjutant_assistant::User;
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;

/// Users of one page.
const PAGE_SIZE: u32 = 500;
/// Maximum users that are planned for at the same time. Their writes share transactions.
const MAX_CONCURRENT_USERS: usize = 32;

/// Plans for every user, page by page, and prints the totals.
pub(super) async fn plan(app: &App, force: bool) -> Result<(), Failure> {
    let now = Timestamp::now();
    let bar = output::bar("{spinner} {elapsed}  {pos} users planned for");
    // Providers work one request at a time; concurrent users would wait for each other until their timeouts.
    let concurrency = if app.config.assistant.advisers.is_empty() { MAX_CONCURRENT_USERS } else { 1 };
    let (mut users, mut processed, mut planned, mut kept, mut superseded) = (0_u64, 0, 0, 0, 0);
    let (mut fell_back, mut unasked, mut why) = (0, 0, None);
    let mut last: Option<User> = None;
    loop {
        let page = app.assistant.users(last.as_ref().map(|user| &user.id), PAGE_SIZE).await?;
        let Some(end) = page.last() else { break };
        last = Some(end.clone());
        let each = page.iter().map(|user| planned_for(app, &user.id, None, force, now));
        let mut done = stream::iter(each).buffer_unordered(concurrency);
        while let Some(one) = done.try_next().await? {
            let planning = one.planning;
            (fell_back, unasked) = (fell_back + planning.fell_back.len(), unasked + one.unasked);
            why = why.or_else(|| planning.fell_back.into_iter().next().map(|remark| remark.why));
            (processed, planned) = (processed + planning.processed, planned + planning.planned);
            (kept, superseded) = (kept + planning.kept, superseded + planning.superseded);
            users += 1;
            bar.set_position(users);
        }
    }
    bar.finish_and_clear();
    if output::is_json() {
        return output::json(&json!({
            "users": users,
            "events_processed": processed,
            "notifications_planned": planned,
            "kept": kept,
            "superseded": superseded,
            "fell_back": fell_back,
            "unasked": unasked,
        }));
    }
    output::data(&format!(
        "{planned} planned, {kept} as before, {superseded} withdrawn, for {} of {}",
        counted(processed, "event"),
        counted(users, "user")
    ))?;
    if let Some(why) = why {
        output::note(format!(
            "  planned by the default policy: {fell_back} events; the reason of the first: {}",
            escape_line(&why)
        ));
    }
    if unasked > 0 {
        output::note(format!(
            "  planned by the default policy: {unasked} events that no model was asked about yet"
        ));
    }
    Ok(())
}
