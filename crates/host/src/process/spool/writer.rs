//! The writer of a stream under a size limit, and a reader of the growing file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
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
    /// Set while writes fail, perhaps on a full disk: the stream is only counted then, because the runner must not wait.
    broken: bool,
    /// The first error of a write.
    error: Option<String>,
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
        let (cap, open) = (cap.max(SMALLEST), VecDeque::new());
        let mut spool = Self { head, cap, open, seen: 0, broken: false, error: None };
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

    /// Appends to the stream. Failures are remembered, not returned, because the caller cannot handle them. Bytes that
    /// cannot be written are dropped, and the next ones begin a new file.
    pub(in crate::process) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.write_part(bytes) {
                Ok(written) => {
                    self.seen += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) => {
                    self.broken = true;
                    self.error.get_or_insert_with(|| error.to_string());
                    self.seen += bytes.len() as u64;
                    return;
                }
            }
        }
    }

    fn write_part(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.broken || self.room() == 0 {
            // A file without a byte would push one with bytes out of the tail.
            if let Some(empty) = self.open.pop_back_if(|open| open.length == 0 && open.start > 0) {
                std::fs::remove_file(segments::name(&self.head, empty.start))?;
            }
            self.begin()?;
            self.broken = false;
        }
        let part = &bytes[..bytes.len().min(self.room())];
        let Some(open) = self.open.back_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&open.file, part))?;
        open.length += written as u64;
        Ok(written)
    }

    /// Returns how many bytes the last file can take.
    fn room(&self) -> usize {
        let size = if self.open.len() == 1 { self.cap / 2 } else { self.cap / 4 };
        let room = self.open.back().map_or(0, |open| size.saturating_sub(open.length));
        usize::try_from(room).unwrap_or(usize::MAX)
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
        Spooled { path: self.head.clone(), seen: self.seen, kept, error: self.error.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::Spool;

    /// As on a disk that is full for a while.
    #[test]
    fn what_follows_a_failed_write_is_kept_and_the_gap_is_known_with_its_reason() {
        for head in [0, 100, 3000] {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path().join("stdout"), 4096).unwrap();
            spool.write(&vec![b'a'; head]);
            spool.open.back_mut().unwrap().file = File::options().write(true).open("/dev/full").unwrap();
            spool.write(b"lost");
            assert_eq!(spool.spooled().lines(0).iter().map(|line| line.missed).sum::<u64>(), 4);
            spool.write(b"\nresult\n");
            let spooled = spool.spooled();
            assert_eq!(spooled.error.as_deref(), Some("No space left on device (os error 28)"));
            assert_eq!((spooled.seen, spooled.kept), (head as u64 + 12, head as u64 + 8));
            assert_eq!(spooled.tail(8), "\nresult\n");
            assert_eq!(spooled.lines(0).iter().map(|line| line.missed).sum::<u64>(), 4);
        }
    }
}
