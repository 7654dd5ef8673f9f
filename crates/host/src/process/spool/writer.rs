//! The writer of a stream under a size limit, and a reader of the growing file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use super::{Spooled, segments};

/// The smallest cap; below it a head and a tail make no sense.
const SMALLEST: u64 = 4096;

/// The writer of one stream.
pub(in crate::process) struct Spool {
    head: PathBuf,
    cap: u64,
    /// The head first, then at most two of the tail.
    open: VecDeque<Open>,
    seen: u64,
    /// Writing failed, for lack of space perhaps: the rest is counted only, for the runner must not wait.
    broken: bool,
}

struct Open {
    file: File,
    start: u64,
    length: u64,
}

/// What stands at an offset of the stream.
pub(in crate::process) enum Piece {
    /// So many bytes were read.
    Bytes(usize),
    /// Nothing is left up to this offset.
    Gap(u64),
    /// The stream ends here so far.
    End,
}

impl Spool {
    /// Makes the file of the stream's head.
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

    /// Bytes the stream has had so far.
    pub(in crate::process) fn seen(&self) -> u64 {
        self.seen
    }

    /// Appends to the stream. Failures are remembered, not returned: nobody could do anything about them.
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

    /// Reads what stands at `offset`.
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

    /// What is on disk now.
    pub(in crate::process) fn spooled(&self) -> Spooled {
        let kept = self.open.iter().map(|open| open.length).sum();
        Spooled { path: self.head.clone(), seen: self.seen, kept }
    }
}
