//! Values of several lines or words: blocks of YAML, braces of connection strings, and what follows a prompt.

use std::ops::Range;

use super::lexer::{after_gap, is_mixed, is_placeholder, word_end};

/// Returns the lines of a block of YAML, which are indented more than its name: `password: |`.
pub(super) fn block(text: &[u8], start: usize, from: usize) -> Option<Range<usize>> {
    const MAX_INDENT: usize = 200;
    const MAX_HEAD: usize = 8;
    const MAX_BLOCK: usize = 64 << 10;
    let low = start.saturating_sub(MAX_INDENT);
    let head = &text[from..text.len().min(from + MAX_HEAD)];
    // In a JSON string that is not decoded, the escape `\n` ends a line, and a quote ends the string.
    let newline: &[u8] = if head.contains(&b'\n') { b"\n" } else { b"\\n" };
    let head = memchr::memmem::find(head, newline)?;
    let line = memchr::memmem::rfind(&text[low..start], newline).map_or(low, |at| low + at + newline.len());
    let before = &text[line..start];
    let named = before.iter().all(|byte| matches!(byte, b' ' | b'-' | b'"' | b'\''));
    let indent = before.iter().take_while(|byte| **byte == b' ').count();
    let plain =
        text[from + 1..from + head].iter().all(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9' | b'\r'));
    let text = &text[..text.len().min(from + MAX_BLOCK)];
    let quote = if newline.len() > 1 { memchr::memchr(b'"', &text[from..]) } else { None };
    let text = quote.map_or(text, |length| &text[..from + length]);
    let mut end = from + head;
    let mut at = end + newline.len();
    while at < text.len() {
        let line_end = memchr::memmem::find(&text[at..], newline).map_or(text.len(), |length| at + length);
        let content = &text[at..line_end];
        if !content.trim_ascii().is_empty() {
            if content.iter().take_while(|byte| **byte == b' ').count() <= indent {
                break;
            }
            end = line_end;
        }
        at = line_end + newline.len();
    }
    let first = after_gap(text, from + head)?;
    (named && plain && first < end && !is_placeholder(&text[first..end])).then_some(first..end)
}

/// Returns the value in braces of a connection string: `Pwd={a;b};`.
pub(super) fn braced(text: &[u8], start: usize, from: usize) -> Option<Range<usize>> {
    const MAX_VALUE: usize = 200;
    let text = &text[..text.len().min(from + MAX_VALUE)];
    let mut end = from + 1;
    loop {
        end += memchr::memchr(b'}', text.get(end..)?)?;
        // Two of them are one in the value.
        if text.get(end + 1) != Some(&b'}') {
            break;
        }
        end += 2;
    }
    let listed = start > 0 && text[start - 1] == b';' || text.get(end + 1) == Some(&b';');
    // A name in braces is a place for a value.
    let given =
        text[from + 1..end].iter().any(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b'=' | b'@'));
    (listed && given).then_some(from + 1..end)
}

/// Returns what was typed after a prompt that shows the former value: `AWS Secret Access Key [None]: …`.
pub(super) fn prompted(text: &[u8], at: usize) -> Option<Range<usize>> {
    const MAX_SHOWN: usize = 40;
    const MIN_VALUE: usize = 8;
    if at == 0 || text.get(at - 1..=at)? != b" [" {
        return None;
    }
    let shown = &text[at..text.len().min(at + MAX_SHOWN)];
    let after = at + memchr::memmem::find(shown, b"]: ")? + 3;
    let end = word_end(text, after);
    let value = &text[after..end];
    (value.len() >= MIN_VALUE && is_mixed(value)).then_some(after..end)
}

/// Returns the words of a wallet after their name: 12, 15, 18, 21 or 24 of BIP 39.
pub(super) fn seed(text: &[u8], after: usize) -> Option<Range<usize>> {
    const COUNTS: &[usize] = &[12, 15, 18, 21, 24];
    const MAX_GAP: usize = 12;
    const MAX_SEED: usize = 24 * 12;
    let gap = &text[after..text.len().min(after + MAX_GAP)];
    let start = after + gap.iter().position(u8::is_ascii_lowercase)?;
    let start = if text[start..].starts_with(b"is ") { start + b"is ".len() } else { start };
    let words = &text[start..text.len().min(start + MAX_SEED)];
    let end =
        words.iter().position(|byte| !byte.is_ascii_lowercase() && *byte != b' ').unwrap_or(words.len());
    let words = words[..end].trim_ascii_end();
    let is_word = |word: &[u8]| (3..=8).contains(&word.len());
    let mut count = 0;
    let plain = words.split(|byte| *byte == b' ').all(|word| {
        count += 1;
        is_word(word)
    });
    (plain && COUNTS.contains(&count)).then_some(start..start + words.len())
}
