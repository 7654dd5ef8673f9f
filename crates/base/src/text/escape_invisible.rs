//! Escapes of characters that are invisible, or that reorder or control the text around them.
//!
//! What agents, files and other programs write is strangers' text. Everything that shows it to a person goes through
//! here, so that a page and a terminal show what is really in it (Trojan Source, CVE-2021-42574; tag characters that
//! spell a second text; escape sequences that draw over the screen).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is shown by its code: controls, formats, and what Unicode lets a font ignore. Line feed and
/// tab are ordinary text, and so is the selector that makes a sign an emoji.
pub fn is_hidden(character: char) -> bool {
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

/// Replaces hidden characters by their codes, as text that fits anywhere.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

/// The same on one line: a stretch of spaces and line ends becomes one space.
pub fn line(text: &str) -> String {
    // Most of what a program says is a line of plain ASCII already, and there is much of it.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !text.contains("  ") && text.trim_ascii().len() == text.len() {
        return text.to_owned();
    }
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Returns how many characters of a text are shown by their code.
pub fn count(text: &str) -> usize {
    text.chars().filter(|&character| is_hidden(character)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{count, is_hidden, line, plain};

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            let shown = plain(&text);
            prop_assert!(!shown.contains(is_hidden));
            prop_assert_eq!(shown == text, count(&text) == 0);
            let line = line(&text);
            let steers = ['\n', '\t', '\r'];
            prop_assert!(!line.contains(is_hidden) && !line.contains(steers));
        }

        #[test]
        fn no_two_texts_look_alike_by_what_is_hidden(text in "[ab\u{202e}\u{200b}\u{1b}\u{e0061}]{0,12}") {
            let again = plain(&text).replace("⟨U+202E⟩", "\u{202e}").replace("⟨U+200B⟩", "\u{200b}");
            let again = again.replace("⟨U+001B⟩", "\u{1b}").replace("⟨U+E0061⟩", "\u{e0061}");
            prop_assert_eq!(again, text);
        }
    }

    #[test]
    fn a_reordering_override_is_named() {
        assert_eq!(plain("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(line("\u{1b}[2J one\r\n\ttwo "), "⟨U+001B⟩[2J one two");
        assert_eq!(
            plain("ordinary ❤\u{fe0f} text\n\tgoes through"),
            "ordinary ❤\u{fe0f} text\n\tgoes through"
        );
    }
}
