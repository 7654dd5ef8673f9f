//! Splits bytes into lines of a bounded length.

/// Bytes of the longest line. Codex repeats the whole output of a command in one line.
const MAX_LINE_BYTES: usize = 16 << 20;
/// Capacity of the buffer that is retained.
const RETAINED_BYTES: usize = 1 << 20;

/// Splits a stream into lines, with chunks of any size.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Bytes of the longest line.
    pub(crate) limit: usize,
    buffer: Vec<u8>,
    /// The start of the first line, and the offset up to which no newline was found.
    start: usize,
    searched: usize,
    /// Bytes of a too long line that were dropped so far.
    dropped: u64,
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    /// The line was too long; this many bytes of it were dropped.
    TooLong(u64),
}

impl Default for Lines {
    fn default() -> Self {
        Self { limit: MAX_LINE_BYTES, buffer: Vec::new(), start: 0, searched: 0, dropped: 0 }
    }
}

impl Lines {
    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            if self.buffer.is_empty() {
                self.buffer.shrink_to(RETAINED_BYTES);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next line. Blank lines are skipped.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                if self.searched - self.start > self.limit {
                    self.dropped += (self.searched - self.start) as u64;
                    self.buffer = Vec::new();
                    (self.start, self.searched) = (0, 0);
                }
                return None;
            };
            let line = self.start..self.searched + end;
            self.start = line.end + 1;
            self.searched = self.start;
            let dropped = std::mem::take(&mut self.dropped);
            if dropped > 0 {
                return Some(Line::TooLong(dropped + line.len() as u64));
            }
            if !self.buffer[line.clone()].trim_ascii().is_empty() {
                return Some(Line::Whole(self.buffer[line].trim_ascii()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Line, Lines};

    fn all(lines: &mut Lines) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(line) => found.push(line.to_vec()),
                Line::TooLong(bytes) => found.push(format!("over {bytes}").into_bytes()),
            }
        }
        found
    }

    proptest! {
        #[test]
        fn lines_come_whole_however_they_arrive(
            lines in prop::collection::vec("[a-z{}]{1,40}", 0..20), size in 1_usize..50
        ) {
            let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\r\n\n").into_bytes()).collect();
            let mut reader = Lines::default();
            let mut found = Vec::new();
            for piece in bytes.chunks(size) {
                reader.push(piece);
                found.extend(all(&mut reader));
            }
            let expected: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_line_over_the_bound_is_told_and_the_next_one_is_read() {
        let mut reader = Lines::default();
        let mut found = Vec::new();
        for _ in 0..18 {
            reader.push(&vec![b'x'; 1 << 20]);
            found.extend(all(&mut reader));
        }
        assert!(found.is_empty());
        reader.push(b"x\n{}\n");
        assert_eq!(all(&mut reader), [format!("over {}", 18 * (1 << 20) + 1).into_bytes(), b"{}".to_vec()]);
    }
}
