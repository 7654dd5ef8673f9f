//! Secrets in the arguments of commands.

use std::ops::Range;

use super::generated::is_password;
use super::lexer::{MAX_WORD, in_quotes, is_member, is_placeholder, next_word, word_end};

/// Maximum bytes of a command that are searched for an argument.
const MAX_COMMAND: usize = 300;
/// Maximum arguments that are counted.
const MAX_ARGUMENTS: usize = 12;

/// Returns the password of `-u name:password`, or of `-U domain\name%password`.
pub(super) fn user(text: &[u8], after: usize) -> Option<Range<usize>> {
    let gap = text.get(after).copied()?;
    let word = if gap == b'=' { after + 1 } else { next_word(text, after) };
    if text[after - 1] == b'U'
        && let Some(password) = of_samba(text, word)
    {
        return Some(password);
    }
    let end = word_end(text, word);
    let pair = &text[word..end];
    let colon = memchr::memchr(b':', pair)?;
    let (name, password) = (&pair[..colon], &pair[colon + 1..]);
    let ids = name.iter().chain(password).all(u8::is_ascii_digit);
    let path = matches!(password.first(), None | Some(b'/' | b'.' | b'~' | b'$' | b':' | b'%'));
    (!ids && !path && !is_member(text, end) && !name.starts_with(b"+") && !is_placeholder(password))
        .then_some(word + colon + 1..end)
}

/// Returns the password of `domain\name%password`. The backslash is no escape.
fn of_samba(text: &[u8], word: usize) -> Option<Range<usize>> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let rest = &text[word..text.len().min(word + MAX_WORD)];
    let end = word + rest.iter().position(ends).unwrap_or(rest.len());
    let percent = word + memchr::memchr(b'%', &text[word..end])?;
    let name = &text[word..percent];
    (!name.is_empty() && !name.contains(&b':')).then(|| given(text, percent + 1..end))?
}

/// Returns the value of a command's flag on the same line: the next word, or the rest of the flag's own word.
pub(super) fn after_flag(text: &[u8], after: usize, flag: &str) -> Option<Range<usize>> {
    let line = &text[after..text.len().min(after + MAX_COMMAND)];
    let line =
        &line[..line.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(line.len())];
    let flags = memchr::memmem::find_iter(line, flag.as_bytes());
    let mut ends = flags
        .filter(|at| *at > 0 && matches!(line[at - 1], b' ' | b'"' | b'\''))
        .map(|at| after + at + flag.len());
    ends.find_map(|at| {
        let at = at + usize::from(flag.starts_with('-') && text.get(at) == Some(&b'='));
        let attached = word_end(text, at) > at;
        // `-p 3306`, and a long flag such as `-port`, are not passwords.
        let word = if attached { at } else { next_word(text, at) };
        let end = argument_end(text, word);
        let value = &text[word..end];
        let number = value.iter().all(u8::is_ascii_digit) && value.len() < 6;
        // Without an equals sign, `curl -b` names a file.
        let file = flag == "-b" && !value.contains(&b'=');
        let harmless = value.is_empty()
            || number
            || file
            || is_member(text, end)
            || value.starts_with(b"-")
            || is_placeholder(value);
        (!harmless).then_some(word..end)
    })
}

/// Returns the end of the argument that begins at `start`: of its quotes, or of the word.
pub(super) fn argument_end(text: &[u8], start: usize) -> usize {
    match text[..start].last() {
        Some(b'"' | b'\'') => in_quotes(text, start - 1).flatten().map_or(start, |range| range.end),
        _ => word_end(text, start),
    }
}

/// Returns the second argument: `rabbitmqctl add_user NAME PASSWORD`.
pub(super) fn second(text: &[u8], after: usize) -> Option<Range<usize>> {
    given(text, arguments(text, after).into_iter().nth(1)?)
}

/// Returns the argument of this number, if it looks like a password.
pub(super) fn numbered(text: &[u8], after: usize, number: usize) -> Option<Range<usize>> {
    let argument = given(text, arguments(text, after).into_iter().nth(number)?)?;
    is_password(&text[argument.clone()]).then_some(argument)
}

/// Returns the values of `NAME=VALUE …`.
pub(super) fn settings(text: &[u8], after: usize) -> Vec<Range<usize>> {
    let value = |argument: Range<usize>| {
        let equals = memchr::memchr(b'=', &text[argument.clone()])?;
        given(text, argument.start + equals + 1..argument.end)
    };
    arguments(text, after).into_iter().filter_map(value).collect()
}

/// Returns the password of `htpasswd -b FILE NAME PASSWORD`; with the flag `n` there is no file.
pub(super) fn htpasswd(text: &[u8], after: usize) -> Option<Range<usize>> {
    let (flags, words): (Vec<_>, Vec<_>) =
        arguments(text, after).into_iter().partition(|word| text[word.start] == b'-');
    let has = |letter: u8| flags.iter().any(|flag| text[flag.clone()].contains(&letter));
    // The number of rounds is the argument of a flag.
    let mut words = words.into_iter().skip_while(|word| text[word.clone()].iter().all(u8::is_ascii_digit));
    let password = if has(b'b') { words.nth(if has(b'n') { 1 } else { 2 }) } else { None };
    given(text, password?)
}

/// Returns the password of `echo name:password | chpasswd`.
pub(super) fn piped(text: &[u8], start: usize) -> Option<Range<usize>> {
    let word = before_pipe(text, start)?;
    let colon = word.start + memchr::memchr(b':', &text[word.clone()])?;
    given(text, colon + 1..word.end)
}

/// Returns the word of `echo WORD | COMMAND`.
pub(super) fn echoed(text: &[u8], start: usize) -> Option<Range<usize>> {
    const PRINTERS: &[&[u8]] = &[b"echo", b"echo -n", b"%s", b"printf"];
    let word = before_pipe(text, start)?;
    let of_printer = |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\');
    let end = text[..word.start].iter().rposition(of_printer)? + 1;
    let is_printed = PRINTERS.iter().any(|printer| text[..end].ends_with(printer));
    given(text, word).filter(|_| is_printed)
}

/// Returns the last word before the pipe before `start`.
fn before_pipe(text: &[u8], start: usize) -> Option<Range<usize>> {
    let low = start.saturating_sub(MAX_COMMAND);
    let pipe = low + memchr::memrchr(b'|', &text[low..start])?;
    let of_word = |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\');
    let end = low + text[low..pipe].iter().rposition(of_word)? + 1;
    let word = text[low..end].iter().rposition(|byte| !of_word(byte)).map_or(low, |at| low + at + 1);
    Some(word..end)
}

/// Returns the value of `--from-literal=NAME=VALUE`.
pub(super) fn literal(text: &[u8], after: usize) -> Option<Range<usize>> {
    let word = next_word(text, after + usize::from(text.get(after) == Some(&b'=')));
    let end = argument_end(text, word);
    let value = word + memchr::memchr(b'=', &text[word..end])? + 1;
    if value == end {
        return in_quotes(text, value)?;
    }
    given(text, value..end)
}

/// Returns the arguments from `at` up to the end of the command.
fn arguments(text: &[u8], mut at: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    while found.len() < MAX_ARGUMENTS {
        let start = next_word(text, at);
        at = argument_end(text, start);
        if at == start || matches!(text[start], b'|' | b'&' | b';' | b'<' | b'>' | b')') {
            break;
        }
        found.push(start..at);
    }
    found
}

/// Returns `range` if its text is a value, and not a placeholder or a variable.
fn given(text: &[u8], range: Range<usize>) -> Option<Range<usize>> {
    let value = &text[range.clone()];
    (!is_placeholder(value) && !value.starts_with(b"$")).then_some(range)
}
