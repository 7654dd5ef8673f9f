//! A text as its reader sees it, without escapes and colours, and the way back to the bytes it came from.

use std::ops::Range;

/// The byte that begins a colour.
pub(super) const ESCAPE: u8 = 0x1b;

/// A text that was read, and where it differs from the bytes it came from.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) text: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    at: Range<usize>,
    raw: Range<usize>,
}

impl Reading {
    /// Returns the bytes that a part of the text came from. A change is not divided.
    pub(super) fn raw(&self, range: &Range<usize>) -> Range<usize> {
        let before = |count: usize| count.checked_sub(1).map(|last| &self.changes[last]);
        let start = match before(self.changes.partition_point(|change| change.at.start <= range.start)) {
            Some(change) if range.start < change.at.end => change.raw.start,
            Some(change) => change.raw.end + range.start - change.at.end,
            None => range.start,
        };
        let end = match before(self.changes.partition_point(|change| change.at.start < range.end)) {
            Some(change) if range.end < change.at.end => change.raw.end,
            Some(change) => change.raw.end + range.end - change.at.end,
            None => range.end,
        };
        start..end
    }

    fn change(&mut self, bytes: &[u8], raw: Range<usize>, with: &[u8]) {
        let kept = self.changes.last().map_or(0, |change| change.raw.end);
        self.text.extend_from_slice(&bytes[kept..raw.start]);
        let at = self.text.len()..self.text.len() + with.len();
        self.text.extend_from_slice(with);
        self.changes.push(Change { at, raw });
    }

    /// Returns the reading with the rest of the bytes, if anything was changed.
    fn finish(mut self, bytes: &[u8]) -> Option<Self> {
        let kept = self.changes.last()?.raw.end;
        self.text.extend_from_slice(&bytes[kept..]);
        Some(self)
    }
}

/// Reads the content of a JSON string; `None` without escapes.
pub(super) fn unescaped(bytes: &[u8]) -> Option<Reading> {
    let mut reading = Reading::default();
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'\\', &bytes[from..]).map(|length| from + length) {
        from = bytes.len().min(at + 2);
        if let Some((end, sign)) = escape(bytes, at) {
            reading.change(bytes, at..end, sign.encode_utf8(&mut [0; 4]).as_bytes());
            from = end;
        }
    }
    reading.finish(bytes)
}

/// Returns the end of the escape at `at`, and the character that it encodes.
fn escape(bytes: &[u8], at: usize) -> Option<(usize, char)> {
    let sign = match bytes.get(at + 1)? {
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let code = code(bytes, at + 2)?;
            if !(0xd800..0xdc00).contains(&code) {
                return char::from_u32(code).map(|sign| (at + 6, sign));
            }
            let low = code_after(bytes, at + 6)?;
            let sign = char::from_u32(0x1_0000 + ((code - 0xd800) << 10) + low.checked_sub(0xdc00)?);
            return sign.map(|sign| (at + 12, sign));
        }
        _ => return None,
    };
    Some((at + 2, sign))
}

/// Returns the number of an escape with four digits.
fn code(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn code_after(bytes: &[u8], at: usize) -> Option<u32> {
    (bytes.get(at..at + 2)? == b"\\u").then(|| code(bytes, at + 2)).flatten()
}

/// Reads a text without colours, without the zero bytes of wide characters, and with plain characters in the place of
/// their JSON escapes (`\u0070`, `\/`); `None` without any of them.
pub(super) fn simplified(bytes: &[u8]) -> Option<Reading> {
    let mut reading = Reading::default();
    let mut from = 0;
    while let Some(at) = memchr::memchr3(ESCAPE, 0, b'\\', &bytes[from..]).map(|length| from + length) {
        from = at + 1;
        let change = match bytes[at] {
            ESCAPE => colour_end(bytes, at + 1).map(|end| (end, None)),
            0 => {
                let wide = at >= 2 && bytes[at - 2] == 0 || bytes.get(at + 2) == Some(&0);
                wide.then_some((at + 1, None))
            }
            _ => {
                from = bytes[at..].iter().position(|byte| *byte != b'\\').map_or(bytes.len(), |run| at + run);
                match bytes.get(from) {
                    Some(b'/') => Some((from + 1, Some(b'/'))),
                    Some(b'u') => match code(bytes, from + 1) {
                        Some(code) if code == u32::from(ESCAPE) => {
                            colour_end(bytes, from + 5).map(|end| (end, None))
                        }
                        Some(code) => u8::try_from(code)
                            .ok()
                            .filter(|sign| matches!(sign, b' '..=b'~') && !matches!(sign, b'"' | b'\\'))
                            .map(|sign| (from + 5, Some(sign))),
                        None => None,
                    },
                    _ => None,
                }
            }
        };
        if let Some((end, sign)) = change {
            reading.change(bytes, at..end, sign.as_slice());
            from = end;
        }
    }
    reading.finish(bytes)
}

/// Returns the end of a control sequence of a terminal after its escape.
fn colour_end(bytes: &[u8], at: usize) -> Option<usize> {
    let parameters = bytes.get(at..)?.strip_prefix(b"[")?;
    let length = parameters.iter().position(|byte| !matches!(byte, b' '..=b'?'))?;
    matches!(parameters[length], b'@'..=b'~').then_some(at + length + 2)
}
