//! The values of an environment.

use std::ops::Range;

use super::lexer::{Item, is_of_name, is_placeholder, quote, spaces, strings};
use super::named::separator;

/// Variables with a value that is shown. All other values of an environment are replaced.
const VARIABLES: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LOGNAME", "NO_COLOR", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];

/// Returns the values of an environment: an object, or a list of `NAME=VALUE` or of names and values.
pub(super) fn values(text: &[u8], start: usize) -> Vec<Range<usize>> {
    let end =
        text[start..].iter().position(|byte| !is_of_name(*byte)).map_or(text.len(), |length| start + length);
    let Some((after, ..)) = quote(text, end).filter(|_| start > 0 && matches!(text[start - 1], b'"')) else {
        return Vec::new();
    };
    let Some((after, _)) = separator(text, spaces(text, after, true)) else { return Vec::new() };
    let from = spaces(text, after, true);
    if !matches!(text.get(from), Some(b'{' | b'[')) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut name = None;
    let shown = |name: &[u8]| VARIABLES.iter().any(|shown| shown.as_bytes() == name);
    for Item { range, key, depth } in strings(text, from) {
        let string = &text[range.clone()];
        let hidden = match key.map(|key| &text[key]) {
            Some(b"name") if text[from] == b'[' => {
                name = Some(string);
                None
            }
            Some(b"value") if text[from] == b'[' => (!name.is_some_and(shown)).then_some(range),
            Some(key) => (depth == 1 && !shown(key)).then_some(range),
            None => memchr::memchr(b'=', string)
                .filter(|equals| !shown(&string[..*equals]))
                .map(|equals| range.start + equals + 1..range.end),
        };
        found.extend(hidden.filter(|range| !is_placeholder(&text[range.clone()])));
    }
    found
}
