//! Signals that shut a process down.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// They end a hub, and a server that has agents running.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Stop {
    /// Must be called within a runtime.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one and returns its number.
    pub(super) async fn asked(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            _ = self.hang_up.recv() => 1,
        }
    }
}
