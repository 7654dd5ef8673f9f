//! Which processes are agents: those that started a connected relay. What runs below one of them is no person.
//!
//! This keeps an agent from doing a person's part with the tools it was given, its shell above all. It is no wall
//! against a program that hides: whoever detaches a process from its parents leaves this tree.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::unix::OwnedWriteHalf;

use crate::agents::Origin;
use crate::app::App;
use crate::process::{self, Ancestry};

/// The starters of the relays that are connected now.
#[derive(Debug, Default)]
pub(super) struct Relays {
    /// By the number of the connection: two relays may have one starter.
    starters: Mutex<(u64, BTreeMap<u64, u32>)>,
}

/// A relay's entry; it goes with the connection.
#[derive(Debug)]
pub(super) struct Entered {
    relays: Arc<Relays>,
    number: u64,
}

impl Relays {
    /// Enters the relay that runs as `pid`. Call it when it connects: later its starter may be gone.
    pub(super) fn enter(self: &Arc<Self>, pid: u32) -> Option<Entered> {
        // What the first process has started, or adopted, says nothing: everybody stands below it.
        let starter = process::parent(pid).filter(|starter| *starter > 1)?;
        let mut starters = self.lock();
        starters.0 += 1;
        let number = starters.0;
        starters.1.insert(number, starter);
        Some(Entered { relays: self.clone(), number })
    }

    /// Tells whether the process `pid` may do what only a person may; else says why not, in a sentence.
    pub(super) fn admit(&self, app: &App, pid: Option<u32>) -> Result<(), String> {
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
            // A hub in the background was adopted, and so may a relay have been: by whoever adopts all orphans.
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

impl Entered {
    fn leave(&self) {
        self.relays.lock().1.remove(&self.number);
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What is written to a relay. Its entry goes before it hears that nothing more comes, for it ends then, and what its
/// starter starts next would be taken for an agent's until the rest of the connection is put away.
#[derive(Debug)]
pub(super) struct Written {
    entered: Option<Arc<Entered>>,
    output: OwnedWriteHalf,
}

impl Written {
    /// Writes into `output` for the relay that was entered as `entered`, if it was.
    pub(super) fn new(entered: Option<Arc<Entered>>, output: OwnedWriteHalf) -> Self {
        Self { entered, output }
    }
}

impl AsyncWrite for Written {
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

/// Returns the process that adopted this one, where it was put into the background.
fn adopter() -> Option<u32> {
    let own = std::process::id();
    process::leads_session(own).then(|| process::parent(own)).flatten()
}
