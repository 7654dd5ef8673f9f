//! `adjutant notifications plan`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use super::super::output::{self, Failure};
use super::plan_all;
use super::single_user_plan::{planned_for, with_runners};
use adjutant_app::App;
use adjutant_assistant::json;
use adjutant_assistant::{EventId, UserId};
use adjutant_base::text::counted::counted;
use adjutant_base::text::escape_invisible::escape_line;

/// Interval between two frames of a spinner.
const TICK_INTERVAL: Duration = Duration::from_millis(120);

/// Arguments of `adjutant notifications plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    /// User to notify
    #[arg(required_unless_present = "all")]
    user: Option<UserId>,
    /// All users
    #[arg(long, conflicts_with_all = ["user", "event"])]
    all: bool,
    /// Only this event
    #[arg(long, value_name = "ID")]
    event: Option<EventId>,
    /// Replan events that have a plan already
    #[arg(long)]
    force: bool,
}

/// Plans the notifications of one user, or of all users.
pub(super) async fn run(args: PlanArgs, app: &Arc<App>) -> Result<(), Failure> {
    let PlanArgs { user, event, force, .. } = args;
    match user {
        Some(user) => with_runners(app, plan(app, &user, event, force)).await,
        None => with_runners(app, plan_all::plan(app, force)).await,
    }
}

async fn plan(app: &App, user: &UserId, event: Option<EventId>, force: bool) -> Result<(), Failure> {
    let (now, started) = (Timestamp::now(), std::time::Instant::now());
    let assistant = &app.assistant;
    // A provider may be slow. The spinner is drawn on a terminal only.
    let bar = output::bar("{spinner} {msg}").with_message("planning");
    bar.enable_steady_tick(TICK_INTERVAL);
    let planned = planned_for(app, user, event.as_ref(), force, now).await;
    bar.finish_and_clear();
    let planned = planned?;
    let planning = &planned.planning;
    let zone = assistant.user(user).await?.preferences.zone;
    if output::is_json() {
        let mut value = json::planning(planning, now, started.elapsed(), &zone, &[]);
        value["unasked"] = Value::from(planned.unasked);
        value["user_id"] = Value::from(user.as_str());
        return output::json(&output::identified(value, "user_id"));
    }
    output::data(&format!(
        "{} planned, {} as before, {} withdrawn, for {}",
        planning.planned,
        planning.kept,
        planning.superseded,
        counted(planning.processed, "event")
    ))?;
    for skipped in &planning.skipped {
        output::note(format!(
            "  nothing new for {}: {}",
            escape_line(&skipped.title),
            escape_line(&skipped.why)
        ));
    }
    for other in &planning.fell_back {
        output::note(format!(
            "  planned by the default policy: {}: {}",
            escape_line(&other.title),
            escape_line(&other.why)
        ));
    }
    if planned.unasked > 0 {
        let why = "planning asks about a limited number at once; plan again for the next";
        output::note(format!("  planned by the default policy: {} more events: {why}", planned.unasked));
    }
    Ok(())
}
