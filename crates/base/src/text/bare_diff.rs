//! unified diffs that are in a message without a fence.

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Markdown(&'a str),
    Diff(&'a str),
}

/// Splits a message where a bare diff begins and ends; within a fence nothing is bare.
pub fn parts(message: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut begin, mut at, mut fenced, mut in_diff) = (0, 0, false, false);
    let mut lines = message.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        if fence && !in_diff {
            fenced = !fenced;
        }
        let opens = line.starts_with("diff --git ")
            || line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        let is_border = if in_diff { !opens && !continues(line) } else { opens && !fenced };
        if is_border {
            let text = &message[begin..at];
            parts.push(if in_diff { Part::Diff(text) } else { Part::Markdown(text) });
            (begin, in_diff) = (at, !in_diff);
            fenced = !in_diff && fence;
        }
        at += line.len();
    }
    let text = &message[begin..];
    parts.push(if in_diff { Part::Diff(text) } else { Part::Markdown(text) });
    parts
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
