//! The words, quotes and structures of a text that may be JSON, or JSON within JSON.
//!
//! Quotes are followed with the number of backslashes before them, and a `\n` ends a line. Thus a line of a protocol is
//! searched without parsing it.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The replacement of a secret.
pub(super) const REDACTED: &str = "[redacted]";
/// Maximum bytes of a word or a token that are read at an anchor. A long one would be read to its end for each anchor in it;
/// [`whole`] reads the rest of it once, where it is a secret.
pub(super) const MAX_WORD: usize = 8 << 10;
/// Maximum bytes of a structure that is searched for its strings.
const MAX_STRUCTURE: usize = 256 << 10;

/// The bytes of a token after its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    /// Also `_` and `-`.
    Word,
    /// Also `_`, `-`, `.`, `~`.
    Dotted,
    /// Also `+`, `/`, `=`, `%`, `:`.
    Base64,
    /// Letters, digits and `$`.
    Dollar,
    Hex,
    /// Hexadecimal digits and `-`.
    Uuid,
}

impl Class {
    pub(super) fn holds(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => Self::Word.holds(byte) || matches!(byte, b'.' | b'~'),
            Self::Base64 => Self::Dotted.holds(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%' | b':'),
            Self::Dollar => byte.is_ascii_alphanumeric() || byte == b'$',
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
        }
    }

    /// Returns the end of the bytes of this class from `at` on.
    pub(super) fn end(self, text: &[u8], at: usize) -> usize {
        let text = &text[..text.len().min(at + MAX_WORD)];
        text[at..].iter().position(|byte| !self.holds(*byte)).map_or(text.len(), |length| at + length)
    }
}

/// Returns whether a text looks random.
pub(super) fn is_mixed(text: &[u8]) -> bool {
    let digit = text.iter().any(u8::is_ascii_digit);
    let upper = text.iter().any(u8::is_ascii_uppercase);
    let lower = text.iter().any(u8::is_ascii_lowercase);
    digit && (upper || lower) || upper && lower && text.len() >= 24
}

/// Returns a secret with the rest of its word, of which an anchor's check has read [`MAX_WORD`] bytes at most.
pub(super) fn whole(text: &[u8], secret: Range<usize>) -> Range<usize> {
    let mut end = secret.end;
    while end >= secret.start + MAX_WORD / 2 {
        let next = word_end(text, end);
        if next == end {
            break;
        }
        end = next;
    }
    secret.start..end
}

/// Returns the end of a word: at white space, a quote, or an escape that is one.
pub(super) fn word_end(text: &[u8], at: usize) -> usize {
    let text = &text[..text.len().min(at + MAX_WORD)];
    let mut end = at;
    while let Some(byte) = text.get(end) {
        match byte {
            b'\\'
                if matches!(text.get(end + 1), Some(b'\\'))
                    && !matches!(text.get(end + 2), Some(b'n' | b'r' | b't' | b'"' | b'\'')) =>
            {
                end += 2;
            }
            b'\\'
                if matches!(
                    text.get(end + 1),
                    Some(b'\\' | b'n' | b'r' | b't' | b'"' | b'\'' | b'u') | None
                ) =>
            {
                break;
            }
            b'"' | b'\'' | b'`' | b'<' | b'>' => break,
            byte if byte.is_ascii_whitespace() || byte.is_ascii_control() => break,
            _ => end += 1,
        }
    }
    end.min(text.len())
}

/// Returns the beginning of the next word on the line, after spaces or after the end of an element of a list.
pub(super) fn next_word(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'"' | b'\'' | b',' => at += 1,
            b'\\' => {
                let quote = text[at..]
                    .iter()
                    .position(|byte| *byte != b'\\')
                    .map_or(text.len(), |length| at + length);
                if !matches!(text.get(quote), Some(b'"' | b'\'')) {
                    break;
                }
                at = quote;
            }
            _ => break,
        }
    }
    at
}

/// Returns whether a quote and a colon follow a word: it is the name of a member, not the next element of a list.
pub(super) fn is_member(text: &[u8], end: usize) -> bool {
    let after = text[end..].iter().position(|byte| *byte != b'\\').map_or(text.len(), |length| end + length);
    matches!(text.get(after..after + 2), Some(b"\":" | b"':"))
}

/// Returns the beginning of the next word after white space, or after escapes that are white space.
pub(super) fn after_gap(text: &[u8], mut at: usize) -> Option<usize> {
    let start = at;
    loop {
        match text.get(at..)? {
            [byte, ..] if byte.is_ascii_whitespace() => at += 1,
            [b'\\', b'n' | b'r' | b't', ..] => at += 2,
            [b'\\', b'\\', b'n' | b'r' | b't', ..] => at += 3,
            _ => return (at > start).then_some(at),
        }
    }
}

/// Returns whether a value is a placeholder for a secret, such as `...` or the name of a variable.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"Bearer ").or(value.strip_prefix(b"Basic ")).unwrap_or(value);
    let variable = |name: &[u8]| {
        name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
    };
    match value {
        b""
        | b"..."
        | b"\xe2\x80\xa6"
        | [b'$', b'{' | b'(', ..]
        | [b'{', .., b'}']
        | [b'<', .., b'>']
        | [b'%', .., b'%'] => true,
        [b'$', name @ ..] => variable(name),
        value => {
            value.starts_with(REDACTED.as_bytes())
                || value.iter().all(|byte| matches!(byte, b'*' | b'.' | b'x' | b'X')) && value.len() > 2
        }
    }
}

/// Decodes base64 that has text at its beginning.
pub(super) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    const HEAD: usize = 12;
    const MAX_TEXT: usize = 64 << 10;
    // The first bit of a byte of ASCII is 0. Nearly all words and paths end here.
    if !text.iter().take(HEAD).step_by(4).all(|sign| matches!(sign, b'A'..=b'Z' | b'a'..=b'f')) {
        return None;
    }
    let text = &text[..text.len() - text.iter().rev().take_while(|byte| **byte == b'=').count()];
    let text = &text[..text.len().min(MAX_TEXT)];
    // A last group of one character holds no whole byte.
    let text = if text.len() % 4 == 1 { &text[..text.len() - 1] } else { text };
    let engine =
        if text.iter().any(|byte| matches!(byte, b'-' | b'_')) { &URL_SAFE_NO_PAD } else { &STANDARD_NO_PAD };
    let lenient = |part: &[u8]| engine.decode(part).ok();
    let is_text = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let head = lenient(&text[..text.len().min(HEAD)])?;
    if head.is_empty() || !head.iter().all(is_text) {
        return None;
    }
    lenient(text).or_else(|| lenient(&text[..text.len() / 4 * 4]))
}

pub(super) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the end of a quote at `at`, the quote and the number of backslashes before it.
pub(super) fn quote(text: &[u8], at: usize) -> Option<(usize, u8, usize)> {
    let level = text.get(at..)?.iter().take_while(|byte| **byte == b'\\').count();
    let byte = *text.get(at + level)?;
    // Escapes within escapes have 0, 1, 3, 7 … backslashes; others belong to the text before.
    let is_quote = matches!(byte, b'"' | b'\'' | b'`') && (level + 1).is_power_of_two();
    is_quote.then_some((at + level + 1, byte, level))
}

/// Returns the content of quotes at `at`; `None` without quotes, and `Some(None)` if the content is a placeholder.
#[expect(clippy::option_option, reason = "no quotes, and quotes without a secret, are different")]
pub(super) fn in_quotes(text: &[u8], at: usize) -> Option<Option<Range<usize>>> {
    // `b"…"`, `f'…'`
    let prefix = usize::from(matches!(text.get(at..at + 2), Some([b'b' | b'r' | b'f' | b'u', b'"' | b'\''])));
    let (mut start, byte, level) = quote(text, at + prefix)?;
    let triple = level == 0 && matches!(text.get(start..start + 2), Some([a, b]) if *a == byte && *b == byte);
    start += if triple { 2 } else { 0 };
    let end = string_end(text, start, byte, level);
    let value = &text[start..end];
    Some((!is_placeholder(value)).then_some(start..end))
}

/// Returns the end of a string in quotes: at the quote, at a line end, or at the end of the JSON string around it.
pub(super) fn string_end(text: &[u8], start: usize, byte: u8, level: usize) -> usize {
    let mut from = start;
    loop {
        let Some(length) = memchr::memchr3(byte, b'"', b'\n', &text[from..]) else { return text.len() };
        let at = from + length;
        let backslashes = text[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let ends = match text[at] {
            b'\n' => true,
            found if found == byte => closes(backslashes, level),
            _ => backslashes == 0 && matches!(text.get(at + 1), None | Some(b',' | b':' | b'}' | b']')),
        };
        if ends {
            // Backslashes before the quote of an outer string are not part of the value.
            return at - backslashes.min(level);
        }
        from = at + 1;
    }
}

/// Returns whether a quote after so many backslashes ends a string that began after `level` backslashes. An escape in
/// a string within strings has twice as many and one.
pub(super) fn closes(backslashes: usize, level: usize) -> bool {
    backslashes < level || backslashes % (2 * (level + 1)) == level
}

/// Returns the end of white space; of line ends too, after a quoted name.
pub(super) fn spaces(text: &[u8], at: usize, quoted: bool) -> usize {
    if quoted {
        return after_gap(text, at).unwrap_or(at);
    }
    text[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t')).map_or(text.len(), |length| at + length)
}

/// A string of a structure.
pub(super) struct Item {
    pub(super) range: Range<usize>,
    /// The name before it, in an object.
    pub(super) key: Option<Range<usize>>,
    pub(super) depth: usize,
}

/// Returns the strings of the structure that begins at `from`, at any depth.
pub(super) fn strings(text: &[u8], from: usize) -> Vec<Item> {
    let text = &text[..text.len().min(from + MAX_STRUCTURE)];
    let mut found: Vec<Item> = Vec::new();
    let (mut at, mut depth, mut level) = (from, 0_usize, None);
    let mut key: Option<Range<usize>> = None;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' => key = None,
            b'"' | b'\\' => {
                let Some((start, b'"', backslashes)) = quote(text, at) else {
                    at += 1;
                    continue;
                };
                // Another level is that of the string around the structure: it has ended.
                if *level.get_or_insert(backslashes) != backslashes {
                    break;
                }
                let end = string_end(text, start, b'"', backslashes);
                at = end + backslashes + 1;
                if text.get(at) == Some(&b':') || text.get(at..at + 2) == Some(b" :") {
                    key = Some(start..end);
                } else {
                    found.push(Item { range: start..end, key: key.take(), depth });
                }
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at += 1;
    }
    found
}

/// Returns the string at `from`, or the longest string of the object there, without its type, role, id and name.
pub(super) fn longest_string(text: &[u8], from: usize) -> Option<Range<usize>> {
    let describes = |key: &Range<usize>| matches!(&text[key.clone()], b"type" | b"role" | b"id" | b"name");
    match text.get(from)? {
        b'"' => Some(from + 1..string_end(text, from + 1, b'"', 0)),
        b'{' => {
            let content =
                strings(text, from).into_iter().filter(|item| !item.key.as_ref().is_some_and(describes));
            content.map(|item| item.range).max_by_key(ExactSizeIterator::len)
        }
        _ => None,
    }
}
