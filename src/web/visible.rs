//! Characters that a reader cannot see, or that reorder what he sees: shown by their code.
//!
//! A prompt is text that an agent will obey, so a page must show what is really in it (Trojan Source,
//! CVE-2021-42574; tag characters that spell a second text).

use std::fmt::Write as _;

/// Whether a character is shown by its code. Line feed and tab are ordinary text.
pub(super) fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

/// Replaces hidden characters by their codes, as text that fits anywhere.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns HTML: the text escaped, each hidden character as a mark with its code. The script's copy button
/// turns a mark back into its character.
pub(super) fn marked(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            hidden if is_hidden(hidden) => {
                let code = u32::from(hidden);
                let _ = write!(
                    html,
                    "<mark class=\"hidden-character\" data-code=\"{code:x}\">U+{code:04X}</mark>"
                );
            }
            other => html.push(other),
        }
    }
    html
}

/// Returns how many characters of a text are shown by their code.
pub(super) fn count(text: &str) -> usize {
    text.chars().filter(|&character| is_hidden(character)).count()
}

/// Returns a prompt file as HTML, a line each: front matter set apart, placeholders marked. `opens` says
/// whether a placeholder begins at a text and how long it is.
pub(super) fn source(text: &str, opens: impl Fn(&str) -> Option<usize>) -> String {
    let mut html = String::with_capacity(text.len() * 2);
    let front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    let mut in_front_matter = false;
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim_end() == "---";
        let front = front_matter && (in_front_matter || number == 0);
        if front_matter && fence {
            in_front_matter = number == 0;
        }
        html.push_str(if front { "<span class=\"line front\">" } else { "<span class=\"line\">" });
        let mut rest = line;
        let mut plain_until = 0;
        while plain_until < rest.len() {
            let (before, after) = rest.split_at(plain_until);
            if let Some(length) = (!front).then(|| opens(after)).flatten() {
                html.push_str(&marked(before));
                let _ = write!(html, "<span class=\"placeholder\">{}</span>", marked(&after[..length]));
                rest = &after[length..];
                plain_until = 0;
            } else {
                plain_until += after.chars().next().map_or(1, char::len_utf8);
            }
        }
        html.push_str(&marked(rest));
        html.push_str("</span>\n");
    }
    html
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{is_hidden, marked, plain};

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            assert!(!plain(&text).contains(is_hidden));
            assert!(!marked(&text).contains(is_hidden));
        }
    }

    #[test]
    fn a_reordering_override_is_named() {
        assert_eq!(plain("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(
            marked("<\u{7f}>"),
            "&lt;<mark class=\"hidden-character\" data-code=\"7f\">U+007F</mark>&gt;"
        );
    }
}
