//! Escapes of characters that are invisible, or that reorder or control the text around them.
//!
//! Text of agents, files and other programs is untrusted. Everything that shows such text to the user calls this
//! module, so that pages and terminals show all of it (Trojan Source, CVE-2021-42574; tag characters that spell a
//! second text; escape sequences that draw over the screen).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns whether a character is escaped: controls, formats, and characters that Unicode lets a font ignore. Line feed
/// and tab are ordinary text, and so is the selector that makes a sign an emoji.
pub fn is_invisible(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

/// Replaces invisible characters by their codes.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_invisible(character) {
            let _ = write!(escaped, "⟨U+{:04X}⟩", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

/// Replaces invisible characters by their codes, and each run of white space by one space.
pub fn escape_line(text: &str) -> String {
    // Programs write many lines, and most of them are plain ASCII already.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !text.contains("  ") && text.trim_ascii().len() == text.len() {
        return text.to_owned();
    }
    escape(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Writes the invisible characters of JSON as escapes of JSON, so that its value stays the same.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_invisible) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_invisible(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

/// Counts the characters of a text that [`escape`] replaces.
pub fn count_invisible(text: &str) -> usize {
    text.chars().filter(|&character| is_invisible(character)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{count_invisible, escape, escape_json, escape_line, is_invisible};

    proptest! {
        #[test]
        fn no_invisible_character_remains(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(is_invisible));
            prop_assert_eq!(escaped == text, count_invisible(&text) == 0);
            let line = escape_line(&text);
            prop_assert!(!line.contains(is_invisible) && !line.contains(['\n', '\t', '\r']));
            let json = serde_json::to_string(&text).unwrap();
            let escaped = escape_json(&json);
            prop_assert!(!escaped.contains(is_invisible));
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }

        #[test]
        fn different_texts_have_different_escapes(text in "[ab\u{202e}\u{200b}\u{1b}\u{e0061}]{0,12}") {
            let again = escape(&text).replace("⟨U+202E⟩", "\u{202e}").replace("⟨U+200B⟩", "\u{200b}");
            let again = again.replace("⟨U+001B⟩", "\u{1b}").replace("⟨U+E0061⟩", "\u{e0061}");
            prop_assert_eq!(again, text);
        }
    }

    #[test]
    fn a_reordering_override_is_escaped() {
        assert_eq!(escape("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(escape_line("\u{1b}[2J one\r\n\ttwo "), "⟨U+001B⟩[2J one two");
        assert_eq!(
            escape("ordinary ❤\u{fe0f} text\n\tgoes through"),
            "ordinary ❤\u{fe0f} text\n\tgoes through"
        );
    }
}
