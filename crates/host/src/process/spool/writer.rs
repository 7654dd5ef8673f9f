//! The writer of a stream under a size limit, and a reader of the growing file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use super::{Spooled, segments};

/// Minimum cap; a smaller one has no useful head and tail.
const SMALLEST: u64 = 4096;

/// The writer of one stream.
pub(in crate::process) struct Spool {
    head: PathBuf,
    cap: u64,
    /// The head, then at most two segments of the tail.
    open: VecDeque<Open>,
    seen: u64,
    /// Set after a failed write, perhaps on a full disk: the rest is only counted, because the runner must not wait.
    broken: bool,
}

struct Open {
    file: File,
    start: u64,
    length: u64,
}

/// The content at an offset of the stream.
pub(in crate::process) enum Piece {
    /// Number of bytes that were read.
    Bytes(usize),
    /// The stream was dropped up to this offset.
    Gap(u64),
    /// The current end of the stream.
    End,
}

impl Spool {
    /// Creates the file of the stream's head.
    pub(in crate::process) fn create(head: PathBuf, cap: u64) -> io::Result<Self> {
        let mut spool = Self { head, cap: cap.max(SMALLEST), open: VecDeque::new(), seen: 0, broken: false };
        spool.begin()?;
        Ok(spool)
    }

    fn begin(&mut self) -> io::Result<()> {
        let path = segments::name(&self.head, self.seen);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        self.open.push_back(Open { file, start: self.seen, length: 0 });
        if self.open.len() > 3
            && let Some(oldest) = self.open.remove(1)
        {
            let _ = std::fs::remove_file(segments::name(&self.head, oldest.start));
        }
        Ok(())
    }

    /// Returns the number of bytes of the stream so far.
    pub(in crate::process) fn seen(&self) -> u64 {
        self.seen
    }

    /// Appends to the stream. Failures are remembered, not returned, because the caller cannot handle them.
    pub(in crate::process) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.broken {
            let size = if self.open.len() == 1 { self.cap / 2 } else { self.cap / 4 };
            match self.open.back_mut().filter(|open| open.length < size) {
                Some(open) => {
                    let room = usize::try_from(size - open.length).unwrap_or(usize::MAX);
                    let part = &bytes[..bytes.len().min(room)];
                    if open.file.write_all(part).is_err() {
                        self.broken = true;
                        break;
                    }
                    open.length += part.len() as u64;
                    self.seen += part.len() as u64;
                    bytes = &bytes[part.len()..];
                }
                None => self.broken = self.begin().is_err(),
            }
        }
        self.seen += bytes.len() as u64;
    }

    /// Reads the stream at `offset`.
    pub(in crate::process) fn read(&self, offset: u64, buffer: &mut [u8]) -> Piece {
        if offset >= self.seen {
            return Piece::End;
        }
        for open in &self.open {
            if offset < open.start {
                return Piece::Gap(open.start);
            }
            if offset < open.start + open.length {
                let room = usize::try_from(open.start + open.length - offset).unwrap_or(usize::MAX);
                let room = room.min(buffer.len());
                return match open.file.read_at(&mut buffer[..room], offset - open.start) {
                    Ok(read) if read > 0 => Piece::Bytes(read),
                    _ => Piece::Gap(open.start + open.length),
                };
            }
        }
        Piece::Gap(self.seen)
    }

    /// Returns the files of the stream.
    pub(in crate::process) fn spooled(&self) -> Spooled {
        let kept = self.open.iter().map(|open| open.length).sum();
        Spooled { path: self.head.clone(), seen: self.seen, kept }
    }
}
