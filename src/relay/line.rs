//! Lines of a bounded length from a blocking stream.

use std::io::{self, BufRead, Read};

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// A line, its newline included.
    Line,
    /// The stream ended within a line.
    Unfinished,
    /// A line over the bound; all but its head was thrown away.
    TooLong,
    End,
}

/// Bytes of a line that is too long which are kept, to find its id in.
const HEAD: usize = 4096;

/// A buffer that grew past this is given back, so that one large message does not stay in memory.
const KEPT: usize = 256 * 1024;

/// Reads the next line into `line`, of at most `most` bytes.
pub(super) fn read(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<Came> {
    line.clear();
    line.shrink_to(KEPT);
    let read = input.by_ref().take(most as u64 + 1).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(Came::End);
    }
    if line.ends_with(b"\n") {
        return Ok(Came::Line);
    }
    if read <= most {
        return Ok(Came::Unfinished);
    }
    line.truncate(HEAD);
    let mut rest = Vec::new();
    loop {
        rest.clear();
        let read = input.by_ref().take(KEPT as u64).read_until(b'\n', &mut rest)?;
        if read == 0 || rest.ends_with(b"\n") {
            return Ok(Came::TooLong);
        }
    }
}
