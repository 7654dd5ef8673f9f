//! Markdown as lines for a terminal. Every character stays; headings and code are set apart, and a unified diff is
//! coloured.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::theme::Theme;
use crate::tui::widgets::wrap::wrap;
use adjutant_base::text::escape_invisible;

/// The kind of block that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Code,
    /// A fenced block with the language `diff`.
    FencedDiff,
    /// A unified diff without a fence.
    Diff,
}

/// Returns the lines of a message, at most `columns` wide.
pub(crate) fn lines(message: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let message = message.replace("\r\n", "\n").replace('\t', "    ");
    let source: Vec<&str> = message.trim_end().lines().collect();
    let mut rendered = Vec::with_capacity(source.len());
    let mut block = Block::Text;
    for (number, &line) in source.iter().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        block = match (block, fence) {
            (Block::Text | Block::Diff, Some(info)) => {
                push(&mut rendered, line, columns, 0, theme.quiet());
                let diff = matches!(info.trim(), "diff" | "patch") || has_hunk(&source[number + 1..]);
                block = if diff { Block::FencedDiff } else { Block::Code };
                continue;
            }
            (Block::Code | Block::FencedDiff, Some(_)) => {
                push(&mut rendered, line, columns, 0, theme.quiet());
                block = Block::Text;
                continue;
            }
            (Block::Text, None) if begins_diff(line, source.get(number + 1).copied()) => Block::Diff,
            (Block::Diff, None) if !continues_diff(line) => Block::Text,
            (block, None) => block,
        };
        match block {
            Block::Code => push(&mut rendered, line, columns, 0, Style::new()),
            Block::Diff | Block::FencedDiff => push(&mut rendered, line, columns, 1, diff_style(line, theme)),
            Block::Text if is_heading(line) => push(&mut rendered, line, columns, 0, Theme::strong()),
            Block::Text => push(&mut rendered, line, columns, hanging(line), Style::new()),
        }
    }
    rendered
}

fn push(rendered: &mut Vec<Line<'static>>, line: &str, columns: usize, indent: usize, style: Style) {
    for part in wrap(&escape_invisible::escape(line), columns, indent) {
        rendered.push(Line::from(Span::styled(part, style)));
    }
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with(' ')
}

/// Returns the indentation of the further lines of a list item or a quotation.
fn hanging(line: &str) -> usize {
    let text = line.trim_start();
    let before = line.len() - text.len();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match text.as_bytes() {
        [b'-' | b'*' | b'+' | b'>', b' ', ..] => 2,
        [..] if digits > 0 && matches!(text.as_bytes().get(digits), Some(b'.' | b')')) => digits + 2,
        _ => 0,
    };
    before + mark
}

fn begins_diff(line: &str, next: Option<&str>) -> bool {
    line.starts_with("diff --git ")
        || line.starts_with("--- ") && next.is_some_and(|next| next.starts_with("+++ "))
        || is_hunk(line)
}

fn is_hunk(line: &str) -> bool {
    line.strip_prefix("@@ -").is_some_and(|rest| rest.contains(" +") && rest.contains(" @@"))
}

/// Returns whether the first lines of a code block contain a hunk.
fn has_hunk(lines: &[&str]) -> bool {
    lines.iter().take_while(|line| !line.trim_start().starts_with("```")).take(8).any(|line| is_hunk(line))
}

fn continues_diff(line: &str) -> bool {
    let heads =
        ["diff --git ", "index ", "new file", "deleted file", "similarity", "rename ", "Binary files"];
    line.starts_with([' ', '+', '-', '@', '\\']) || heads.iter().any(|head| line.starts_with(head))
}

fn diff_style(line: &str, theme: Theme) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] | [b'd', ..] => Theme::strong(),
        [b'+', ..] => theme.added(),
        [b'-', ..] => theme.removed(),
        [b'@', ..] => theme.hunk(),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{Theme, lines};
    use adjutant_base::text::escape_invisible::is_invisible;

    fn text(message: &str, columns: usize) -> Vec<String> {
        lines(message, columns, Theme { colour: true }).iter().map(ToString::to_string).collect()
    }

    proptest! {
        #[test]
        fn nothing_steers_and_nothing_is_lost(message in any::<String>(), columns in 10_usize..60) {
            let rendered = text(&message, columns);
            for line in &rendered {
                prop_assert!(!line.contains(is_invisible) && !line.contains('\n'), "{line:?}");
            }
        }
    }

    #[test]
    fn a_diff_is_one_with_and_without_a_fence() {
        let theme = Theme { colour: true };
        let message =
            "Look:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n\nAnd:\n```diff\n-gone\n```\n- a list\n";
        let styles: Vec<_> = lines(message, 40, theme)
            .iter()
            .map(|line| (line.to_string(), line.spans.first().map(|span| span.style)))
            .collect();
        let style = |text: &str| styles.iter().find(|(line, _)| line == text).and_then(|(_, style)| *style);
        assert_eq!(style("-old"), Some(theme.removed()));
        assert_eq!(style("+new"), Some(theme.added()));
        assert_eq!(style("-gone"), Some(theme.removed()));
        assert_eq!(style("- a list"), Some(ratatui::style::Style::new()));
    }

    #[test]
    fn lists_hang_and_headings_keep_their_signs() {
        assert_eq!(text("# Head\n- one two three", 9), ["# Head", "- one two", "  three"]);
        assert_eq!(text("a\u{1b}[31mb\tc", 40), ["a⟨U+001B⟩[31mb    c"]);
    }
}
