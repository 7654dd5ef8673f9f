//! A stream that records the bytes that pass through it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Recording;
use super::format::Direction;

/// A reader or a writer. Records exactly the bytes that the other side received or sent.
#[derive(Debug)]
pub struct RecordedStream<S> {
    stream: S,
    recording: Recording,
    direction: Direction,
}

impl<S> RecordedStream<S> {
    /// Records what passes through `stream` in `direction`.
    pub fn new(stream: S, recording: Recording, direction: Direction) -> Self {
        Self { stream, recording, direction }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let room = buffer.remaining();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if matches!(read, Poll::Ready(Ok(()))) {
            let _order = self.recording.in_order();
            match &buffer.filled()[before..] {
                [] if room > 0 => self.recording.end(self.direction),
                [] => {}
                bytes => self.recording.bytes(self.direction, bytes),
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RecordedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, recording, direction } = &mut *self;
        let _order = recording.in_order();
        let written = Pin::new(stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(length)) = written {
            recording.bytes(*direction, &bytes[..length]);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        if shut.is_ready() {
            self.recording.end(self.direction);
        }
        shut
    }
}
