//! Secrets by their names: members of JSON and YAML, variables, settings, parameters of queries, flags, headers.

use std::ops::Range;

use super::announced;
use super::code_words::{is_code, is_expression, is_number, is_phrase};
use super::command_arguments::argument_end;
use super::generated::{is_long, is_password};
use super::lexer::{
    Item, after_gap, in_quotes, is_member, is_mixed, is_of_name, is_placeholder, next_word, quote, spaces,
    strings, word_end,
};
use super::secret_names::{is_generic, is_secret};
use super::value_blocks::{block, braced, prompted};

/// Words that may follow a secret's name: `SECRET_KEY_BASE`, `DB_PASSWORD_PROD`, `TOKEN_2`.
const SUFFIXES: &[&str] = &[
    "base",
    "base64",
    "prod",
    "production",
    "staging",
    "dev",
    "test",
    "live",
    "root",
    "admin",
    "old",
    "new",
    "private",
];
/// Maximum bytes before and after a secret word that are searched for the beginning and the end of its name.
const MAX_NAME: usize = 80;
/// Minimum bytes of a key in a query.
const MIN_QUERY_KEY: usize = 12;

/// The kind of a value, which decides what may be a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// The syntax says that it is a value.
    None,
    /// It may be a word of a text or of a program.
    Code,
}

/// Returns the end of a name, if it is one of these. `after` is the end of the secret word in it.
fn name_end(text: &[u8], start: usize, after: usize, is_name: fn(&[u8]) -> bool) -> Option<usize> {
    let rest = &text[after..text.len().min(after + MAX_NAME)];
    let end = after + rest.iter().position(|byte| !is_of_name(*byte)).unwrap_or(rest.len());
    let harmless = |word: &[u8]| {
        word.is_empty()
            || word.iter().all(u8::is_ascii_digit)
            || SUFFIXES.iter().any(|suffix| suffix.as_bytes().eq_ignore_ascii_case(word))
    };
    let known = text[after..end].split(|byte| matches!(byte, b'-' | b'_')).all(harmless);
    (known && is_name(&text[start..after])).then_some(end)
}

/// Returns the values of the name with the secret word `word..after`.
pub(super) fn values(text: &[u8], word: usize, after: usize) -> Vec<Range<usize>> {
    let low = word.saturating_sub(MAX_NAME);
    let mut start =
        text[low..word].iter().rposition(|byte| !is_of_name(*byte)).map_or(low, |at| low + at + 1);
    // The letter of an escape is not part of the name.
    if start > 0 && text[start - 1] == b'\\' && start < word && matches!(text[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let dashes = text[start..word].iter().take_while(|byte| **byte == b'-').count();
    start += dashes;
    // `API key: …`
    if start == word && text[word..after].eq_ignore_ascii_case(b"key") && word > 4 && text[word - 1] == b' ' {
        let before = text[low..word - 1]
            .iter()
            .rposition(|byte| !byte.is_ascii_alphabetic())
            .map_or(low, |at| low + at + 1);
        start = before;
    }
    if let Some(end) = name_end(text, start, after, is_secret) {
        let found = value(text, start, end, dashes > 0);
        return if found.is_empty() && !opens(text, start) {
            announced::value(text, end, is_password).into_iter().collect()
        } else {
            found
        };
    }
    let found = of_plural(text, start, after);
    let found = if found.is_empty() { query_key(text, start, after).into_iter().collect() } else { found };
    match name_end(text, start, after, is_generic).filter(|_| found.is_empty()) {
        Some(end) => generic(text, start, end, dashes > 0),
        None => found,
    }
}

/// Returns the values of a name that is not secret by itself, if they look like keys.
fn generic(text: &[u8], start: usize, end: usize, flag: bool) -> Vec<Range<usize>> {
    let mut found = value(text, start, end, flag);
    if found.is_empty() && !opens(text, start) {
        found.extend(announced::value(text, end, is_long));
    }
    // `define('AUTH_SALT', '…')`
    if found.is_empty() && !text[start..end].iter().any(u8::is_ascii_lowercase) {
        let after =
            quote(text, end).filter(|_| opens(text, start)).map(|(after, ..)| spaces(text, after, true));
        let comma = after.filter(|after| text.get(*after) == Some(&b','));
        found.extend(comma.and_then(|comma| in_quotes(text, spaces(text, comma + 1, false))).flatten());
    }
    found.retain(|range| is_long(&text[range.clone()]));
    found
}

/// Returns the values of a member such as `passwords` or `cookies`: a list, or an object.
fn of_plural(text: &[u8], start: usize, after: usize) -> Vec<Range<usize>> {
    let member = text.get(after) == Some(&b's') && opens(text, start) && is_secret(&text[start..after]);
    let quote = quote(text, after + 1).filter(|_| member);
    let Some((from, _)) = quote.and_then(|(end, ..)| separator(text, spaces(text, end, true))) else {
        return Vec::new();
    };
    let from = spaces(text, from, true);
    // The tokens of a text are no secrets.
    let words = text[start..after].eq_ignore_ascii_case(b"token");
    let is_given = |range: &Range<usize>| !words || is_strong(&text[range.clone()]);
    structure(text, from, true).into_iter().filter(is_given).collect()
}

/// Returns the strings of the list or object at `from`. A string with a key counts only with `names`, or if its key is
/// `value`.
fn structure(text: &[u8], from: usize, names: bool) -> Vec<Range<usize>> {
    if !matches!(text.get(from), Some(b'[' | b'{')) {
        return Vec::new();
    }
    let items = strings(text, from);
    let key = |item: &Item| item.key.as_ref().map(|key| &text[key.clone()]);
    // A schema has a member for each argument; nothing in it is secret.
    if items.iter().any(|item| matches!(key(item), Some(b"type" | b"description" | b"$ref"))) {
        return Vec::new();
    }
    let is_given = |item: &Item| key(item).is_none_or(|key| names || key == b"value");
    let given = items.into_iter().filter(|item| is_given(item)).map(|item| item.range);
    given.filter(|range| !is_placeholder(&text[range.clone()])).collect()
}

/// Returns the value of `?key=…` and `&Signature=…`, as in the addresses of Google and Amazon.
fn query_key(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    let query = start > 0 && matches!(text[start - 1], b'?' | b'&') && text.get(after) == Some(&b'=');
    let name = &text[start..after];
    if !query || ![&b"key"[..], b"signature"].iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    let value = after + 1..parameter_end(text, after + 1);
    (value.len() >= MIN_QUERY_KEY && is_mixed(&text[value.clone()])).then_some(value)
}

fn value(text: &[u8], start: usize, end: usize, flag: bool) -> Vec<Range<usize>> {
    let name = &text[start..end];
    // The quote after a name in quotes, with its backslashes, and the bracket of an index.
    let attribute = is_attribute(text, start);
    let (mut at, level) = match quote(text, end) {
        Some((after, _, level)) if attribute || opens(text, start) => (after, Some(level)),
        _ => (end, None),
    };
    let quoted = level.is_some();
    if quoted && text.get(at) == Some(&b']') {
        at += 1;
    }
    // `**Password:** x` and `**password**: x` of Markdown.
    let after_stars = |at: usize| {
        let emphasised = start > 0 && text[start - 1] == b'*';
        at + text[at..].iter().take_while(|byte| emphasised && **byte == b'*').count()
    };
    at = after_stars(at);
    let one = |range: Option<Range<usize>>| range.into_iter().collect();
    // `<password>…</password>`, `<property name="db.password">…</property>`
    if start > 0 && (text[start - 1] == b'<' || attribute) && text.get(at) == Some(&b'>') {
        let close = memchr::memchr(b'<', &text[at..]).map(|length| at + 1..at + length);
        let closes = |range: &Range<usize>| {
            !range.is_empty()
                && text.get(range.end + 1) == Some(&b'/')
                && !is_placeholder(&text[range.clone()])
        };
        return one(close.filter(closes));
    }
    let gap = spaces(text, at, quoted);
    if let Some(value) = prompted(text, gap) {
        return vec![value];
    }
    let separator = separator(text, gap).or_else(|| of_ldif(text, gap));
    if flag && (separator.is_none() || quoted && text.get(gap) == Some(&b',')) {
        return one(of_flag(text, at));
    }
    // `<key>password</key><string>…</string>`
    if let Some(string) =
        text[at..].strip_prefix(b"</key>").map(|_| after_gap(text, at + 6).unwrap_or(at + 6))
    {
        let value = string + b"<string>".len();
        let tag = text.get(string..value) == Some(b"<string>");
        let end = memchr::memchr(b'<', &text[value.min(text.len())..]).filter(|_| tag);
        return one(end.map(|length| value..value + length));
    }
    if separator.is_none() && is_assigned(text, start) {
        return one(of_flag(text, at));
    }
    let Some((after, colon)) = separator.or_else(|| apart(text, at)) else {
        return one(sentence(text, name, at, quoted));
    };
    let after = after_stars(after);
    let from = spaces(text, after, quoted);
    let from = if colon && !quoted { typed(text, from).unwrap_or(from) } else { from };
    match text.get(from) {
        Some(b'[' | b'{') if quoted => structure(text, from, false),
        Some(b'{') if from == after => one(braced(text, start, from)),
        Some(b'[' | b'{') => Vec::new(),
        Some(b'|' | b'>') if colon => one(block(text, start, from)),
        // Numbers of JSON are no secrets, and it has no other place for a replacement than a string.
        Some(b'-' | b'0'..=b'9') if quoted && colon && is_number(&text[from..parameter_end(text, from)]) => {
            Vec::new()
        }
        // The end of the string around the name is no value.
        Some(_) if level.is_some_and(|level| quote(text, from).is_some_and(|(.., value)| value < level)) => {
            Vec::new()
        }
        _ => one(match in_quotes(text, from) {
            Some(value) => value.filter(|range| is_value(name, &text[range.clone()], quoted)),
            None => bare(text, start, end, after..from, colon),
        }),
    }
}

/// Returns whether a text in quotes is a value of a name, and not the rest of a program or a sentence about it.
fn is_value(name: &[u8], value: &[u8], quoted: bool) -> bool {
    const MAX_WORDS: usize = 5;
    let generic = name.to_ascii_lowercase().ends_with(b"key") && !is_secret(&name.to_ascii_lowercase());
    let program = !quoted && matches!(value.first(), Some(b')' | b',' | b';' | b']' | b'}'));
    let sentence = !quoted
        && value.split(|byte| *byte == b' ').count() > MAX_WORDS
        && !value.iter().any(u8::is_ascii_digit);
    !program && !sentence && !value.eq_ignore_ascii_case(name) && (!generic || is_strong(value))
}

/// Returns whether a name is, or ends, the `name` of an element of XML.
fn is_attribute(text: &[u8], start: usize) -> bool {
    let low = start.saturating_sub(MAX_NAME);
    let quote = text[low..start].iter().rposition(|byte| matches!(byte, b'"' | b'\''));
    let before = quote.map_or(&text[..0], |quote| &text[low..low + quote]);
    // In a string of JSON, a backslash is before the quote.
    let before = before.strip_suffix(b"\\").unwrap_or(before);
    before.ends_with(b" name=") || before.ends_with(b" key=")
}

/// Returns whether a quote precedes a name.
fn opens(text: &[u8], start: usize) -> bool {
    start > 0 && matches!(text[start - 1], b'"' | b'\'' | b'`' | b'-')
}

/// Returns the end of the sign between a name and its value, and whether it is a colon.
pub(super) fn separator(text: &[u8], at: usize) -> Option<(usize, bool)> {
    match text.get(at..)? {
        [b'=', b'=', ..] | [b':', b':', ..] => None,
        [b':' | b'?', b'=', ..] | [b'=', b'>', ..] | [b'<', b'-', ..] => Some((at + 2, false)),
        [b'=', ..] => Some((at + 1, false)),
        [b':', ..] => Some((at + 1, true)),
        [b'%', b'3', b'D' | b'd', ..] => Some((at + 3, false)),
        [b'%', b'3', b'A' | b'a', ..] => Some((at + 3, true)),
        _ => None,
    }
}

/// Returns the end of the colons before a value in base64 of LDIF (RFC 2849).
fn of_ldif(text: &[u8], at: usize) -> Option<(usize, bool)> {
    (text.get(at..at + 3) == Some(b":: ") && at.checked_sub(1).is_some_and(|last| is_of_name(text[last])))
        .then_some((at + 2, true))
}

/// Returns the end of `value:` where it follows a name: `name: DB_PASSWORD`, then `value: …`.
fn apart(text: &[u8], at: usize) -> Option<(usize, bool)> {
    let gap = |at: usize| after_gap(text, at).unwrap_or(at);
    let comma = gap(at);
    let comma = if text.get(comma) == Some(&b',') { gap(comma + 1) } else { comma };
    let key = quote(text, comma).map_or(comma, |(after, ..)| after);
    let after = key + b"value".len();
    text.get(key..after).filter(|word| word.eq_ignore_ascii_case(b"value"))?;
    separator(text, gap(quote(text, after).map_or(after, |(after, ..)| after)))
}

/// Returns the beginning of a value after its type: `password: &str = "…"`.
fn typed(text: &[u8], at: usize) -> Option<usize> {
    const MAX_TYPE: usize = 40;
    let line = &text[at..text.len().min(at + MAX_TYPE)];
    let of_type = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'&' | b'\'' | b'<' | b'>' | b':' | b' ' | b'_')
    };
    let equals = line.iter().position(|byte| !of_type(byte)).filter(|end| line[*end] == b'=')?;
    let value = spaces(text, at + equals + 1, false);
    quote(text, value).map(|_| value)
}

/// Returns whether the command before a name sets it to the next word: `set -x NAME value`, `ENV NAME value`.
fn is_assigned(text: &[u8], start: usize) -> bool {
    const COMMANDS: &[&[u8]] = &[
        b"set -x ",
        b"set -gx ",
        b"set -Ux ",
        b"setx ",
        b"setenv ",
        b"ENV ",
        b"config set ",
        b"configure set ",
    ];
    let low = start.saturating_sub(MAX_NAME);
    let word = text[low..start].iter().rposition(u8::is_ascii_whitespace).map_or(low, |at| low + at + 1);
    COMMANDS.iter().any(|command| text[..word].ends_with(command))
}

/// Returns the next argument of a command.
fn of_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = next_word(text, at);
    let apart = text[at..start].iter().any(|byte| matches!(byte, b' ' | b','));
    let end = argument_end(text, start);
    let value = &text[start..end];
    let word = value.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
    let harmless = value.starts_with(b"-")
        || is_placeholder(value)
        || is_code(value)
        || is_expression(value)
        || is_member(text, end)
        || word && value.len() < 6;
    (apart && !harmless).then_some(start..end)
}

/// Returns a value in quotes without a separator: `PASSWORD 'x'` of SQL, `set_password("x")`, `("TOKEN", "x")`.
fn sentence(text: &[u8], name: &[u8], at: usize, quoted: bool) -> Option<Range<usize>> {
    let from = match text.get(at..)? {
        [b' ', b'\'', ..] if name.eq_ignore_ascii_case(b"password") => at + 1,
        [b'(', ..] => at + 1,
        [b',', ..] if quoted => spaces(text, at + 1, false),
        _ => return None,
    };
    let mut range = in_quotes(text, from)??;
    // `("Authorization", "token x")`
    if name.to_ascii_lowercase().ends_with(b"authorization")
        && let Some(space) = memchr::memchr(b' ', &text[range.clone()])
    {
        range.start += space + 1;
    }
    let value = &text[range.clone()];
    // `define('DB_PASSWORD', 'x')`
    let constant = text[at] == b',' && name.contains(&b'_') && !name.iter().any(u8::is_ascii_lowercase);
    let given = text[at] == b' ' || constant && value.iter().any(u8::is_ascii_lowercase);
    let random = value.iter().any(u8::is_ascii_digit) && value.len() >= 8 && !is_secret(value);
    (!value.contains(&b' ') && (given || random)).then_some(range)
}

/// Returns the end of a value in a query, in a list of settings or on a line.
fn parameter_end(text: &[u8], at: usize) -> usize {
    let end = word_end(text, at);
    text[at..end]
        .iter()
        .position(|byte| matches!(byte, b'&' | b';' | b',' | b')' | b'}' | b']'))
        .map_or(end, |length| at + length)
}

/// Returns a value without quotes.
fn bare(text: &[u8], start: usize, end: usize, gap: Range<usize>, colon: bool) -> Option<Range<usize>> {
    let name = &text[start..end];
    let from = gap.end;
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(b"cookie") || lower.ends_with(b"authorization") {
        return header(text, from, colon);
    }
    let begin = line_begin(text, start);
    let line = if begin { line_end(text, from) } else { from };
    let passphrase = begin && colon && lower.ends_with(b"passphrase");
    let password =
        [&b"password"[..], b"passphrase", b"passwd", b"pwd"].iter().any(|end| lower.ends_with(end));
    let phrase = password && is_phrase(text[from..line].trim_ascii());
    let word = parameter_end(text, from);
    let stop = text.get(word).copied();
    let value = &text[from..word];
    if value.is_empty() || is_placeholder(value) || is_code(value) || value.eq_ignore_ascii_case(name) {
        return None;
    }
    // A path is not a password: `PWD=/home/me`, `TOKEN_FILE: ./token`.
    if lower.ends_with(b"pwd") && value.starts_with(b"/") {
        return None;
    }
    let doubt = doubt(text, start, name, &gap, colon);
    let at_end = ends_line(text, word);
    let generic = !is_secret(&lower);
    let secret = match doubt {
        _ if generic => is_strong(value) && !is_expression(value),
        Doubt::None => !matches!(stop, Some(b'(')) && !value.starts_with(b"/dev/"),
        Doubt::Code if begin && at_end || is_setting(text, start, &gap, colon) => !is_expression(value),
        Doubt::Code => is_strong(value) && !is_expression(value),
    };
    let words = |byte: &u8| {
        !matches!(byte, b'(' | b')' | b'{' | b'}' | b',' | b';' | b'&' | b'|' | b'=' | b'<' | b'>')
    };
    if phrase || passphrase && line > word && text[from..line].iter().all(words) {
        return Some(from..line);
    }
    secret.then_some(from..word)
}

/// Returns whether a name is the last word of a setting: `spring.datasource.password=x`, `-Ddb.password=x`.
fn is_setting(text: &[u8], start: usize, gap: &Range<usize>, colon: bool) -> bool {
    const OBJECTS: &[&[u8]] = &[b"self", b"this", b"cls", b"super"];
    let of_key = |byte: &u8| is_of_name(*byte) || *byte == b'.';
    let low = start.saturating_sub(MAX_NAME);
    let first = text[low..start].iter().rposition(|byte| !of_key(byte)).map_or(low, |at| low + at + 1);
    // The letter of an escape is not part of the key.
    let first = first + usize::from(text[..=first].ends_with(b"\\n"));
    let key = text.get(first..start).unwrap_or_default();
    let apart = first == 0 || line_begin(text, first) || text[first - 1].is_ascii_whitespace();
    let object = OBJECTS.contains(&key.split(|byte| *byte == b'.').next().unwrap_or_default());
    key.ends_with(b".") && apart && !object && (colon || gap.is_empty()) && {
        let end = parameter_end(text, gap.end);
        ends_line(text, end) || text.get(end) == Some(&b' ')
    }
}

/// Returns how sure it is that a value follows a name.
fn doubt(text: &[u8], start: usize, name: &[u8], gap: &Range<usize>, colon: bool) -> Doubt {
    let before = start.checked_sub(1).map(|at| text[at]);
    let argument = match before {
        Some(b'(' | b'.') => true,
        Some(b' ') => text[..start - 1].ends_with(b",") && name.iter().any(u8::is_ascii_lowercase),
        _ => false,
    };
    // `NAME=value`
    if gap.is_empty() && !colon && !argument { Doubt::None } else { Doubt::Code }
}

/// Returns the value of a header up to the end of its line, without the scheme of an authorization.
fn header(text: &[u8], from: usize, colon: bool) -> Option<Range<usize>> {
    const SCHEMES: &[&[u8]] =
        &[b"basic", b"bearer", b"token", b"apikey", b"negotiate", b"ntlm", b"ssws", b"key"];
    let word = word_end(text, from);
    // The values have names of their own there.
    if [&b"digest"[..], b"oauth"].iter().any(|scheme| text[from..word].eq_ignore_ascii_case(scheme)) {
        return None;
    }
    let scheme = SCHEMES.iter().any(|scheme| text[from..word].eq_ignore_ascii_case(scheme));
    let from = if scheme { spaces(text, word, false) } else { from };
    let end = if colon { line_end(text, from) } else { parameter_end(text, from) };
    let value = &text[from..end];
    let sign = |byte: &u8| byte.is_ascii_digit() || *byte == b'=' || byte.is_ascii_uppercase();
    // The name of a cookie precedes its value; in a program it does not.
    let cookie = !colon || scheme || value.contains(&b'=') || is_strong(value) || is_mixed(value);
    (cookie && !is_placeholder(value) && !is_code(value) && value.iter().any(sign) && !is_expression(value))
        .then_some(from..end)
}

/// Returns the end of a line, or of the string that it is in.
fn line_end(text: &[u8], at: usize) -> usize {
    let mut end = word_end(text, at);
    while text.get(end).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        end = word_end(text, end + 1);
    }
    end
}

/// Returns whether only indentation, a word such as `export`, or the beginning of a prompt (`me@host's password:`)
/// precedes a name on its line.
fn line_begin(text: &[u8], start: usize) -> bool {
    let indented = text[..start]
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b'\t' | b'-' | b'"' | b'\''))
        .map_or(0, |at| at + 1);
    let line = &text[..indented];
    line.is_empty()
        || indented < start && matches!(text[start - 1], b'"' | b'\'')
        || line.ends_with(b"\n")
        || line.ends_with(b"\\n")
        || line.ends_with(b"export")
        || line.ends_with(b"setenv")
        || line.ends_with(b"'s")
        || line.ends_with(b"Enter")
}

fn ends_line(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'\\') => true,
        Some(b' ' | b'\t') => {
            let end = spaces(text, at, false);
            // The full stop of a sentence about it.
            let end = end + usize::from(text.get(end) == Some(&b'.'));
            matches!(text.get(end), None | Some(b'\n' | b'\r' | b'#' | b'\\'))
        }
        _ => false,
    }
}

fn is_strong(value: &[u8]) -> bool {
    let name = value.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_' || *byte == b'-');
    value.len() >= 6 && value.iter().any(u8::is_ascii_digit) && !name
}
