//! Values that are words, numbers or expressions of a program, and no secrets.

use super::generated::is_key;
use super::lexer::{Class, is_mixed};

/// Values in code that are not secrets.
const CODE: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "str",
    "bytes",
    "int",
    "number",
    "bool",
    "boolean",
    "any",
    "object",
    "self",
    "required",
    "optional",
    "default",
    "yes",
    "no",
    "on",
    "off",
    "unset",
    "input",
    "text",
];

pub(super) fn is_code(value: &[u8]) -> bool {
    CODE.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(value))
}

/// Words that every sentence has and a passphrase of several words does not.
const GRAMMAR: &str = "\
    the and for you your are was has have had with from into than then this that these not but must \
    may can will should would when where which who how its all any each one two via per only also \
    after before same other use used uses using set see new old user name value field file password \
    passwords secret token tokens key without within between does did been being missing invalid \
    expired here there";

/// Returns whether a text is several plain words without grammar, such as a passphrase of a generator.
pub(super) fn is_phrase(text: &[u8]) -> bool {
    const WORDS: std::ops::RangeInclusive<usize> = 3..=12;
    const MIN_LETTERS: usize = 3;
    let plain = |word: &[u8]| {
        word.len() >= MIN_LETTERS
            && word.iter().all(u8::is_ascii_lowercase)
            && !is_code(word)
            && !GRAMMAR.split(' ').any(|known| known.as_bytes() == word)
    };
    let mut count = 0;
    text.split(|byte| *byte == b' ').all(|word| {
        count += 1;
        plain(word)
    }) && WORDS.contains(&count)
}

pub(super) fn is_number(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
}

/// Returns whether a value looks like a part of a program.
pub(super) fn is_expression(value: &[u8]) -> bool {
    let path = |at: usize| value.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'_');
    let call = value.iter().position(|byte| matches!(byte, b'(' | b'[' | b'{')).is_some_and(|at| {
        at > 0
            && value[..at].iter().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'!' | b'&' | b'*')
            })
    });
    let member = value.iter().position(|byte| *byte == b'.').is_some_and(|at| {
        at > 0 && path(at) && value[..at].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
    });
    let padded = value.ends_with(b"=");
    let base64 = padded
        && value.len().is_multiple_of(4)
        && value.iter().all(|byte| Class::Base64.holds(*byte) || *byte == b'=');
    let long = base64 && value.len() >= 8 || value.len() >= if padded { 8 } else { 16 } && is_mixed(value);
    call || member && !is_key(value)
        || !long
            && matches!(
                value.first(),
                Some(b'&' | b'*' | b'(' | b'[' | b'{' | b'|' | b'@' | b'/' | b'.' | b'-' | b'+' | b'=')
            )
        || memchr::memmem::find(value, b"::").is_some()
}
