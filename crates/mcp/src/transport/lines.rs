//! Lines of a byte stream: bounded, cancel safe and without copies.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of one line; a longer one is reported and skipped.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// Bytes of a line that is too long, in which its id is searched.
const HEAD_BYTES: usize = 4096;
/// Minimum free bytes of the buffer for one read.
const MIN_READ_BYTES: usize = 16 * 1024;
/// A buffer that grew past this for one large message is freed.
const MAX_RETAINED_BYTES: usize = 256 * 1024;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end; read it with [`Lines::bytes`] before the next call.
    Whole(Range<usize>),
    /// The start of a line over [`MAX_LINE`]; the rest of it was skipped.
    TooLong(Vec<u8>),
    /// The input ended.
    End,
}

/// A reader of lines. A last line without a line end counts as a line.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The beginning of the next line in the buffer.
    start: usize,
    /// The end of the bytes without a line end.
    scanned: usize,
    /// The head of a line that is being skipped.
    skipping: Option<Vec<u8>>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines from `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, scanned: 0, skipping: None, ended: false }
    }

    /// The bytes of a line that was just returned.
    pub fn bytes(&self, line: &Range<usize>) -> &[u8] {
        &self.buffer[line.clone()]
    }

    /// Returns the next line. Cancel safe. A read error counts as the end of the input.
    pub async fn next(&mut self) -> Line {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let end = self.scanned + at;
                let line = self.start..end;
                self.start = end + 1;
                self.scanned = self.start;
                match self.skipping.take() {
                    Some(head) => return Line::TooLong(head),
                    None if line.len() > MAX_LINE => return Line::TooLong(self.head(&line)),
                    None => return Line::Whole(line),
                }
            }
            self.scanned = self.buffer.len();
            if self.ended {
                let line = self.start..self.buffer.len();
                self.start = line.end;
                return match self.skipping.take() {
                    Some(head) => Line::TooLong(head),
                    None if line.is_empty() => Line::End,
                    None => Line::Whole(line),
                };
            }
            self.prepare_read();
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.ended = true,
            }
        }
    }

    fn head(&self, line: &Range<usize>) -> Vec<u8> {
        let bytes = self.bytes(line);
        bytes[..bytes.len().min(HEAD_BYTES)].to_vec()
    }

    /// Drops the lines that were returned, starts to skip a line that is too long, and reserves bytes for a read.
    fn prepare_read(&mut self) {
        if self.skipping.is_some() {
            self.buffer.clear();
            (self.start, self.scanned) = (0, 0);
        } else if self.buffer.len() - self.start > MAX_LINE {
            self.skipping = Some(self.head(&(self.start..self.buffer.len())));
            self.buffer = Vec::new();
            (self.start, self.scanned) = (0, 0);
        } else if self.start == self.buffer.len() {
            self.buffer.clear();
            if self.buffer.capacity() > MAX_RETAINED_BYTES {
                self.buffer = Vec::new();
            }
            (self.start, self.scanned) = (0, 0);
        } else if self.start > 0 && self.buffer.capacity() - self.buffer.len() < MIN_READ_BYTES {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.reserve(MIN_READ_BYTES);
    }
}
