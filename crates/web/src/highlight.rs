//! Untrusted text as HTML: invisible characters are marked, see `adjutant_base::text::escape_invisible`.

use std::fmt::Write as _;

use adjutant_base::text::escape_invisible::is_invisible;

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
            hidden if is_invisible(hidden) => {
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

/// Returns HTML: the text escaped like [`marked`], with each text between backticks as code.
pub(super) fn ticked(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 4);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else { break };
        let _ = write!(html, "{}<code>{}</code>", marked(before), marked(code));
        rest = after;
    }
    html.push_str(&marked(rest));
    html
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

    use super::{marked, ticked};
    use adjutant_base::text::escape_invisible::is_invisible;

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            assert!(!marked(&text).contains(is_invisible));
        }
    }

    #[test]
    fn what_is_between_backticks_is_code() {
        assert_eq!(
            ticked("Set `--home <DIR>` or `X`."),
            "Set <code>--home &lt;DIR&gt;</code> or <code>X</code>."
        );
        assert_eq!(ticked("a `b` c ` d"), "a <code>b</code> c ` d");
    }

    #[test]
    fn a_hidden_character_is_a_mark_with_its_code() {
        assert_eq!(
            marked("<\u{7f}>"),
            "&lt;<mark class=\"hidden-character\" data-code=\"7f\">U+007F</mark>&gt;"
        );
    }
}
