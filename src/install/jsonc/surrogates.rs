//! Halves of surrogate pairs. JavaScript cuts text between the two (Claude Code does so with what it keeps of a
//! conversation), writes the half as an escape, and reads it again; a parser of Unicode text refuses it.

use std::borrow::Cow;

/// Returns a text in which each escaped half without its other one is the replacement character, whose escape is as
/// long: what a parser says of places is true of `text`, too.
pub(super) fn paired(text: &str) -> Cow<'_, str> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match (unit(text, at), unit(text, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                halves.push(at);
                at += 6;
            }
            // What is escaped is no beginning of an escape, such as a second backslash.
            _ => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if halves.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut whole = text.to_owned();
    for at in halves {
        whole.replace_range(at..at + 6, "\\ufffd");
    }
    Cow::Owned(whole)
}

/// Returns the code unit that is escaped at a place.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}
