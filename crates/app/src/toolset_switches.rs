//! Reloads the switches of the toolsets from `config.toml` while the hub runs, and notifies connected clients.
//!
//! The console and `adjutant doctor` list the other changed settings, because those need a restart.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use adjutant_base::config::Reloaded;
use adjutant_base::config::toolsets::{Toolset, ToolsetsConfig};
use adjutant_base::mutex::lock;

/// The switches in force, and the changes that are not in force yet.
#[derive(Debug)]
pub struct ToolsetSwitches {
    switches: watch::Sender<ToolsetsConfig>,
    pending: Mutex<PendingChanges>,
}

/// The difference between the file and the settings in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChanges {
    /// The keys that count from the next start on.
    #[serde(rename = "waiting_for_restart")]
    pub settings: Vec<String>,
    /// Why the file cannot be read: a hub would not start with it.
    pub fault: Option<String>,
}

impl ToolsetSwitches {
    pub(super) fn new(config: ToolsetsConfig) -> Self {
        Self { switches: watch::Sender::new(config), pending: Mutex::default() }
    }

    /// Returns how `config.toml` differs from what is in force, as it was last read.
    pub fn pending_changes(&self) -> PendingChanges {
        lock(&self.pending).clone()
    }

    /// Applies the file; returns whether anything has changed.
    pub(super) fn apply(&self, read: Result<Reloaded, String>) -> bool {
        let (moved, changed) = match read {
            Ok(Reloaded { toolsets, pending_restart, .. }) => {
                let moved = self.switches.send_if_modified(|current| {
                    let differs = *current != toolsets;
                    *current = toolsets;
                    differs
                });
                if moved {
                    let off =
                        self.switches.borrow().off.iter().map(|toolset| toolset.name()).collect::<Vec<_>>();
                    tracing::info!(off = off.join(" "), "toolsets were switched");
                }
                (moved, PendingChanges { settings: pending_restart, fault: None })
            }
            Err(error) => {
                tracing::warn!(error, "config.toml was changed and cannot be read; all stays as it is");
                (false, PendingChanges { fault: Some(error), ..self.pending_changes() })
            }
        };
        let mut current = lock(&self.pending);
        let differs = *current != changed;
        if differs && !changed.settings.is_empty() {
            tracing::info!(settings = changed.settings.join(" "), "changed settings wait for a restart");
        }
        *current = changed;
        moved || differs
    }

    /// Returns whether the server of all toolsets has `toolset` for a client that calls itself `client`.
    pub fn has(&self, toolset: Toolset, client: &str) -> bool {
        self.switches.borrow().has(toolset, client)
    }

    /// Returns the switches in force.
    pub fn current(&self) -> ToolsetsConfig {
        self.switches.borrow().clone()
    }

    /// Returns a receiver that wakes when any switch was moved.
    pub fn changes(&self) -> watch::Receiver<ToolsetsConfig> {
        self.switches.subscribe()
    }
}
