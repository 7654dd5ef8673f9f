//! The entry of this machine in a database that several machines share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::App;
use adjutant_base::text::timefmt::millis;
use adjutant_host::machine;
use adjutant_store::Millis;
use adjutant_store::machines::{self, ALIVE_TIMEOUT, Machine};

/// How often the entry is written.
const RECORD_INTERVAL: Duration = Duration::from_secs(30);

impl App {
    /// Records this machine until shutdown, if others may share the database.
    pub async fn record_machine(self: Arc<Self>) {
        let Some(store) = self.stores.first().filter(|store| store.is_shared()) else { return };
        let hub = format!("{}-{}", std::process::id(), millis(self.started));
        // The first entry replaces that of the hub before this one.
        let mut timeout = None;
        loop {
            let now = millis(SystemTime::now());
            let entry = Machine {
                id: store.machine().to_owned(),
                name: machine::name(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                hub: hub.clone(),
                seen_at: now,
            };
            match machines::record(store, entry, timeout.map_or(Millis::MAX, |timeout| now - timeout)).await {
                Ok(true) => timeout = Some(ALIVE_TIMEOUT),
                Ok(false) => tracing::error!(
                    "another hub has the machine id of this home: one home is a copy of the other, and each may run \
                     the other's tasks; stop the hub of the copy, and remove the file machine-id there"
                ),
                Err(error) => tracing::warn!(%error, "this machine could not be recorded"),
            }
            let pause = tokio::time::sleep(RECORD_INTERVAL);
            if self.shutdown.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }
}
