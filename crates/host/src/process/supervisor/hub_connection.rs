//! A connection to a hub: the lifeline, or one that was attached later.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::super::output_line::{MAX_LINE_BYTES, OutputLine};
use super::super::spool::{Piece, Spool};
use super::super::supervisor_protocol::{Event, Request};

/// Maximum bytes in the output queue of a hub; more wait in the spool.
const MAX_QUEUED_BYTES: usize = 64 << 10;
/// Maximum bytes of a request.
const MAX_REQUEST_BYTES: usize = 4 << 10;

/// One connection.
pub(super) struct HubConnection {
    /// Set if the end of this connection is the end of the hub.
    pub(super) lifeline: bool,
    /// `None` after its end.
    pub(super) reader: Option<OwnedFd>,
    /// `None` after the hub has closed it.
    pub(super) writer: Option<OwnedFd>,
    input: Vec<u8>,
    output: Vec<u8>,
    lines: Option<Lines>,
    sent_end: bool,
}

/// The position up to which stdout was forwarded. Lines are read from the spool, so that a slow hub costs no memory and
/// causes no delay.
#[derive(Default)]
struct Lines {
    /// Position in the stream.
    offset: u64,
    line: Vec<u8>,
    cut: u64,
    missed: u64,
}

impl HubConnection {
    /// Returns the connection to the hub that started this process; `rest` was read from it already.
    pub(super) fn lifeline(rest: Vec<u8>) -> io::Result<Self> {
        let reader = io::stdin().as_fd().try_clone_to_owned()?;
        let writer = io::stdout().as_fd().try_clone_to_owned()?;
        Self::new(reader, writer, Some(Lines::default()), rest)
            .map(|connection| Self { lifeline: true, ..connection })
    }

    /// Returns the connection of a hub that attached later.
    pub(super) fn attached(stream: UnixStream) -> io::Result<Self> {
        let reader = stream.try_clone()?.into();
        Self::new(reader, stream.into(), None, Vec::new())
    }

    fn new(reader: OwnedFd, writer: OwnedFd, lines: Option<Lines>, input: Vec<u8>) -> io::Result<Self> {
        ioctl_fionbio(&reader, true)?;
        ioctl_fionbio(&writer, true)?;
        let (reader, writer) = (Some(reader), Some(writer));
        Ok(Self { lifeline: false, reader, writer, input, output: Vec::new(), lines, sent_end: false })
    }

    /// Returns the received requests. `reader` is `None` after the last one.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        let mut part = [0; 1024];
        while let Some(reader) = &self.reader {
            match read(reader, &mut part) {
                Ok(0) => self.reader = None,
                Ok(length) => self.input.extend_from_slice(&part[..length]),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => self.reader = None,
            }
            if self.input.len() > MAX_REQUEST_BYTES {
                self.input.clear();
            }
        }
        let mut requests = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', &self.input) {
            if let Ok(request) = serde_json::from_slice(&self.input[..end]) {
                if matches!(request, Request::Attach) && self.lines.is_none() {
                    self.lines = Some(Lines::default());
                }
                requests.push(request);
            }
            self.input.drain(..=end);
        }
        requests
    }

    /// Queues an event.
    pub(super) fn send(&mut self, event: &Event) {
        if self.writer.is_some() && serde_json::to_writer(&mut self.output, event).is_ok() {
            self.output.push(b'\n');
        }
    }

    /// Returns whether output is queued.
    pub(super) fn has_output(&self) -> bool {
        self.writer.is_some() && !self.output.is_empty()
    }

    /// Writes queued output without blocking, and queues more lines from the spool. `last` means that the stream has
    /// ended. Returns whether anything was written.
    pub(super) fn pump(&mut self, spool: &Spool, last: bool) -> bool {
        let mut progressed = false;
        loop {
            let mut more = true;
            while more && self.output.len() < MAX_QUEUED_BYTES && self.writer.is_some() {
                more = self.forward(spool, last);
            }
            let Some(writer) = self.writer.as_ref().filter(|_| !self.output.is_empty()) else {
                return progressed;
            };
            match write(writer, &self.output) {
                Ok(written) => {
                    progressed = true;
                    // Removed at once, because the queue of a hub that is always a little behind never gets empty.
                    self.output.drain(..written);
                }
                Err(Errno::AGAIN) => return progressed,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.writer = None;
                    self.output.clear();
                }
            }
            if self.output.is_empty() {
                // The memory of a long line is freed.
                self.output = Vec::new();
            }
        }
    }

    /// Writes the rest of the lines and then `end`. Returns whether anything was written.
    pub(super) fn finish(&mut self, spool: &Spool, end: &Event) -> bool {
        let mut progressed = self.pump(spool, true);
        let lines_are_out = self.lines.as_ref().is_none_or(|lines| lines.offset >= spool.seen());
        if lines_are_out && !self.sent_end {
            self.sent_end = true;
            self.send(end);
            progressed |= self.pump(spool, true);
        }
        progressed
    }

    /// Returns whether all events were sent, or the hub has closed the connection.
    pub(super) fn is_finished(&self) -> bool {
        self.writer.is_none() || (self.sent_end && self.output.is_empty())
    }

    /// Reads one piece of the stream; returns whether there may be more.
    fn forward(&mut self, spool: &Spool, last: bool) -> bool {
        let Some(mut lines) = self.lines.take() else { return false };
        let mut piece = [0; 16 << 10];
        let more = match spool.read(lines.offset, &mut piece) {
            Piece::Bytes(length) => {
                lines.offset += length as u64;
                let mut rest = &piece[..length];
                while let Some(end) = memchr::memchr(b'\n', rest) {
                    lines.add(&rest[..end]);
                    self.send(&lines.finish());
                    rest = &rest[end + 1..];
                }
                lines.add(rest);
                true
            }
            Piece::Gap(until) => {
                // The stream after a gap begins in the middle of a line; the line before the gap has no end.
                if !lines.line.is_empty() {
                    self.send(&lines.finish());
                }
                lines.missed += until - lines.offset;
                lines.offset = until;
                true
            }
            Piece::End => {
                if last && !(lines.line.is_empty() && lines.missed == 0) {
                    self.send(&lines.finish());
                }
                false
            }
        };
        self.lines = Some(lines);
        more
    }
}

impl Lines {
    fn add(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES - self.line.len();
        let part = &bytes[..bytes.len().min(room)];
        self.line.extend_from_slice(part);
        self.cut += (bytes.len() - part.len()) as u64;
    }

    fn finish(&mut self) -> Event {
        let (cut, missed) = (std::mem::take(&mut self.cut), std::mem::take(&mut self.missed));
        Event::Line(OutputLine::new(std::mem::take(&mut self.line), cut, missed))
    }
}
