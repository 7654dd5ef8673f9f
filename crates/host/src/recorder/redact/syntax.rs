//! Secrets by the syntax around them: blocks, addresses, headers and the files of passwords.

use std::ops::Range;

use super::generated::{is_key, is_long, is_password};
use super::lexer::{Class, MAX_WORD, after_gap, decoded, is_mixed, is_placeholder, quote, strings, word_end};

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
    let at = memchr::memrchr(b'@', &text[after..end]).or_else(|| {
        // Most addresses end here, before their word is read.
        memchr::memchr(b'@', text.get(end..text.len().min(after + MAX_WORD))?)?;
        let rest = &text[after..word_end(text, after)];
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
    /// Bytes of the longest path that a service makes, with room to spare.
    const MAX_PATH: usize = 1024;
    /// One key of 22 letters in fifty has no digit; so many in both cases are no word.
    const MIN_LETTERS: usize = 20;
    let of_path = |byte: &u8| Class::Base64.holds(*byte) || *byte == b'@';
    let path = &text[after..text.len().min(after + MAX_PATH)];
    let end = after + path.iter().position(|byte| !of_path(byte)).unwrap_or(path.len());
    let path = &text[after..end];
    let has = |of: fn(&u8) -> bool| path.iter().any(of);
    let cases = path.len() >= MIN_LETTERS && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    (cases || is_mixed(path) || path.split(|byte| *byte == b'/').any(is_key)).then_some(after..end)
}

/// Returns the rest of a path with a part that was made by a generator.
pub(super) fn hook(text: &[u8], after: usize) -> Option<Range<usize>> {
    let path = webhook(text, after)?;
    text[path.clone()].split(|byte| *byte == b'/').any(|part| is_key(part) || is_long(part)).then_some(path)
}

pub(super) fn hash(text: &[u8], start: usize) -> Option<Range<usize>> {
    /// Bytes of the longest hash of a scheme, with room to spare.
    const MAX_HASH: usize = 512;
    let of_hash = |byte: &u8| Class::Base64.holds(*byte) || matches!(byte, b'$' | b',' | b'{' | b'}');
    let text = &text[..text.len().min(start + MAX_HASH)];
    let end =
        text[start..].iter().position(|byte| !of_hash(byte)).map_or(text.len(), |length| start + length);
    let whole = &text[start..end];
    // The fields of shadow(5) follow after a colon.
    let fields = !whole.to_ascii_lowercase().starts_with(b"scram-");
    let end = memchr::memchr(b':', whole).filter(|_| fields).map_or(end, |colon| start + colon);
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

/// Returns the password in `name/password@database` after the beginning of an address of Oracle.
pub(super) fn oracle(text: &[u8], after: usize) -> Option<Range<usize>> {
    let word = &text[after..word_end(text, after)];
    let slash = memchr::memchr(b'/', word).filter(|slash| *slash > 0)?;
    let at = memchr::memrchr(b'@', word).filter(|at| *at > slash)?;
    let password = &word[slash + 1..at];
    (!word[..slash].contains(&b'@') && !is_placeholder(password)).then_some(after + slash + 1..after + at)
}

/// Returns the value in a line of a cookie jar: host, with subdomains, path, secure, time, name and value.
pub(super) fn cookie(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    const MAX_LINE: usize = 4096;
    let tab: &[u8] = if text[start] == b'\t' { b"\t" } else { b"\\t" };
    let line = &text[after..text.len().min(after + MAX_LINE)];
    let mut tabs = memchr::memmem::find_iter(line, tab).map(|at| at + tab.len());
    let (_secure, time, name, value) = (tabs.next()?, tabs.next()?, tabs.next()?, tabs.next()?);
    let ends = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\\');
    let end = line[value..].iter().position(ends).map_or(line.len(), |length| value + length);
    let of_one_line =
        line[time..name - tab.len()].iter().all(u8::is_ascii_digit) && !line[..value].contains(&b'\n');
    of_one_line.then_some(after + value..after + end)
}

/// Returns the answer of a client in the digest scheme (RFC 7616), which a dictionary can be tried on.
pub(super) fn digest(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MIN_DIGEST: usize = 32;
    let start = quote(text, after).map_or(after, |(start, ..)| start);
    let end = Class::Hex.end(text, start);
    (end - start >= MIN_DIGEST).then_some(start..end)
}

/// Returns the private members of a JSON Web Key (RFC 7518), in which there is a `kty` at `start`.
pub(super) fn web_key(text: &[u8], start: usize) -> Vec<Range<usize>> {
    const PRIVATE: &[&[u8]] = &[b"d", b"p", b"q", b"dp", b"dq", b"qi", b"k"];
    const MAX_KEY: usize = 16 << 10;
    let low = start.saturating_sub(MAX_KEY);
    let Some(open) = memchr::memrchr(b'{', &text[low..start]) else { return Vec::new() };
    let items = strings(text, low + open).into_iter();
    let private =
        items.filter(|item| item.key.as_ref().is_some_and(|key| PRIVATE.contains(&&text[key.clone()])));
    private.map(|item| item.range).collect()
}

/// Returns the lines of the private part of a key of `PuTTY`, which has their number before and an authentication after it.
pub(super) fn putty(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MAX_LINES: usize = 16 << 10;
    let number = after_gap(text, after)?;
    let start =
        after_gap(text, number + text[number..].iter().take_while(|byte| byte.is_ascii_digit()).count())?;
    let block = &text[start..text.len().min(start + MAX_LINES)];
    let of_block = |byte: &u8| Class::Base64.holds(*byte) || byte.is_ascii_whitespace() || *byte == b'\\';
    let end = memchr::memmem::find(block, b"Private-MAC")
        .or_else(|| block.iter().position(|byte| !of_block(byte)))
        .unwrap_or(block.len());
    let end = block[..end].iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b'\\')?;
    Some(start..start + end + 1)
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

/// Returns the value of `code` in a query if it was made by a generator: the code of a callback can be exchanged for a
/// token.
pub(super) fn code(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MIN_CODE: usize = 16;
    let end = after
        + text[after..word_end(text, after)]
            .iter()
            .position(|byte| matches!(byte, b'&' | b';' | b',' | b')' | b'}' | b']' | b'#'))
            .unwrap_or(word_end(text, after) - after);
    let value = &text[after..end];
    (value.len() >= MIN_CODE && is_mixed(value) && !is_placeholder(value)).then_some(after..end)
}

/// Returns the generated value after the next equals sign of a line.
pub(super) fn assigned(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MAX_NAME: usize = 120;
    let line = &text[after - 1..text.len().min(after + MAX_NAME)];
    let line = &line[..line.iter().position(|byte| matches!(byte, b'\n' | b';')).unwrap_or(line.len())];
    let equals = after + memchr::memchr(b'=', line)?;
    let value = equals + text[equals..].iter().take_while(|byte| matches!(byte, b' ' | b'"' | b'\'')).count();
    let end = word_end(text, value);
    let end = text[value..end]
        .iter()
        .position(|byte| matches!(byte, b'&' | b';' | b','))
        .map_or(end, |length| value + length);
    is_password(&text[value..end]).then_some(value..end)
}
