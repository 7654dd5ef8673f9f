//! `adjutant reload`.

use serde_json::json;

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_app::toolset_switches::PendingChanges;
use adjutant_base::config::Roots;
use adjutant_terminal::socket::Start;

/// Applies a changed `config.toml` to the running hub, and names the settings that need a restart.
pub(super) fn run(common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let PendingChanges { settings, fault } = hub_client::connect(&config, Start::Never)?.reload()?;
    if let Some(fault) = fault {
        return Err(Failure::new(fault).hint("correct config.toml; until then the hub keeps its settings"));
    }
    output::changed(
        "the hub has applied config.toml",
        &json!({"applied": true, "restart_needed_for": settings}),
    )?;
    if !settings.is_empty() {
        let keys = settings.join(", ");
        output::note(format!("hint: these need a restart: {keys}; `adjutant restart`"));
    }
    Ok(())
}
