//! Check of the machines that share the database.

use std::sync::Arc;
use std::time::SystemTime;

use super::DoctorContext;
use super::check_result::CheckResult;
use adjutant_app::health;
use adjutant_base::config::Database;
use adjutant_base::text::timefmt::{instant, span};

/// Lists the machines of a shared database, and compares their versions.
pub(super) async fn all(context: Arc<DoctorContext>) -> CheckResult {
    let database = &context.config.database;
    if !matches!(database, Database::Postgres(_)) {
        return CheckResult::skipped("only this machine uses the database");
    }
    let Ok(machines) = health::machines(database).await else {
        return CheckResult::skipped("the database names no machines");
    };
    let own = std::fs::read_to_string(adjutant_host::machine::path(&context.config.home)).unwrap_or_default();
    let listed: Vec<String> = machines
        .iter()
        .map(|machine| {
            let age = SystemTime::now().duration_since(instant(machine.seen_at)).unwrap_or_default();
            let here = if machine.id == own.trim() { ", this home" } else { "" };
            format!("{} ({}{here}, {}, seen {} ago)", machine.name, machine.id, machine.version, span(age))
        })
        .collect();
    let detail = format!(
        "machines with a hub: {}",
        if listed.is_empty() { "none yet".to_owned() } else { listed.join("; ") }
    );
    if machines.iter().any(|machine| machine.version != env!("CARGO_PKG_VERSION")) {
        return CheckResult::warn(detail, "install the same version on all of them");
    }
    CheckResult::ok(detail)
}
