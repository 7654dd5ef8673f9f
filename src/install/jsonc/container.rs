//! Adds and removes items of a JSON object or array, with their separators.

use std::ops::Range;

use super::style::Style;

/// An object or an array as places in its text.
pub(super) struct List {
    /// What stands between the brackets.
    pub(super) inside: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

impl List {
    /// Puts an item behind the last one, in the way the others are put. `item` gets the white space that its lines
    /// begin with.
    pub(super) fn append(&self, text: &str, style: &Style, item: impl Fn(&str) -> String) -> String {
        let (Some(first), Some(last)) = (self.items.first(), self.items.last()) else {
            return self.fill(text, style, item);
        };
        let indent = indentation(text, first.start);
        let item = item(indent);
        // Who ends the last item with a comma ends the new one with a comma, too.
        let (end, between, closing) = match comma_behind(text, last.end) {
            Some(behind) => (behind, "", ","),
            None => (last.end, ",", ""),
        };
        // A comment behind the last item on its line speaks of that item, and only a line end closes some.
        let at = behind_comments(text, end);
        let comments = &text[end..at];
        let own_line = text[self.inside.start..first.start].contains('\n') || comments.contains("//");
        let gap = match own_line {
            true => format!("{}{indent}", style.newline),
            false if style.dense => String::new(),
            false => " ".to_owned(),
        };
        format!("{}{between}{comments}{gap}{item}{closing}{}", &text[..end], &text[at..])
    }

    /// Puts the only item between brackets that hold nothing but white space and comments.
    fn fill(&self, text: &str, style: &Style, item: impl Fn(&str) -> String) -> String {
        let outer = indentation(text, self.inside.start);
        let kept = self.inside.start + text[self.inside.clone()].trim_end().len();
        let (before, behind) = (&text[..kept], &text[self.inside.end..]);
        if style.one_line {
            return format!("{before}{}{behind}", item(outer));
        }
        let inner = format!("{outer}{}", style.unit);
        format!("{before}{0}{inner}{1}{0}{outer}{behind}", style.newline, item(&inner))
    }

    /// Whether there is nothing between the brackets but this item: no other one, no comment.
    pub(super) fn holds_only(&self, text: &str, place: usize) -> bool {
        let [item] = self.items.as_slice() else { return false };
        let behind = comma_behind(text, item.end).unwrap_or(item.end);
        place == 0
            && text[self.inside.start..item.start].trim().is_empty()
            && text[behind..self.inside.end].trim().is_empty()
    }

    /// Takes an item away, with the comma that goes with it, the white space before it and the comment behind it on
    /// its line. Comments above it stay: nobody but a person wrote them.
    pub(super) fn without(&self, text: &str, place: usize) -> String {
        if self.holds_only(text, place) {
            return format!("{}{}", &text[..self.inside.start], &text[self.inside.end..]);
        }
        let item = &self.items[place];
        let own_comma = comma_behind(text, item.end);
        let behind = &text[behind_comments(text, own_comma.unwrap_or(item.end))..];
        // Where what stands before this item ends, without and with its comma.
        let (end, comma) = match place.checked_sub(1).map(|previous| self.items[previous].end) {
            Some(end) => (end, comma_behind(text, end)),
            None => (self.inside.start, None),
        };
        let from = comma.unwrap_or(end);
        let comments = text[from..item.start].trim_end();
        let on_its_line = !behind.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
        // Only the line end closes a comment of that kind.
        let is_open = on_its_line && ends_open(comments);
        let between = if is_open { &text[from..item.start] } else { comments };
        let is_last = place + 1 == self.items.len();
        let dropped = comma.is_some() && is_last && own_comma.is_none();
        let head = if dropped {
            format!("{}{}", &text[..end], text[end..from].replacen(',', "", 1))
        } else {
            text[..from].to_owned()
        };
        let first_of_line = place == 0 && text[from..item.start].is_empty();
        let behind = if first_of_line { behind.trim_start_matches([' ', '\t']) } else { behind };
        format!("{head}{between}{behind}")
    }
}

/// Returns the white space that the line around `at` begins with.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Returns the place behind the comma that follows `at`, when nothing but comments and white space is between.
fn comma_behind(text: &str, at: usize) -> Option<usize> {
    let mut rest = &text[at..];
    loop {
        rest = rest.trim_start();
        let comment = comment(rest);
        if comment == 0 {
            return rest.starts_with(',').then(|| text.len() - rest.len() + 1);
        }
        rest = &rest[comment..];
    }
}

/// Returns the place behind the comments that follow `at` on its line.
fn behind_comments(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let length = comment(rest);
        if length == 0 || rest[..length].contains('\n') {
            return end;
        }
        end = text.len() - rest.len() + length;
    }
}

/// Whether the last of these comments lasts until the line ends.
fn ends_open(comments: &str) -> bool {
    let mut rest = comments.trim_start();
    let mut open = false;
    while !rest.is_empty() {
        open = rest.starts_with("//");
        // What is no comment is a comma.
        rest = rest[comment(rest).max(1)..].trim_start();
    }
    open
}

/// Returns how long the comment is that `text` begins with; 0 when it begins with none.
fn comment(text: &str) -> usize {
    if text.starts_with("//") {
        let line = text.find('\n').unwrap_or(text.len());
        return text[..line].trim_end_matches('\r').len();
    }
    if text.starts_with("/*") { text.find("*/").map_or(text.len(), |end| end + 2) } else { 0 }
}
