//! Output of a run on disk.
//!
//! The first half of the cap is the head, a file named after the stream. The rest goes to segments of a quarter of the
//! cap each, `NAME.OFFSET`, of which the last two are kept: the tail has between a quarter and a half of the cap. Every
//! file is a plain part of the stream, which users can read, also after a crash.

mod segments;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::output_line::OutputLine;

pub(super) use writer::{Piece, Spool};

/// A stream of a run on disk. If the stream was longer than the cap, `kept` is less than `seen`, and the middle is
/// missing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spooled {
    /// The file with the head; the segments of the tail are in the same folder.
    pub path: PathBuf,
    /// Bytes the runner wrote.
    pub seen: u64,
    /// Bytes that are on disk.
    pub kept: u64,
    /// The first error of a write, because of which bytes are missing besides those over the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Spooled {
    /// Measures the files of a stream of the run in `folder`.
    pub(super) fn found(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let segments = segments::find(&path);
        let seen = segments.last().map_or(0, |last| last.start + last.length);
        let kept = segments.iter().map(|segment| segment.length).sum();
        Self { path, seen, kept, error: None }
    }

    /// Returns at most `limit` bytes from the start, invalid UTF-8 replaced.
    pub fn head(&self, limit: usize) -> String {
        let mut bytes = Vec::new();
        for segment in segments::find(&self.path) {
            if segment.start != bytes.len() as u64 || bytes.len() >= limit {
                break;
            }
            segment.read(0, limit - bytes.len(), &mut bytes);
        }
        if (bytes.len() as u64) < self.seen {
            let whole = bytes.len() - unfinished(&bytes);
            bytes.truncate(whole);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the lines from the byte `offset` on, as a supervisor forwards them.
    pub fn lines(&self, mut offset: u64) -> Vec<OutputLine> {
        let (mut lines, mut bytes, mut missed) = (Vec::new(), Vec::new(), 0);
        let mut take = |bytes: &mut Vec<u8>, missed: &mut u64| {
            for line in bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n') {
                lines.push(OutputLine::new(line.to_vec(), 0, std::mem::take(missed)));
            }
            bytes.clear();
        };
        for segment in segments::find(&self.path) {
            let end = segment.start + segment.length;
            if segment.start > offset {
                if !bytes.is_empty() {
                    take(&mut bytes, &mut missed);
                }
                missed += segment.start - offset;
                offset = segment.start;
            }
            if end > offset {
                segment.read(offset - segment.start, usize::MAX, &mut bytes);
                offset = end;
            }
        }
        if !bytes.is_empty() {
            take(&mut bytes, &mut missed);
        }
        // The end could not be written.
        missed += self.seen.saturating_sub(offset);
        if missed > 0 {
            lines.push(OutputLine::new(Vec::new(), 0, missed));
        }
        lines
    }

    /// Returns at most `limit` bytes up to the end, invalid UTF-8 replaced.
    pub fn tail(&self, limit: usize) -> String {
        let segments = segments::find(&self.path);
        let Some(end) = segments.last().map(|last| last.start + last.length) else {
            return String::new();
        };
        let mut start = end;
        for segment in segments.iter().rev() {
            if segment.start + segment.length != start {
                break;
            }
            start = segment.start;
        }
        start = start.max(end.saturating_sub(limit as u64));
        let mut bytes = Vec::new();
        for segment in segments.iter().filter(|segment| segment.start + segment.length > start) {
            segment.read(start.saturating_sub(segment.start), limit, &mut bytes);
        }
        if start > 0 {
            let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            bytes.drain(..cut);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Counts the bytes at the end that begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    match std::str::from_utf8(&bytes[last..]) {
        Err(error) if error.error_len().is_none() => bytes.len() - last - error.valid_up_to(),
        // The window may begin in the middle of a character.
        Err(_) => bytes.iter().rev().take(3).position(|byte| *byte >= 0xC0).map_or(0, |at| {
            let width = match bytes[bytes.len() - 1 - at] {
                0xF0.. => 4,
                0xE0.. => 3,
                _ => 2,
            };
            if at + 1 < width { at + 1 } else { 0 }
        }),
        Ok(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Piece, Spool, Spooled};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn head_and_tail_are_the_streams(text in "[a-zé€𝄞]{0,6000}", size in 1usize..3000, limit in 1usize..5000) {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path().join("stdout"), 4096).unwrap();
            for part in text.as_bytes().chunks(size) {
                spool.write(part);
            }
            let spooled = spool.spooled();
            let found = Spooled::found(folder.path(), "stdout");
            prop_assert_eq!((spooled.seen, spooled.kept), (text.len() as u64, found.kept));
            prop_assert!(spooled.kept <= 4096 && spooled.kept >= spooled.seen.min(3072), "{}", spooled.kept);
            let (head, tail) = (spooled.head(limit), spooled.tail(limit));
            prop_assert!(text.starts_with(&head), "{head}");
            prop_assert!(text.ends_with(&tail), "{tail}");
            prop_assert!(head.len() + 3 >= limit.min(text.len()).min(2048), "{}", head.len());
            prop_assert!(tail.len() + 3 >= limit.min(text.len()).min(1024), "{}", tail.len());
        }

        #[test]
        fn reading_returns_the_stream_with_a_gap(size in 1usize..9000, parts in 0usize..9) {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path().join("stdout"), 4096).unwrap();
            let bytes: Vec<u8> = (0..size * parts).map(|at| u8::try_from(at % 251).unwrap()).collect();
            for part in bytes.chunks(size) {
                spool.write(part);
            }
            let (mut at, mut missed, mut buffer) = (0, 0, [0; 700]);
            loop {
                match spool.read(at, &mut buffer) {
                    Piece::Bytes(read) => {
                        let start = usize::try_from(at).unwrap();
                        prop_assert_eq!(&buffer[..read], &bytes[start..start + read]);
                        at += read as u64;
                    }
                    Piece::Gap(until) => {
                        missed += until - at;
                        at = until;
                    }
                    Piece::End => break,
                }
            }
            prop_assert_eq!(at, bytes.len() as u64);
            prop_assert_eq!(missed, bytes.len() as u64 - spool.spooled().kept);
        }
    }
}
