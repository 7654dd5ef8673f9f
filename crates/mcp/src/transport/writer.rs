//! Writer of a connection: messages become lines in order, and one write takes all that are ready.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use adjutant_base::mutex::lock;

/// Unwritten bytes of a slow client at which the hub stops reading its input.
const MAX_BACKLOG_BYTES: usize = 1024 * 1024;
/// A buffer that grew past this for a large answer is freed once nothing follows for [`SHRINK_TIMEOUT`].
const MAX_RETAINED_BYTES: usize = 256 * 1024;
/// Several large answers in a row use the same memory.
const SHRINK_TIMEOUT: Duration = Duration::from_millis(200);

/// The unwritten output of a connection.
#[derive(Debug, Default)]
pub struct Output {
    waiting: Mutex<Waiting>,
    /// There is something to write, or the end was requested.
    filled: Notify,
    /// Something was written.
    drained: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Lines that were put in, and those of them that the other side has.
    lines: u64,
    flushed: u64,
    /// Bytes that the writer took and has not written yet.
    writing: usize,
    closing: bool,
    /// The client has disconnected, so further output is dropped.
    broken: bool,
}

impl Output {
    /// Appends one line. `write` puts the message into the buffer; its bytes are removed after an error.
    pub fn line<E>(&self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let mut waiting = lock(&self.waiting);
        if waiting.broken {
            return Ok(());
        }
        let start = waiting.bytes.len();
        if let Err(error) = write(&mut waiting.bytes) {
            waiting.bytes.truncate(start);
            return Err(error);
        }
        waiting.bytes.push(b'\n');
        waiting.lines += 1;
        drop(waiting);
        self.filled.notify_one();
        Ok(())
    }

    /// Returns how many lines were put in.
    pub(crate) fn lines(&self) -> u64 {
        lock(&self.waiting).lines
    }

    /// Returns how many lines were written.
    pub(crate) fn flushed(&self) -> u64 {
        lock(&self.waiting).flushed
    }

    /// Returns a future that completes at the next write, or at [`Self::wake`].
    pub(crate) fn drained(&self) -> Notified<'_> {
        self.drained.notified()
    }

    /// Completes [`Self::drained`] without a write, because something was noted about a line that may be written.
    pub(crate) fn wake(&self) {
        self.drained.notify_waiters();
    }

    /// Waits until the client has read enough of what was written before.
    pub(crate) async fn wait_for_capacity(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let waiting = lock(&self.waiting);
                if waiting.bytes.len() + waiting.writing < MAX_BACKLOG_BYTES || waiting.broken {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Asks [`Self::write_to`] to end when everything is written.
    pub fn close(&self) {
        lock(&self.waiting).closing = true;
        self.filled.notify_one();
    }

    /// Writes until [`Self::close`], or until the client disconnects.
    pub(crate) async fn write_to(&self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut batch = Vec::new();
        loop {
            let (closing, large, lines) = {
                let mut waiting = lock(&self.waiting);
                std::mem::swap(&mut batch, &mut waiting.bytes);
                waiting.writing = batch.len();
                let capacity = batch.capacity().max(waiting.bytes.capacity());
                (waiting.closing, capacity > MAX_RETAINED_BYTES, waiting.lines)
            };
            if batch.is_empty() {
                if closing {
                    return output.shutdown().await;
                }
                if !large {
                    self.filled.notified().await;
                } else if tokio::time::timeout(SHRINK_TIMEOUT, self.filled.notified()).await.is_err() {
                    batch = Vec::new();
                    lock(&self.waiting).bytes.shrink_to(MAX_RETAINED_BYTES);
                }
                continue;
            }
            let written = match output.write_all(&batch).await {
                Ok(()) => output.flush().await,
                Err(error) => Err(error),
            };
            batch.clear();
            let mut waiting = lock(&self.waiting);
            waiting.writing = 0;
            if let Err(error) = written {
                waiting.broken = true;
                waiting.bytes = Vec::new();
                drop(waiting);
                self.drained.notify_waiters();
                return Err(error);
            }
            waiting.flushed = lines;
            drop(waiting);
            self.drained.notify_waiters();
        }
    }
}
