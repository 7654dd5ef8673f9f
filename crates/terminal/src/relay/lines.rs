//! Lines of a bounded length from a blocking stream.

use std::io::{self, BufRead, Read};

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    /// A line, its newline included.
    Line,
    /// The stream ended within a line.
    Unfinished,
    /// A line over the bound; all but its head was dropped.
    TooLong,
    End,
}

/// Bytes of a line that is too long which are kept, to find its id in.
const HEAD_BYTES: usize = 4096;

/// A buffer that grew past this is freed, so that one large message does not stay in memory.
const MAX_RETAINED_BYTES: usize = 256 * 1024;

/// Reads the next line into `line`, of at most `max_bytes` bytes.
pub(super) fn read(input: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: usize) -> io::Result<LineRead> {
    line.clear();
    line.shrink_to(MAX_RETAINED_BYTES);
    let read = input.by_ref().take(max_bytes as u64 + 1).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(LineRead::End);
    }
    if line.ends_with(b"\n") {
        return Ok(LineRead::Line);
    }
    if read <= max_bytes {
        return Ok(LineRead::Unfinished);
    }
    line.truncate(HEAD_BYTES);
    let mut rest = Vec::new();
    loop {
        rest.clear();
        let read = input.by_ref().take(MAX_RETAINED_BYTES as u64).read_until(b'\n', &mut rest)?;
        if read == 0 || rest.ends_with(b"\n") {
            return Ok(LineRead::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use proptest::prelude::*;

    use super::{LineRead, read};

    /// Gives its bytes in pieces of the given sizes, over and over.
    struct Pieces<'a>(&'a [u8], Vec<usize>, usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let piece = self.1[self.2 % self.1.len()].min(buffer.len());
            self.2 += 1;
            self.0.read(&mut buffer[..piece])
        }
    }

    proptest! {
        #[test]
        fn lines_come_whole_however_they_arrive(
            lines in prop::collection::vec("[a-z{}]{0,40}", 0..8),
            rest in "[a-z]{0,40}",
            pieces in prop::collection::vec(1_usize..9, 1..6),
            most in 10_usize..30,
        ) {
            let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            bytes.extend_from_slice(rest.as_bytes());
            let mut input = BufReader::with_capacity(16, Pieces(&bytes, pieces, 0));
            let mut line = Vec::new();
            for expected in &lines {
                let came = read(&mut input, &mut line, most).unwrap();
                if expected.len() > most {
                    prop_assert_eq!(came, LineRead::TooLong);
                    prop_assert!(expected.as_bytes().starts_with(&line));
                } else {
                    prop_assert_eq!(came, LineRead::Line);
                    prop_assert_eq!(&line, &[expected.as_bytes(), b"\n"].concat());
                }
            }
            if rest.len() > most {
                prop_assert_eq!(read(&mut input, &mut line, most).unwrap(), LineRead::TooLong);
            } else if !rest.is_empty() {
                prop_assert_eq!(read(&mut input, &mut line, most).unwrap(), LineRead::Unfinished);
                prop_assert_eq!(&line, rest.as_bytes());
            }
            prop_assert_eq!(read(&mut input, &mut line, most).unwrap(), LineRead::End);
        }
    }
}
