//! Formats rows of cells as lines of text for a terminal of any width.

use std::fmt::Write as _;

use super::clipped;

/// Minimum width of the flexible cell; a narrower one moves to a line below its row.
const MIN_WIDTH: usize = 20;
/// Maximum width to which shorter cells of a column are padded.
const MAX_PADDED_WIDTH: usize = 200;
/// Indentation of that line.
const INDENT: usize = 4;

/// Escape sequences before and after the first cell of a row; empty without a style.
pub(super) type Style = (&'static str, &'static str);

/// Returns the head and the rows as lines of at most `width` characters, if the other cells allow it. The cell in the
/// column `flexible` is cut, or moved below its row. No other cell is cut, because it may be an id to copy.
pub(super) fn lines<const N: usize>(
    head: [&str; N],
    flexible: usize,
    rows: &[[String; N]],
    width: Option<usize>,
    style: Style,
) -> Vec<String> {
    let max_width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let mut widths: [usize; N] = std::array::from_fn(max_width);
    let others: usize = (0..N).filter(|column| *column != flexible).map(|column| widths[column] + 2).sum();
    let available = width.map_or(usize::MAX, |width| width.saturating_sub(others));
    let below = available < widths[flexible].min(MIN_WIDTH);
    widths[flexible] = widths[flexible].min(available);
    // One long cell makes no other row long.
    widths = widths.map(|width| width.min(MAX_PADDED_WIDTH));
    // Nothing follows the last cell.
    widths[N - 1] = 0;
    let line = |style: Style, cells: [&str; N]| {
        let mut line = String::new();
        for (column, cell) in
            cells.into_iter().enumerate().filter(|(column, _)| !below || *column != flexible)
        {
            let (begin, end) = if column == 0 { style } else { ("", "") };
            let cell = if column == flexible { clipped(cell, available) } else { cell.to_owned() };
            let _ = write!(line, "{begin}{cell:<0$}{end}  ", widths[column]);
        }
        let mut line = line.trim_end().to_owned();
        if below && !cells[flexible].is_empty() {
            let available = width.unwrap_or(usize::MAX).saturating_sub(INDENT).max(MIN_WIDTH);
            let _ = write!(line, "\n{:INDENT$}{}", "", clipped(cells[flexible], available));
        }
        line
    };
    let rows = rows.iter().map(|row| line(style, std::array::from_fn(|column| row[column].as_str())));
    std::iter::once(line(("", ""), head)).chain(rows).collect()
}

/// Wraps a text between its words, with all lines in the column `indent`. A word that is longer than a line is not cut,
/// because it may be a path to copy.
pub(super) fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    let available = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(MIN_WIDTH));
    let mut wrapped = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > available {
            let _ = write!(wrapped, "\n{:indent$}", "");
            used = 0;
        } else if used > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += length;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{lines, wrapped};

    #[test]
    fn a_long_text_is_broken_between_its_words() {
        let text = "put it there, or name it in /a/rather/long/path/of/a/file of yours";
        assert_eq!(wrapped(text, 4, None), text);
        assert_eq!(
            wrapped(text, 4, Some(28)),
            "put it there, or name it\n    in\n    /a/rather/long/path/of/a/file\n    of yours"
        );
    }

    fn table(width: usize) -> String {
        let row = |name: &str, text: &str| [name.to_owned(), text.to_owned(), "0199aabbccddeeff".to_owned()];
        let rows = [row("bees", "How bees sleep, and why they do it on flowers"), row("x", "")];
        lines(["NAME", "WHAT", "ID"], 1, &rows, Some(width), ("", "")).join("\n")
    }

    #[test]
    fn a_wide_screen_shows_all_and_a_narrow_one_cuts_the_flexible_column() {
        let wide = "NAME  WHAT                                           ID\n\
                    bees  How bees sleep, and why they do it on flowers  0199aabbccddeeff\n\
                    x                                                    0199aabbccddeeff";
        assert_eq!(table(200), wide);
        let narrow = "NAME  WHAT                                  ID\n\
                      bees  How bees sleep, and why they do it…   0199aabbccddeeff\n\
                      x                                           0199aabbccddeeff";
        assert_eq!(table(60), narrow);
        let tiny = "NAME  ID\n    WHAT\nbees  0199aabbccddeeff\n    How bees sleep, and why they…\nx     0199aabbccddeeff";
        assert_eq!(table(34), tiny);
    }

    #[test]
    fn a_cell_that_is_longer_than_any_padding_is_shown() {
        let rows = [["x".repeat(70_000), "b".to_owned()], ["y".to_owned(), "z".repeat(70_000)]];
        for flexible in [0, 1] {
            let shown = lines(["ONE", "TWO"], flexible, &rows, None, ("", ""));
            assert!(shown[1].starts_with(&rows[0][0]) && shown[2].ends_with(&rows[1][1]));
            let lengths: Vec<_> = shown.iter().map(String::len).collect();
            assert_eq!(lengths, [200 + 2 + 3, 70_000 + 2 + 1, 200 + 2 + 70_000]);
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_where_the_other_cells_fit(
            rows in prop::collection::vec(("[a-z]{0,8}", "[a-zé ]{0,90}", "[0-9a-f]{0,12}"), 0..6),
            width in 40_usize..120,
        ) {
            let rows: Vec<[String; 3]> = rows.into_iter().map(|(one, two, three)| [one, two, three]).collect();
            let text = lines(["ONE", "TWO", "THREE"], 1, &rows, Some(width), ("", "")).join("\n");
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
            for row in &rows {
                prop_assert!(text.contains(&row[2]));
            }
        }
    }
}
