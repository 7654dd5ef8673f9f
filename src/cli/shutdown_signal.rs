//! Signals that shut a process down, and one that must not.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Number of SIGHUP, the signal of a closed terminal.
pub(super) const HANG_UP: u8 = 1;

/// Receiver of the signals that end a hub, and a server with running agents.
pub(super) struct ShutdownSignal {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl ShutdownSignal {
    /// Must be called within a runtime.
    pub(super) fn new() -> io::Result<Self> {
        survive_file_size_limit()?;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its number.
    pub(super) async fn received(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            _ = self.hang_up.recv() => HANG_UP,
        }
    }
}

/// Lets a write over the limit of a file's size fail like a write to a full disk; by default its signal ends the process.
/// Must be called within a runtime.
pub(super) fn survive_file_size_limit() -> io::Result<()> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}
