//! Markdown as lines for a terminal. Every character stays; headings and code are set apart, and a unified diff is
//! coloured.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::theme::Theme;
use crate::tui::widgets::wrap::wrap;
use adjutant_base::text::escape_invisible;

/// Where a line of the message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Text,
    Code,
    /// A fence that says `diff`.
    FencedDiff,
    /// A unified diff without a fence.
    Diff,
}

/// Returns the message in lines of at most `room` columns.
pub(crate) fn lines(message: &str, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let message = message.replace("\r\n", "\n").replace('\t', "    ");
    let source: Vec<&str> = message.trim_end().lines().collect();
    let mut shown = Vec::with_capacity(source.len());
    let mut within = Within::Text;
    for (number, &line) in source.iter().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        within = match (within, fence) {
            (Within::Text | Within::Diff, Some(info)) => {
                push(&mut shown, line, room, 0, theme.quiet());
                let diff = matches!(info.trim(), "diff" | "patch") || has_hunk(&source[number + 1..]);
                within = if diff { Within::FencedDiff } else { Within::Code };
                continue;
            }
            (Within::Code | Within::FencedDiff, Some(_)) => {
                push(&mut shown, line, room, 0, theme.quiet());
                within = Within::Text;
                continue;
            }
            (Within::Text, None) if begins_diff(line, source.get(number + 1).copied()) => Within::Diff,
            (Within::Diff, None) if !continues_diff(line) => Within::Text,
            (within, None) => within,
        };
        match within {
            Within::Code => push(&mut shown, line, room, 0, Style::new()),
            Within::Diff | Within::FencedDiff => push(&mut shown, line, room, 1, diff_style(line, theme)),
            Within::Text if is_heading(line) => push(&mut shown, line, room, 0, Theme::strong()),
            Within::Text => push(&mut shown, line, room, hanging(line), Style::new()),
        }
    }
    shown
}

fn push(shown: &mut Vec<Line<'static>>, line: &str, room: usize, indent: usize, style: Style) {
    for part in wrap(&escape_invisible::escape(line), room, indent) {
        shown.push(Line::from(Span::styled(part, style)));
    }
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with(' ')
}

/// The column at which a list item or a quotation goes on.
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

/// Whether a hunk stands among the first lines of a code block.
fn has_hunk(block: &[&str]) -> bool {
    block.iter().take_while(|line| !line.trim_start().starts_with("```")).take(8).any(|line| is_hunk(line))
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

    fn text(message: &str, room: usize) -> Vec<String> {
        lines(message, room, Theme { colour: true }).iter().map(ToString::to_string).collect()
    }

    proptest! {
        #[test]
        fn nothing_steers_and_nothing_is_lost(message in any::<String>(), room in 10_usize..60) {
            let shown = text(&message, room);
            for line in &shown {
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
