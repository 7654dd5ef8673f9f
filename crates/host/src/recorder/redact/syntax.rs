//! Secrets by the syntax around them: blocks, addresses, headers, commands and the files of passwords.

use std::ops::Range;

use super::lexer::{
    Class, MAX_WORD, after_gap, decoded, is_member, is_mixed, is_placeholder, next_word, word_end,
};

/// Returns a block from its `BEGIN` line up to its `END` line, or to where it breaks off.
pub(super) fn private_key(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    const MAX_TITLE: usize = 60;
    const MAX_BLOCK: usize = 64 << 10;
    const MIN_BODY: usize = 16;
    const MIN_LINE: usize = 32;
    let title = &text[after..text.len().min(after + MAX_TITLE)];
    let title = &title[..memchr::memmem::find(title, b"--")?];
    memchr::memmem::find(&title.to_ascii_uppercase(), b"PRIVATE KEY")?;
    let start = text[..start].iter().rposition(|byte| *byte != b'-').map_or(0, |at| at + 1);
    let body = after + title.len();
    // Base64, and the headers of RFC 1421, also in the strings of a program.
    let of_block = |byte: &u8| {
        Class::Base64.holds(*byte)
            || byte.is_ascii_whitespace()
            || matches!(byte, b'\\' | b',' | b'"' | b'\'')
    };
    let whole = &text[body..text.len().min(body + MAX_BLOCK)];
    let close = memchr::memmem::find(whole, b"-END ").or_else(|| memchr::memmem::find(whole, b"- END "));
    // Other lines may come between those of a key, or precede each of them.
    let is_line = |run: &[u8]| run.len() >= MIN_LINE && is_mixed(run);
    let of_line = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let plain = whole.iter().position(|byte| !of_block(byte)).unwrap_or(whole.len());
    let close = close.filter(|at| *at < plain || whole[..*at].split(|byte| !of_line(byte)).any(is_line));
    let block = if close.is_some() { whole } else { &whole[..plain] };
    let end = match close {
        Some(at) => {
            let words =
                block[at..].iter().position(|byte| *byte == b'K').map_or(block.len(), |length| at + length);
            let dashes = block[words..]
                .iter()
                .position(|byte| *byte == b'-')
                .map_or(block.len(), |length| words + length);
            let after = block[dashes..].iter().position(|byte| *byte != b'-');
            after.map_or(block.len(), |length| dashes + length)
        }
        None => block.iter().position(|byte| matches!(byte, b'"' | b'\'')).unwrap_or(block.len()),
    };
    // Backslashes belong to the quote that follows, and white space to the text.
    let of_end = |byte: &u8| *byte != b'\\' && !byte.is_ascii_whitespace();
    let end = block[..end].iter().rposition(of_end).map_or(0, |at| at + 1);
    let full = block[..end].iter().filter(|byte| byte.is_ascii_alphanumeric()).count() >= MIN_BODY;
    full.then_some(start..body + end)
}

/// Returns the password in `name:password@host`, or the name where it is a token.
pub(super) fn authority(text: &[u8], after: usize) -> Option<Range<usize>> {
    let ends = |byte: &u8| {
        matches!(
            byte,
            b'/' | b'?' | b'#' | b' ' | b'"' | b'\'' | b'`' | b'\n' | b'\r' | b'\t' | b'<' | b'>' | b'\\'
        )
    };
    let end = text[after..].iter().position(ends).map_or(text.len(), |length| after + length);
    // A slash in a password is rare, but then an at sign follows it before the next space.
    let whole = word_end(text, after);
    let at = memchr::memrchr(b'@', &text[after..end]).or_else(|| {
        let rest = &text[after..whole];
        let at = memchr::memrchr(b'@', rest)?;
        let colon = memchr::memchr(b':', &rest[..at])?;
        let slash = memchr::memchr(b'/', rest)?;
        // A port is a number; the path after it may hold an at sign.
        let port = rest.get(colon + 1..slash)?.iter().all(u8::is_ascii_digit);
        (!port).then_some(at)
    })? + after;
    let name = &text[after..at];
    match memchr::memchr(b':', name) {
        Some(colon) if matches!(&name[colon + 1..], b"" | b"x-oauth-basic" | b"x") => {
            Some(after..after + colon)
        }
        Some(colon) if name[colon + 1..].starts_with(b"$") || is_placeholder(&name[colon + 1..]) => None,
        Some(colon) => Some(after + colon + 1..at),
        None => (name.len() >= 16 && is_mixed(name)).then_some(after..at),
    }
}

/// Returns what follows `Basic` or `Bearer`.
pub(super) fn scheme(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    let end = Class::Base64.end(text, after);
    let value = &text[after..end];
    let basic = text[start].eq_ignore_ascii_case(&b'b') && text[start + 1].eq_ignore_ascii_case(&b'a');
    let secret = if basic {
        decoded(value)
            .is_some_and(|plain| plain.contains(&b':') && plain.iter().all(|byte| !byte.is_ascii_control()))
    } else {
        value.len() >= 8
            && (is_mixed(value) || value.len() >= 20 && !value.contains(&b'-') && !value.contains(&b'_'))
    };
    (secret && begins(text, start)).then_some(after..end)
}

pub(super) fn user(text: &[u8], after: usize) -> Option<Range<usize>> {
    let gap = text.get(after).copied()?;
    let word = if gap == b'=' { after + 1 } else { next_word(text, after) };
    let end = word_end(text, word);
    let pair = &text[word..end];
    let colon = memchr::memchr(b':', pair)?;
    let (name, password) = (&pair[..colon], &pair[colon + 1..]);
    let ids = name.iter().chain(password).all(u8::is_ascii_digit);
    let path = matches!(password.first(), None | Some(b'/' | b'.' | b'~' | b'$' | b':' | b'%'));
    (!ids && !path && !is_member(text, end) && !name.starts_with(b"+") && !is_placeholder(password))
        .then_some(word + colon + 1..end)
}

/// Returns the word after, or in one with, a flag of a command, on the same line.
pub(super) fn command(text: &[u8], after: usize, flag: &str) -> Option<Range<usize>> {
    const MAX_COMMAND: usize = 300;
    let line = &text[after..text.len().min(after + MAX_COMMAND)];
    let line =
        &line[..line.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(line.len())];
    let flags = memchr::memmem::find_iter(line, flag.as_bytes());
    let mut ends = flags
        .filter(|at| *at > 0 && matches!(line[at - 1], b' ' | b'"' | b'\''))
        .map(|at| after + at + flag.len());
    ends.find_map(|at| {
        let attached = word_end(text, at) > at;
        // `-p 3306`, and a long flag such as `-port`, are not passwords.
        let word = if attached { at } else { next_word(text, at) };
        let end = word_end(text, word);
        let value = &text[word..end];
        let number = value.iter().all(u8::is_ascii_digit) && value.len() < 6;
        let harmless = value.is_empty()
            || number
            || is_member(text, end)
            || value.starts_with(b"-")
            || is_placeholder(value);
        (!harmless).then_some(word..end)
    })
}

/// Returns the password of an entry in a netrc file, which has one or several lines.
pub(super) fn netrc(text: &[u8], start: usize) -> Option<Range<usize>> {
    const MAX_ENTRY: usize = 300;
    let entry = &text[start..text.len().min(start + MAX_ENTRY)];
    let mut at = 0;
    for _ in 0..8 {
        let key_end = word_end(entry, at);
        let key = &entry[at..key_end];
        let value = after_gap(entry, key_end)?;
        let end = word_end(entry, value);
        match key {
            b"password" | b"passwd" => {
                return (!is_placeholder(&entry[value..end])).then_some(start + value..start + end);
            }
            b"machine" | b"login" | b"account" | b"user" => at = after_gap(entry, end)?,
            b"default" => at = value,
            _ => return None,
        }
    }
    None
}

pub(super) fn webhook(text: &[u8], after: usize) -> Option<Range<usize>> {
    let of_path = |byte: &u8| Class::Base64.holds(*byte) || *byte == b'@';
    let path = &text[after..text.len().min(after + MAX_WORD)];
    let end = after + path.iter().position(|byte| !of_path(byte)).unwrap_or(path.len());
    is_mixed(&text[after..end]).then_some(after..end)
}

pub(super) fn hash(text: &[u8], start: usize) -> Option<Range<usize>> {
    let of_hash = |byte: &u8| Class::Base64.holds(*byte) || matches!(byte, b'$' | b',' | b'{' | b'}');
    let text = &text[..text.len().min(start + MAX_WORD)];
    let end =
        text[start..].iter().position(|byte| !of_hash(byte)).map_or(text.len(), |length| start + length);
    let whole = &text[start..end];
    // The fields of shadow(5) follow after a colon.
    let end = memchr::memchr(b':', whole).map_or(end, |colon| start + colon);
    (end - start >= 24 && is_mixed(&text[start..end])).then_some(start..end)
}

pub(super) fn pgpass(text: &[u8], after: usize) -> Option<Range<usize>> {
    let end = word_end(text, after);
    let mut colons = memchr::memchr_iter(b':', &text[after..end]);
    let (_, second) = (colons.next()?, colons.next()?);
    Some(after + second + 1..end)
}

pub(super) fn sql(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MAX_PLUGIN: usize = 60;
    let line = &text[after..text.len().min(after + MAX_PLUGIN)];
    let quote = after + memchr::memchr(b'\'', line)?;
    Some(quote + 1..quote + 1 + memchr::memchr(b'\'', &text[quote + 1..])?)
}

/// Returns whether a token may begin at `at`: no letter or digit precedes it, but as the end of an escape.
pub(super) fn begins(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
    let escape = before(2) == b'\\' && matches!(before(1), b'n' | b'r' | b't')
        || before(6) == b'\\' && before(5) == b'u'
        || before(3) == b'%'
        || before(1) == b'm' && matches!(before(2), b'0'..=b'9' | b'[');
    !before(1).is_ascii_alphanumeric() || escape
}
