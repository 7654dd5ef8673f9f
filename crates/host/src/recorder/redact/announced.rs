//! Generated values after the words that announce them: `the password is …`, `API key   …`, `| token | … |`.

use std::ops::Range;

use super::code_words::{is_code, is_expression};
use super::generated::is_password;
use super::lexer::{after_gap, in_quotes, is_mixed, is_placeholder, word_end};

/// A tab in JSON. Messages of more than one piece are searched as they are.
const TAB: &[u8] = b"\\t";

/// Returns the value that a text announces after a name, which ends at `end`: on the same line, or after a colon on the
/// next one.
pub(super) fn value(text: &[u8], end: usize, is_value: fn(&[u8]) -> bool) -> Option<Range<usize>> {
    const MAX_WORDS: usize = 4;
    /// Words before a value.
    const LINKS: &[&[u8]] = &[b"is", b"was", b"are", b"to", b"now", b"plain", b"login"];
    // What follows a name with a separator has been read as its value.
    if !matches!(text.get(end), Some(b' ' | b'\t' | b'*')) && !text[end..].starts_with(TAB) {
        return None;
    }
    let (mut from, _) = signs(text, end);
    let mut linked = true;
    for _ in 0..=MAX_WORDS {
        let start = from + usize::from(matches!(text.get(from), Some(b'"' | b'\'' | b'`')));
        let word = &text[start..word_end(text, start)];
        let word = &word[..word.iter().rposition(|byte| !is_end(*byte)).map_or(0, |last| last + 1)];
        if linked && is_value(word) && !is_expression(word) && !is_placeholder(word) && !is_code(word) {
            return Some(start..start + word.len());
        }
        if start > from
            || word.is_empty()
            || !word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"'@._-/".contains(byte))
        {
            return None;
        }
        let is_link = LINKS.iter().any(|link| link.eq_ignore_ascii_case(word));
        let (next, sign) = signs(text, start + word.len());
        (from, linked) = (next, sign || is_link);
    }
    None
}

/// Returns whether a byte at the end of a word belongs to the sentence.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'.' | b',' | b':' | b';' | b')' | b'|' | b'*' | b'=')
}

/// Returns the end of the signs before a word of a text, and whether one of them announces it.
fn signs(text: &[u8], mut at: usize) -> (usize, bool) {
    /// An arrow as UTF-8, and as UTF-16 of both orders: its bytes are read without the zeros of the signs around it.
    const ARROWS: [&[u8]; 3] = ["→".as_bytes(), b"\x92!", b"!\x92"];
    let arrow = |at: usize| ARROWS.into_iter().find(|arrow| text[at..].starts_with(arrow));
    let mut announces = false;
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'*' => at += 1,
            // `The following password …:`, and it is alone on a line after that.
            b'\n' | b'\r' if announces => at += 1,
            b':' | b'=' | b'|' => (at, announces) = (at + 1, true),
            b'-' if text.get(at + 1) == Some(&b'>') => (at, announces) = (at + 2, true),
            b'\\' if text[at..].starts_with(TAB) => at += TAB.len(),
            _ => match arrow(at) {
                Some(arrow) => (at, announces) = (at + arrow.len(), true),
                None => break,
            },
        }
    }
    (at, announces)
}

/// Returns the argument of this number of a call, if it is a string that looks like a password.
pub(super) fn in_call(text: &[u8], after: usize, number: usize) -> Option<Range<usize>> {
    const MAX_CALL: usize = 200;
    let end = text.len().min(after + MAX_CALL);
    let mut at = after;
    for _ in 0..number {
        at += memchr::memchr(b',', text.get(at..end)?)? + 1;
    }
    let gap = text.get(at..end)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let value = in_quotes(text, at + gap)??;
    is_password(&text[value.clone()]).then_some(value)
}

/// Returns the password of `LOGIN name password` in the capitals of the protocol.
pub(super) fn login(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    let name = word_end(text, after);
    let password = name + 1..word_end(text, (name + 1).min(text.len()));
    let exact = &text[start..after] == b" LOGIN " && text.get(name) == Some(&b' ');
    (exact && is_password(text.get(password.clone())?)).then_some(password)
}

/// Returns the password of `name:password`, which follows a word such as `login` within a few words of its line.
pub(super) fn pair(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MAX_WORDS: usize = 5;
    /// Names before a colon that are not those of a user.
    const OTHERS: &[&[u8]] = &[
        b"localhost",
        b"error",
        b"code",
        b"line",
        b"status",
        b"port",
        b"sha256",
        b"sha512",
        b"md5",
        b"http",
        b"https",
    ];
    const MIN_PASSWORD: usize = 6;
    let mut at = after;
    for _ in 0..MAX_WORDS {
        let quoted = |byte: &u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'(' | b'*');
        let start = at + text[at..].iter().take_while(|byte| quoted(byte)).count();
        let end = word_end(text, start);
        let word = &text[start..end];
        let word = &word[..word.iter().rposition(|byte| !is_end(*byte)).map_or(0, |last| last + 1)];
        let colon = memchr::memchr(b':', word).unwrap_or(word.len());
        let (name, password) = (&word[..colon], word.get(colon + 1..).unwrap_or_default());
        let is_name = name.len() > 1
            && name[0].is_ascii_alphabetic()
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.@-".contains(byte))
            && !OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name));
        let is_given = password.len() >= MIN_PASSWORD
            && password.iter().any(u8::is_ascii_digit)
            && password.iter().any(u8::is_ascii_alphabetic)
            && !password.iter().any(|byte| matches!(byte, b'/' | b':' | b'(' | b'{' | b'<'))
            && !is_placeholder(password)
            && !is_expression(password);
        if is_name && is_given {
            return Some(start + colon + 1..start + word.len());
        }
        if word.is_empty() {
            return None;
        }
        // `admin / password`
        if let Some(next) = text[end..].strip_prefix(b" / ").map(|_| end + 3).filter(|_| is_name) {
            let password = next..word_end(text, next);
            return is_password(&text[password.clone()]).then_some(password);
        }
        at = end;
    }
    None
}

/// Returns the password that a program prints, or a user types, after words about it, on the same line or on the next one.
pub(super) fn reset(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    const MAX_DISTANCE: usize = 200;
    const MIN_PASSWORD: usize = 8;
    /// Minimum letters in both cases that are not a word.
    const MIN_LETTERS: usize = 16;
    let line = &text[after..text.len().min(after + MAX_DISTANCE)];
    let from = if text[after - 2] == b':' {
        let before = text[start.saturating_sub(MAX_DISTANCE)..start].to_ascii_lowercase();
        memchr::memmem::find(&before, b"password for the ")?;
        after
    } else {
        // In a JSON string that is not decoded, the escape `\n` ends a line.
        let end = [&b"\n"[..], b"\\n"].iter().filter_map(|end| memchr::memmem::find(line, end)).min();
        after + memchr::memrchr(b':', &line[..end.unwrap_or(line.len())])? + 1
    };
    let value = after_gap(text, from).unwrap_or(from);
    let end = word_end(text, value);
    let password = &text[value..end];
    let has = |of: fn(&u8) -> bool| password.iter().any(of);
    let cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && password.len() >= MIN_LETTERS;
    (password.len() >= MIN_PASSWORD && (is_mixed(password) || cases)).then_some(value..end)
}

/// Returns what a script sends after it expects a prompt for a password: `send "…\r"`, `child.sendline('…')`.
pub(super) fn sent(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    const MAX_DISTANCE: usize = 200;
    let before = text[start.saturating_sub(MAX_DISTANCE)..start].to_ascii_lowercase();
    // Only the last prompt counts.
    let prompt = &before[memchr::memmem::rfind(&before, b"expect")?..];
    [&b"assword"[..], b"assphrase", b"passcode"]
        .iter()
        .find_map(|word| memchr::memmem::find(prompt, word))?;
    let is_sign = |byte: &u8| matches!(byte, b'"' | b'\\');
    let quote = after - text[..after].iter().rev().take_while(|byte| is_sign(byte)).count();
    let range = in_quotes(text, quote)??;
    let mut value = range;
    while text[value.clone()].ends_with(b"\\r") || text[value.clone()].ends_with(b"\\n") {
        value.end -= 2;
    }
    (!text[value.clone()].starts_with(b"$") && !is_placeholder(&text[value.clone()])).then_some(value)
}
