//! A connection to a hub: the lifeline, or one that attached later.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::super::protocol::{Event, Request};
use super::super::spool::{Piece, Spool};

/// Longest line that is forwarded.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Output waiting for a hub, past which nothing is read from the spool for it.
const MAX_QUEUED_BYTES: usize = 64 << 10;
/// Longest request.
const MAX_REQUEST_BYTES: usize = 4 << 10;

/// One connection.
pub(super) struct Link {
    /// Whose end is the end of the hub.
    pub(super) lifeline: bool,
    /// `None` after its end.
    pub(super) reader: Option<OwnedFd>,
    /// `None` after nobody reads it any more.
    pub(super) writer: Option<OwnedFd>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of `output` that are written.
    written: usize,
    lines: Option<Lines>,
    told_end: bool,
}

/// How far stdout was forwarded: lines are read back from the spool, so a hub that reads slowly costs no memory and
/// delays nobody.
#[derive(Default)]
struct Lines {
    /// In the stream.
    offset: u64,
    line: Vec<u8>,
    cut: u64,
    missed: u64,
}

impl Link {
    /// The connection to the hub that started us; `rest` was read from it already.
    pub(super) fn lifeline(rest: Vec<u8>) -> io::Result<Self> {
        let reader = io::stdin().as_fd().try_clone_to_owned()?;
        let writer = io::stdout().as_fd().try_clone_to_owned()?;
        Self::new(reader, writer, Some(Lines::default()), rest).map(|link| Self { lifeline: true, ..link })
    }

    /// A hub that came later.
    pub(super) fn attached(stream: UnixStream) -> io::Result<Self> {
        let reader = stream.try_clone()?.into();
        Self::new(reader, stream.into(), None, Vec::new())
    }

    fn new(reader: OwnedFd, writer: OwnedFd, lines: Option<Lines>, input: Vec<u8>) -> io::Result<Self> {
        ioctl_fionbio(&reader, true)?;
        ioctl_fionbio(&writer, true)?;
        let (reader, writer) = (Some(reader), Some(writer));
        Ok(Self {
            lifeline: false,
            reader,
            writer,
            input,
            output: Vec::new(),
            written: 0,
            lines,
            told_end: false,
        })
    }

    /// Returns the requests that have come; tells by `reader` when there will be none any more.
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

    /// Adds an event to the output.
    pub(super) fn tell(&mut self, event: &Event) {
        if self.writer.is_some() && serde_json::to_writer(&mut self.output, event).is_ok() {
            self.output.push(b'\n');
        }
    }

    /// Tells whether something waits to be written.
    pub(super) fn waits(&self) -> bool {
        self.writer.is_some() && !self.output.is_empty()
    }

    /// Writes what fits, and reads more from the spool while it does. `last` says that the stream has ended.
    /// Returns whether anything went out.
    pub(super) fn pump(&mut self, spool: &Spool, last: bool) -> bool {
        let mut moved = false;
        loop {
            let mut more = true;
            while more && self.output.len() - self.written < MAX_QUEUED_BYTES && self.writer.is_some() {
                more = self.forward(spool, last);
            }
            let Some(writer) = self.writer.as_ref().filter(|_| !self.output.is_empty()) else { return moved };
            match write(writer, &self.output[self.written..]) {
                Ok(written) => {
                    moved = true;
                    self.written += written;
                }
                Err(Errno::AGAIN) => return moved,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.writer = None;
                    self.written = self.output.len();
                }
            }
            if self.written == self.output.len() {
                // One long line must not hold its memory for ever.
                self.output = Vec::new();
                self.written = 0;
            }
        }
    }

    /// Writes the rest of the lines and then `end`. Returns whether that moved on.
    pub(super) fn finish(&mut self, spool: &Spool, end: &Event) -> bool {
        let mut moved = self.pump(spool, true);
        let lines_are_out = self.lines.as_ref().is_none_or(|lines| lines.offset >= spool.seen());
        if lines_are_out && !self.told_end {
            self.told_end = true;
            self.tell(end);
            moved |= self.pump(spool, true);
        }
        moved
    }

    /// Tells whether there is nothing more to be said here.
    pub(super) fn is_finished(&self) -> bool {
        self.writer.is_none() || (self.told_end && self.output.is_empty())
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
                    self.tell(&lines.finish());
                    rest = &rest[end + 1..];
                }
                lines.add(rest);
                true
            }
            Piece::Gap(until) => {
                // What follows a gap begins in the middle of a line; the line before it has no end.
                if !lines.line.is_empty() {
                    self.tell(&lines.finish());
                }
                lines.missed += until - lines.offset;
                lines.offset = until;
                true
            }
            Piece::End => {
                if last && !(lines.line.is_empty() && lines.missed == 0) {
                    self.tell(&lines.finish());
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
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let text = String::from_utf8_lossy(text).into_owned();
        let raw = (text.as_bytes() != line).then_some(line);
        Event::Line {
            text,
            raw,
            cut: std::mem::take(&mut self.cut),
            missed: std::mem::take(&mut self.missed),
        }
    }
}
