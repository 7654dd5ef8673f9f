//! Buffer for text output of any length that holds its beginning and its end.

/// Maximum bytes of the beginning, and of the end.
const MAX_HALF: usize = 512 * 1024;

/// How far the cut may move to a line's end, which is a better cut than the middle of a word.
const MAX_CUT_SHIFT: usize = 4 * 1024;

/// The beginning and the end of text that is added line by line.
#[derive(Debug, Default)]
pub(super) struct HeadTailBuffer {
    head: String,
    /// Up to twice [`MAX_HALF`], so that it is cut seldom.
    tail: String,
    /// Bytes between the beginning and the end.
    left_out: u64,
}

impl HeadTailBuffer {
    /// Adds a line, without its end.
    pub(super) fn line(&mut self, line: &str) {
        let mut rest = line;
        if self.tail.is_empty() && self.left_out == 0 {
            let room = MAX_HALF - self.head.len();
            if line.len() < room {
                self.head.push_str(line);
                self.head.push('\n');
                return;
            }
            let end = line.floor_char_boundary(room);
            self.head.push_str(&line[..end]);
            rest = &line[end..];
        }
        // Of a long line at most the end can be in the tail.
        let wanted = rest.ceil_char_boundary(rest.len().saturating_sub(MAX_HALF));
        if wanted > 0 {
            self.gap(wanted as u64);
        }
        self.tail.push_str(&rest[wanted..]);
        self.tail.push('\n');
        if self.tail.len() > 2 * MAX_HALF {
            self.cut();
        }
    }

    /// Records that so many bytes are missing here.
    pub(super) fn gap(&mut self, bytes: u64) {
        // The text between two gaps is left out with them, so that there is one gap only.
        self.left_out += bytes + self.tail.len() as u64;
        self.tail.clear();
    }

    /// Returns the text, with a note of the gap.
    pub(super) fn into_text(mut self) -> String {
        if self.tail.len() > MAX_HALF {
            self.cut();
        }
        match self.left_out {
            0 => self.head + &self.tail,
            left_out => format!("{}\n[{left_out} bytes are left out here]\n{}", self.head, self.tail),
        }
    }

    /// Cuts the tail to [`MAX_HALF`], at a line's end where one is near.
    fn cut(&mut self) {
        let start = self.tail.ceil_char_boundary(self.tail.len() - MAX_HALF);
        let near = self.tail.floor_char_boundary(start + MAX_CUT_SHIFT);
        let start = self.tail[start..near].find('\n').map_or(start, |end| start + end + 1);
        self.left_out += start as u64;
        self.tail.drain(..start);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

    use super::{HeadTailBuffer, MAX_HALF};

    fn kept(lines: &[String]) -> String {
        let mut kept = HeadTailBuffer::default();
        for line in lines {
            kept.line(line);
        }
        kept.into_text()
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let line = ("[aé\u{20ac}]{0,3}", prop::sample::select(vec![0, 1, 7, 100_000, 600_000]));
        prop::collection::vec(line.prop_map(|(text, times)| text.repeat(times)), 0..12)
    }

    proptest! {
        #[test]
        fn what_fits_is_whole_and_the_rest_is_counted(lines in lines()) {
            let whole = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
            let text = kept(&lines);
            let Some((head, rest)) = text.split_once("\n[") else {
                prop_assert_eq!(text, whole);
                return Ok(());
            };
            let (count, tail) = rest.split_once(" bytes are left out here]\n").unwrap();
            let count: usize = count.parse().unwrap();
            prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
            prop_assert_eq!(head.len() + count + tail.len(), whole.len());
            prop_assert!(head.len() <= MAX_HALF && tail.len() <= MAX_HALF + 1);
        }
    }
}
