//! Prints the change of a file as a diff.

use std::fmt::Write as _;
use std::io;

use similar::{ChangeTag, TextDiff};

use super::super::output::{self, Failure};
use crate::install::{Change, Client, Kind};
use adjutant_base::config::env;
use adjutant_base::text::escape_invisible::escape;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 2;
/// Maximum characters of an uncut line. Of a longer line only the changed part is shown, with some characters around it.
const MAX_LINE_CHARS: usize = 240;
const CONTEXT_CHARS: usize = 40;

/// Prints one file's change to stdout; `planned` if it is not yet sure that it is written.
pub(super) fn change(client: Client, change: &Change, planned: bool) -> Result<(), Failure> {
    let would = if planned && change.kind() != Kind::Unchanged { "would be " } else { "" };
    let mut head =
        format!("{}: {} {would}{}", client.title(), env::abbreviate(&change.path), change.kind().name());
    if let Some(target) = change.linked_to() {
        head = format!("{head} (a link to {}, the file that changes)", target.display());
    }
    output::data(&escape(&head))?;
    let colour = output::colour(&io::stdout());
    for line in diff(change).lines() {
        let line = escape(line);
        match line.as_bytes().first() {
            Some(b'+') if colour => output::data(&format!("  \x1b[32m{line}\x1b[0m"))?,
            Some(b'-') if colour => output::data(&format!("  \x1b[31m{line}\x1b[0m"))?,
            _ => output::data(&format!("  {line}"))?,
        }
    }
    Ok(())
}

/// Returns the difference as a unified diff without a head; empty when there is none.
pub(super) fn diff(change: &Change) -> String {
    if change.kind() == Kind::Unchanged {
        return String::new();
    }
    let after = change.after.as_deref().unwrap_or_default();
    let (before, after) = (change.before().replace("\r\n", "\n"), after.replace("\r\n", "\n"));
    let diff = TextDiff::from_lines(&before, &after);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        let _ = writeln!(text, "{}", hunk.header());
        let lines: Vec<_> =
            hunk.iter_changes().map(|line| (line.tag(), line.value().trim_end_matches('\n'))).collect();
        for (number, (tag, line)) in lines.iter().enumerate() {
            let sign = match tag {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            // The line that this one replaces, or that replaces it.
            let other = match tag {
                ChangeTag::Delete => lines.get(number + 1),
                ChangeTag::Insert => number.checked_sub(1).and_then(|number| lines.get(number)),
                ChangeTag::Equal => None,
            };
            let other = other.filter(|(other, _)| other != tag && *other != ChangeTag::Equal);
            let _ = writeln!(text, "{sign}{}", shorten(line, other.map_or("", |(_, line)| line)));
        }
    }
    text
}

/// Cuts the parts of a long line that are equal in the other.
fn shorten(line: &str, other: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    if characters.len() <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let same = line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let rest = characters.len().min(other.chars().count()) - same;
    let same_end = line.chars().rev().zip(other.chars().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let begin = same.saturating_sub(CONTEXT_CHARS);
    let end = (characters.len() - same_end + CONTEXT_CHARS).min(characters.len());
    let middle: String = characters[begin..end].iter().collect();
    let mark = |cut: bool| if cut { "…" } else { "" };
    format!("{}{middle}{}", mark(begin > 0), mark(end < characters.len()))
}
