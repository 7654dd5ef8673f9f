//! Lines of a byte stream; a line that is too long is split into pieces.

/// Maximum bytes of one piece.
const PIECE: usize = 1 << 20;

/// Splits one direction of a recording into lines.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Passes each line of `bytes` to `line`, without its end. A piece that is not the last of its line is passed with
    /// `true`.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8], bool)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.0.is_empty() {
                pieces(&bytes[..end], &mut line);
            } else {
                self.0.extend_from_slice(&bytes[..end]);
                pieces(&std::mem::take(&mut self.0), &mut line);
            }
            bytes = &bytes[end + 1..];
        }
        self.0.extend_from_slice(bytes);
        while self.0.len() > PIECE {
            let end = boundary(&self.0);
            line(&self.0[..end], true);
            self.0.drain(..end);
        }
    }

    /// Returns whether no bytes follow the last line end.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes the bytes after the last line end to `line`.
    pub(super) fn rest(&mut self, mut line: impl FnMut(&[u8], bool)) {
        let rest = std::mem::take(&mut self.0);
        if !rest.is_empty() {
            line(&rest, true);
        }
    }
}

/// Passes a whole line to `line`, in pieces if it is too long for one.
pub(super) fn pieces(mut bytes: &[u8], line: &mut impl FnMut(&[u8], bool)) {
    while bytes.len() > PIECE {
        let end = boundary(bytes);
        line(&bytes[..end], true);
        bytes = &bytes[end..];
    }
    line(bytes, false);
}

/// Returns the end of the first piece, which is never within a character of UTF-8 text.
fn boundary(bytes: &[u8]) -> usize {
    let is_start = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    (PIECE - 3..=PIECE).rev().find(is_start).unwrap_or(PIECE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Lines, PIECE};

    /// Returns the recorded pieces, joined again.
    fn written(chunks: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        let mut take = |line: &[u8], more: bool| {
            assert!(line.len() <= PIECE);
            all.extend_from_slice(line);
            all.extend((!more).then_some(b'\n'));
        };
        for chunk in chunks {
            lines.push(chunk, &mut take);
        }
        lines.rest(&mut take);
        all
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_added(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300),
                                    size in 1_usize..40) {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(written(&chunks), bytes.clone());
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_nowhere_else() {
        let text = "é".repeat(PIECE) + "\nshort\n";
        assert_eq!(written(&[text.as_bytes()]), text.as_bytes());
        let mut pieces = Vec::new();
        Lines::default().push(&text.as_bytes()[1..], |line, more| pieces.push((line.to_vec(), more)));
        // The first piece begins within a character; the others do not.
        assert!(pieces[1..].iter().all(|(piece, _)| std::str::from_utf8(piece).is_ok()));
        assert_eq!(pieces.iter().map(|(_, more)| *more).collect::<Vec<_>>(), [true, false, false]);
    }
}
