//! Wraps text to a width, without cutting it.

use ratatui::text::Span;

/// Returns the columns of a text on the screen.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Wraps one line of text into lines with at most `columns` columns, at spaces if possible. Lines after the first begin with
/// `indent` spaces. Zero columns count as one.
pub(crate) fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(1);
    let indent = if indent * 2 < columns { indent } else { 0 };
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let word_at = rest.find(|character| character != ' ').unwrap_or(rest.len());
        let (spaces, after) = rest.split_at(word_at);
        let (word, next) = after.split_at(after.find(' ').unwrap_or(after.len()));
        rest = next;
        if used + spaces.len() + width(word) <= columns {
            line.push_str(spaces);
            line.push_str(word);
            used += spaces.len() + width(word);
            continue;
        }
        // The spaces between two lines belong to the first one.
        if used > 0 {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
        }
        for character in word.chars() {
            let wide = width(character.encode_utf8(&mut [0; 4]));
            if used + wide > columns && !line.trim_start().is_empty() {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                used = indent;
            }
            line.push(character);
            used += wide;
        }
    }
    lines.push(line);
    lines
}

/// Cuts a text to `columns` columns, with a mark if it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept) + 1 > columns {
            kept.pop();
            break;
        }
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{cut, width, wrap};

    proptest! {
        #[test]
        fn lines_fit_and_hold_all_of_the_text(text in "[a-z日é ]{0,80}", columns in 6_usize..40, indent in 0_usize..4) {
            let lines = wrap(&text, columns, indent);
            for line in &lines {
                prop_assert!(width(line) <= columns, "{line:?} in {lines:?}");
            }
            let joined = lines.concat().replace(' ', "");
            prop_assert_eq!(joined, text.replace(' ', ""));
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrap("- one two three", 9, 2), ["- one two", "  three"]);
        assert_eq!(wrap("0123456789", 4, 0), ["0123", "4567", "89"]);
        assert_eq!(wrap("", 4, 0), [""]);
    }
}
