//! The processes of agents: those that started a connected relay. A process below one of them does not act for the
//! user.
//!
//! This keeps an agent from acting as the user with the tools that it was given, above all its shell. It is a safeguard
//! and not a security boundary, because a process that detaches from its parents leaves this tree.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::unix::OwnedWriteHalf;

use adjutant_agents::Origin;
use adjutant_app::App;
use adjutant_host::process::{self, Ancestry};

/// The parent processes of the connected relays.
#[derive(Debug, Default)]
pub(super) struct AgentProcesses {
    /// By the number of the connection, because two relays may have one parent.
    starters: Mutex<(u64, BTreeMap<u64, u32>)>,
}

/// The entry of a relay; dropping it removes the entry.
#[derive(Debug)]
pub(super) struct RelayEntry {
    agent_processes: Arc<AgentProcesses>,
    number: u64,
}

impl AgentProcesses {
    /// Registers the relay that runs as `pid`. Call it when it connects, because its parent may end later.
    pub(super) fn register(self: &Arc<Self>, pid: u32) -> Option<RelayEntry> {
        // The first process is above every process, so its entry would say nothing.
        let starter = process::parent(pid).filter(|starter| *starter > 1)?;
        let mut starters = self.lock();
        starters.0 += 1;
        let number = starters.0;
        starters.1.insert(number, starter);
        Some(RelayEntry { agent_processes: self.clone(), number })
    }

    /// Checks that the process `pid` acts for the user. The error is a sentence for that process's user.
    pub(super) fn require_user(&self, app: &App, pid: Option<u32>) -> Result<(), String> {
        let unseen = "this is for people, and the process that asks cannot be seen from the hub";
        let Some(pid) = pid else { return Err(unseen.to_owned()) };
        let Ancestry::Above(line) = process::ancestry(pid) else { return Err(unseen.to_owned()) };
        let within_run =
            app.agents.origin(pid) != Origin::Outside || line.iter().any(|pid| process::is_marked(*pid));
        if within_run {
            return Err(format!(
                "this is for people, and process {pid} belongs to a task that was delegated to an agent"
            ));
        }
        let adopter = adopter();
        let agent = self.lock().1.values().copied().find(|starter| {
            // A hub in the background was adopted, and so may a relay have been, by the process that adopts all
            // orphans.
            Some(*starter) != adopter && line.contains(starter)
        });
        let Some(agent) = agent else { return Ok(()) };
        let name = process::program(agent).map_or_else(String::new, |name| format!("`{name}`, "));
        Err(format!(
            "this is for people, and process {pid} was started by an agent: {name}process {agent}, \
             is connected to this hub; use a terminal that the agent did not start"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, u32>)> {
        self.starters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RelayEntry {
    fn leave(&self) {
        self.agent_processes.lock().1.remove(&self.number);
    }
}

impl Drop for RelayEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The output to a relay. Its entry is removed before the relay learns of the end, because the relay then exits, and
/// the next process of its parent would be taken for an agent's until the connection is cleaned up.
#[derive(Debug)]
pub(super) struct RelayWriter {
    entered: Option<Arc<RelayEntry>>,
    output: OwnedWriteHalf,
}

impl RelayWriter {
    /// Returns a writer to `output` for the relay that was registered as `entered`.
    pub(super) fn new(entered: Option<Arc<RelayEntry>>, output: OwnedWriteHalf) -> Self {
        Self { entered, output }
    }
}

impl AsyncWrite for RelayWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(entered) = &self.entered {
            entered.leave();
        }
        Pin::new(&mut self.output).poll_shutdown(cx)
    }
}

/// Returns the process that adopted this one, if it runs in the background.
fn adopter() -> Option<u32> {
    let own = std::process::id();
    process::leads_session(own).then(|| process::parent(own)).flatten()
}
