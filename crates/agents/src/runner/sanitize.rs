//! Sanitizes text of a runner for display: without escape sequences and control characters, and bounded.

use adjutant_base::text::clip;

/// Maximum characters of a progress text, a command or a failure's detail.
pub(super) const MAX_CHARS: usize = 4_000;

/// Returns `text` without ANSI and OSC sequences and without control characters but line ends and tabs.
pub(crate) fn strip_escapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next() {
                // CSI: parameters, then one final letter.
                Some('[') => while letters.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
                // OSC, DCS, SOS, PM, APC: up to BEL or ESC \.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    while let Some(c) = letters.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && letters.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                // Two-letter sequences; those of a character set have a third.
                Some('(' | ')' | '#' | '%') => drop(letters.next()),
                _ => {}
            },
            // Windows line ends.
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' | '\t' => clean.push(letter),
            '\r' => clean.push('\n'),
            letter if letter.is_control() => {}
            letter => clean.push(letter),
        }
    }
    clean
}

/// Returns `text` after [`strip_escapes`], cut to [`MAX_CHARS`] characters with an ellipsis.
pub(crate) fn display_text(text: &str) -> String {
    let clean = strip_escapes(text);
    clip::chars(clean.trim(), MAX_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, display_text, strip_escapes};
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn sequences_go_and_words_stay() {
        for (text, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}!", "link!"),
            ("\u{1b}]0;title\u{7}rest", "rest"),
            ("one\r\ntwo\rthree\0\u{8}", "one\ntwo\nthree"),
            ("\u{1b}(Bplain\u{9b}", "plain"),
            ("unfinished \u{1b}[12", "unfinished "),
            ("ünïcode ✓\ttab", "ünïcode ✓\ttab"),
        ] {
            assert_eq!(strip_escapes(text), clean, "{text:?}");
        }
        assert_eq!(display_text(&"é".repeat(MAX_CHARS + 1)).chars().count(), MAX_CHARS + 1);
    }

    proptest! {
        #[test]
        fn nothing_that_steers_a_terminal_is_left(text in any::<String>()) {
            let clean = strip_escapes(&text);
            prop_assert!(clean.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert!(strip_escapes(&clean) == clean);
        }
    }
}
