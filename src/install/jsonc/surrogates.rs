//! Unpaired surrogates. JavaScript may cut a text between the two (Claude Code does so in its state), and writes the half as
//! an escape, which a parser of Unicode text rejects.

use std::borrow::Cow;

/// Replaces each escaped unpaired surrogate by the replacement character. Its escape has the same length, so positions are
/// those of `text`.
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
            // Skips the escaped character, which may be a second backslash.
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

/// Returns the escaped code unit at a position.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}
