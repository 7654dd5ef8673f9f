//! The output to a relay.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::unix::OwnedWriteHalf;

use adjutant_app::agent_processes::AgentEntry;

/// The output to a relay. Its entry is removed before the relay learns of the end, because the relay then exits, and
/// the next process of its parent would be taken for an agent's until the connection is cleaned up.
#[derive(Debug)]
pub(super) struct RelayWriter {
    entry: Option<AgentEntry>,
    output: OwnedWriteHalf,
}

impl RelayWriter {
    /// Returns a writer to `output` for the relay that was registered as `entry`.
    pub(super) fn new(entry: Option<AgentEntry>, output: OwnedWriteHalf) -> Self {
        Self { entry, output }
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
        if let Some(entry) = &self.entry {
            entry.leave();
        }
        Pin::new(&mut self.output).poll_shutdown(cx)
    }
}
