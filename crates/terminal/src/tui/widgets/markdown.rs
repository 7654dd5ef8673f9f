//! Markdown of agents as lines for a terminal.
//!
//! The text is untrusted, and a user decides by it. So everything that Markdown would hide is shown: HTML as text, a
//! link and an image with the whole address, and at the end the text that the parser reports in no event.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::styled_text::fill;
use super::wrap::{width, wrap};
use crate::tui::theme::Theme;
use adjutant_base::text::escape_invisible;
use adjutant_base::text::untrusted_markdown::{OPTIONS, Part, hidden, is_diff, parts};

/// Minimum columns of a column of a table; a table with less is shown as a list.
const MIN_CELL_WIDTH: usize = 6;
/// The mark of a code block, at the left of its lines.
const CODE_MARK: &str = "│ ";

/// Returns the lines of a message, at most `columns` wide.
pub(crate) fn lines(message: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let message = message.replace("\r\n", "\n").replace('\t', "    ");
    let mut page =
        Page { columns, theme, lines: Vec::new(), marks: Vec::new(), text: Vec::new(), gap: false };
    for part in parts(message.trim_end()) {
        match part {
            Part::Markdown(text) => page.markdown(text),
            Part::Diff(text) => page.code(text, true),
        }
    }
    page.lines
}

/// The lines so far, and the block that is being read.
struct Page {
    columns: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    /// The marks of the open lists and quotations, the outermost first.
    marks: Vec<Mark>,
    /// The text of the open paragraph, heading or cell.
    text: Vec<(String, Style)>,
    /// The next block comes after an empty line.
    gap: bool,
}

/// The text before the lines of a list item or a quotation.
struct Mark {
    /// For its first line, until that has it.
    first: Option<String>,
    further: String,
}

impl Page {
    #[expect(clippy::too_many_lines, reason = "one arm for each event of the parser")]
    fn markdown(&mut self, text: &str) {
        let mut styles = vec![Style::new()];
        // The numbers of the open lists, the open code block, the addresses of open links, the rows of an open table.
        let mut lists: Vec<Option<u64>> = Vec::new();
        let mut code: Option<(bool, String)> = None;
        let mut links: Vec<(usize, String)> = Vec::new();
        let mut table: Vec<Vec<String>> = Vec::new();
        for event in Parser::new_ext(text, OPTIONS) {
            let style = styles.last().copied().unwrap_or_default();
            match event {
                Event::Text(text) => match &mut code {
                    Some((_, code)) => code.push_str(&text),
                    None => self.write(&text, style),
                },
                Event::Code(text) => self.write(&format!("`{text}`"), style.patch(self.theme.hunk())),
                // HTML is shown as text.
                Event::Html(text) | Event::InlineHtml(text) => {
                    self.write(&text, style.patch(self.theme.quiet()));
                }
                Event::SoftBreak | Event::HardBreak => self.write("\n", style),
                Event::Rule => {
                    self.open();
                    self.push(vec![Span::styled("* * *", self.theme.quiet())]);
                    self.gap = true;
                }
                Event::TaskListMarker(done) => self.write(if done { "☑ " } else { "☐ " }, style),
                Event::Start(tag) => match &tag {
                    Tag::Emphasis => styles.push(style.add_modifier(Modifier::ITALIC)),
                    Tag::Strong => styles.push(style.add_modifier(Modifier::BOLD)),
                    Tag::Strikethrough => styles.push(style.add_modifier(Modifier::CROSSED_OUT)),
                    Tag::Heading { level, .. } => {
                        self.open();
                        let is_title = *level == HeadingLevel::H1;
                        let more = if is_title { Modifier::UNDERLINED } else { Modifier::empty() };
                        styles.push(Theme::strong().add_modifier(more));
                    }
                    Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                        links.push((self.text.len(), dest_url.to_string()));
                        styles.push(style.add_modifier(Modifier::UNDERLINED));
                    }
                    Tag::CodeBlock(kind) => {
                        code = Some((is_diff(kind), String::new()));
                    }
                    Tag::Paragraph | Tag::HtmlBlock | Tag::Table(_) => self.open(),
                    Tag::BlockQuote(_) => {
                        self.open();
                        self.mark("> ");
                    }
                    Tag::List(number) => {
                        if lists.is_empty() {
                            self.open();
                        }
                        lists.push(*number);
                    }
                    Tag::Item => {
                        self.flush();
                        self.gap = false;
                        match lists.last_mut() {
                            Some(Some(number)) => {
                                let mark = format!("{number}. ");
                                *number = number.saturating_add(1);
                                self.mark(&mark);
                            }
                            _ => self.mark("• "),
                        }
                    }
                    Tag::TableHead | Tag::TableRow => table.push(Vec::new()),
                    _ => {}
                },
                Event::End(tag) => match tag {
                    TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(styles.pop()),
                    TagEnd::Link | TagEnd::Image => {
                        styles.pop();
                        let (from, url) = links.pop().unwrap_or_default();
                        let label: String = self.text[from.min(self.text.len())..]
                            .iter()
                            .map(|(text, _)| text.as_str())
                            .collect();
                        // A link with its address as text needs the address once.
                        if label != escape_invisible::escape(&url) {
                            self.write(&format!(" ({url})"), self.theme.quiet());
                        }
                    }
                    TagEnd::CodeBlock => {
                        let (is_diff, text) = code.take().unwrap_or_default();
                        self.code(&text, is_diff || has_hunk(&text));
                    }
                    TagEnd::Heading(_) => {
                        styles.pop();
                        self.close();
                    }
                    TagEnd::Item => {
                        self.flush();
                        if self.marks.last().is_some_and(|mark| mark.first.is_some()) {
                            self.push(Vec::new());
                        }
                        self.marks.pop();
                        self.gap = false;
                    }
                    TagEnd::List(_) => {
                        lists.pop();
                        self.gap = lists.is_empty();
                    }
                    TagEnd::BlockQuote(_) => {
                        self.close();
                        self.marks.pop();
                    }
                    TagEnd::TableCell => {
                        let cell = std::mem::take(&mut self.text).into_iter().map(|(text, _)| text).collect();
                        if let Some(row) = table.last_mut() {
                            row.push(cell);
                        }
                    }
                    TagEnd::Table => {
                        let rows = std::mem::take(&mut table);
                        self.table(&rows);
                        self.gap = true;
                    }
                    TagEnd::Paragraph | TagEnd::HtmlBlock => self.close(),
                    _ => {}
                },
                // These extensions are off.
                Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                    self.write(&text, style);
                }
            }
        }
        self.close();
        for text in hidden(text) {
            self.open();
            self.write(&text, self.theme.quiet());
            self.close();
        }
    }

    /// Adds text to the open block.
    fn write(&mut self, text: &str, style: Style) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.flush();
            }
            if !line.is_empty() {
                self.text.push((escape_invisible::escape(line).into_owned(), style));
            }
        }
    }

    /// Begins a block.
    fn open(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            self.push(Vec::new());
        }
    }

    /// Ends a block.
    fn close(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Puts a mark before the lines to come, unless it would leave too few columns.
    fn mark(&mut self, first: &str) {
        let fits = self.free() > 2 * (width(first) + MIN_CELL_WIDTH);
        let further = match first {
            _ if !fits => String::new(),
            "> " => first.to_owned(),
            _ => " ".repeat(width(first)),
        };
        self.marks.push(Mark { first: fits.then(|| first.to_owned()), further });
    }

    /// Returns the columns after the marks.
    fn free(&self) -> usize {
        let marks: usize = self.marks.iter().map(|mark| width(&mark.further)).sum();
        self.columns.saturating_sub(marks).max(1)
    }

    /// Adds a line after the marks.
    fn push(&mut self, spans: Vec<Span<'static>>) {
        let marks =
            self.marks.iter_mut().map(|mark| mark.first.take().unwrap_or_else(|| mark.further.clone()));
        let mut line = vec![Span::styled(marks.collect::<String>(), self.theme.quiet())];
        line.extend(spans);
        self.lines.push(Line::from(line));
    }

    /// Adds the text of the open block in lines.
    fn flush(&mut self) {
        let pieces = std::mem::take(&mut self.text);
        if pieces.is_empty() {
            return;
        }
        let plain: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        let styled =
            pieces.iter().flat_map(|(text, style)| text.chars().map(|character| (character, *style)));
        let mut styled = styled.peekable();
        for line in wrap(&plain, self.free(), 0) {
            let mut spans: Vec<Span<'static>> = Vec::new();
            for character in line.chars() {
                // Spaces between two lines are in neither.
                while styled.next_if(|(next, _)| *next != character).is_some() {}
                let style = styled.next().map(|(_, style)| style).unwrap_or_default();
                match spans.last_mut().filter(|span| span.style == style) {
                    Some(span) => span.content.to_mut().push(character),
                    None => spans.push(Span::styled(character.to_string(), style)),
                }
            }
            self.push(spans);
        }
    }

    /// Adds a code block or a diff.
    fn code(&mut self, text: &str, is_diff: bool) {
        // A label belongs to the code below it.
        if self.lines.last().is_some_and(|line| line.to_string().ends_with(':')) {
            self.gap = false;
        }
        self.open();
        let columns = self.free().saturating_sub(width(CODE_MARK)).max(1);
        for line in text.trim_end_matches('\n').split('\n') {
            let style = if is_diff { diff_style(line, self.theme) } else { Style::new() };
            for part in wrap(&escape_invisible::escape(line), columns, 0) {
                self.push(vec![Span::styled(CODE_MARK, self.theme.quiet()), Span::styled(part, style)]);
            }
        }
        self.gap = true;
    }

    /// Adds a table, or a list of its values where that is too wide.
    fn table(&mut self, rows: &[Vec<String>]) {
        let free = self.free();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
        let mut widths: Vec<usize> = (0..count).map(|at| widest(at).unwrap_or(0).clamp(1, free)).collect();
        let borders = 3 * count.saturating_sub(1);
        while widths.iter().sum::<usize>() + borders > free {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > MIN_CELL_WIDTH) else {
                return self.table_as_list(rows);
            };
            *widest -= 1;
        }
        for (number, row) in rows.iter().enumerate() {
            let style = if number == 0 { Theme::strong() } else { Style::new() };
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| wrap(row.get(at).map_or("", String::as_str), *width, 0))
                .collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut spans = Vec::new();
                for (cell, width) in cells.iter().zip(&widths) {
                    if !spans.is_empty() {
                        spans.push(Span::styled(" │ ", self.theme.quiet()));
                    }
                    spans.push(Span::styled(fill(cell.get(at).map_or("", String::as_str), *width), style));
                }
                self.push(spans);
            }
            if number == 0 {
                let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
                self.push(vec![Span::styled(rule, self.theme.quiet())]);
            }
        }
    }

    fn table_as_list(&mut self, rows: &[Vec<String>]) {
        let Some((head, rows)) = rows.split_first() else { return };
        if rows.is_empty() {
            self.text = vec![(head.join(", "), Theme::strong())];
            self.flush();
        }
        for row in rows {
            self.mark("• ");
            for (name, cell) in head.iter().zip(row) {
                self.text = vec![(format!("{name}: "), Theme::strong()), (cell.clone(), Style::new())];
                self.flush();
            }
            self.marks.pop();
        }
    }
}

/// Returns whether the first lines of a code block contain a hunk of a diff.
fn has_hunk(code: &str) -> bool {
    let is_hunk = |line: &str| {
        line.strip_prefix("@@ -").is_some_and(|rest| rest.contains(" +") && rest.contains(" @@"))
    };
    code.lines().take(8).any(is_hunk)
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
    use ratatui::style::{Modifier, Style};

    use super::{Theme, lines, width};
    use adjutant_base::text::escape_invisible::is_invisible;

    const THEME: Theme = Theme { colour: true };

    fn text(message: &str, columns: usize) -> String {
        let lines: Vec<String> = lines(message, columns, THEME)
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    fn style_of(message: &str, part: &str) -> Option<Style> {
        let lines = lines(message, 60, THEME);
        lines
            .iter()
            .flat_map(|line| &line.spans)
            .find(|span| span.content.contains(part))
            .map(|span| span.style)
    }

    proptest! {
        #[test]
        fn nothing_steers_and_every_line_fits(
            message in any::<String>(),
            marks in "[-+<>`*_|!\\[\\]() #1.a日\n]{0,80}",
            columns in 10_usize..60,
        ) {
            for message in [&message, &marks] {
                for line in lines(message, columns, THEME) {
                    let line = line.to_string();
                    prop_assert!(!line.contains(is_invisible) && !line.contains('\n'), "{line:?}");
                    prop_assert!(width(&line) <= columns, "{line:?}");
                }
            }
        }
    }

    #[test]
    fn a_diff_is_one_with_and_without_a_fence() {
        let message =
            "Look:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n\nAnd:\n```diff\n-gone\n```\n- a list\n";
        assert_eq!(style_of(message, "-old"), Some(THEME.removed()));
        assert_eq!(style_of(message, "+new"), Some(THEME.added()));
        assert_eq!(style_of(message, "-gone"), Some(THEME.removed()));
        assert_eq!(style_of(message, "a list"), Some(Style::new()));
    }

    #[test]
    fn blocks_have_their_forms() {
        let message = "# Head\nA *soft* and **strong** line\nwith ~~old~~ `code`.\n\n- one two three four five\n  - inner\n- [x] done\n\n\
                       7. seven\n\n   more of it\n8. eight\n\n> quoted\n> again\n\n```rust\nfn main() {}\n\n    a\tb\n```\nend\n***\n";
        insta::assert_snapshot!(text(message, 20), @r"
        Head

        A soft and strong
        line
        with old `code`.

        • one two three four
          five
          • inner
        • ☑ done

        7. seven

           more of it
        8. eight

        > quoted
        > again

        │ fn main() {}
        │
        │     a    b

        end

        * * *
        ");
        assert!(style_of(message, "soft").unwrap().add_modifier.contains(Modifier::ITALIC));
        assert!(style_of(message, "strong").unwrap().add_modifier.contains(Modifier::BOLD));
        assert!(style_of(message, "old").unwrap().add_modifier.contains(Modifier::CROSSED_OUT));
        assert!(style_of(message, "Head").unwrap().add_modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn a_table_fits_the_screen() {
        let message = "| port | tide |\n|---|---:|\n| Bergen | **low** at 06:12 and high at 12:40 |\n| 日本 | <b>none</b> |";
        insta::assert_snapshot!(text(message, 40), @r"
        port   │ tide
        ───────┼───────────────────────────────
        Bergen │ low at 06:12 and high at 12:40
        日本   │ <b>none</b>
        ");
        let narrow = text(message, 24);
        assert!(narrow.contains("Bergen │ low at 06:12\n       │ and high at\n       │ 12:40"), "{narrow}");
        insta::assert_snapshot!(text("|a|b|c|d|\n|-|-|-|-|\n|long text 1|long text 2|long text 3|4|", 22), @r"
        • a: long text 1
          b: long text 2
          c: long text 3
          d: 4
        ");
    }

    #[test]
    fn what_markdown_hides_is_shown() {
        let message = "Mind <script>x</script> ![pixel](https://evil.test/p.png) [bank](https://evil.test) \
                       <https://tides.test> a\u{1b}[31mb &#x202e; <!-- note -->";
        let shown = text(message, 200);
        for part in [
            "<script>x</script>",
            "pixel (https://evil.test/p.png)",
            "bank (https://evil.test)",
            "a⟨U+001B⟩[31mb",
            "⟨U+202E⟩",
            "<!-- note -->",
        ] {
            assert!(shown.contains(part), "no {part}: {shown}");
        }
        assert_eq!(shown.matches("https://tides.test").count(), 1, "{shown}");
    }
}
