//! Adds and removes items of a JSON object or array, with their separators.

use std::ops::Range;

use super::style::Style;

/// An object or an array as places in its text.
pub(super) struct List {
    /// The range between the brackets.
    pub(super) inside: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

impl List {
    /// Appends an item in the style of the others. `item` receives the indentation of its lines.
    pub(super) fn append(&self, text: &str, style: &Style, item: impl Fn(&str) -> String) -> String {
        let (Some(first), Some(last)) = (self.items.first(), self.items.last()) else {
            return self.fill(text, style, item);
        };
        let indent = indentation(text, first.start);
        let item = item(indent);
        // A trailing comma stays the style of the list.
        let (end, between, closing) = match comma_after(text, last.end) {
            Some(after) => (after, "", ","),
            None => (last.end, ",", ""),
        };
        // Comments after the last item in its line belong to it, and a line end must close them.
        let at = after_comments(text, end);
        let comments = &text[end..at];
        let own_line = text[self.inside.start..first.start].contains('\n') || comments.contains("//");
        let gap = match own_line {
            true => format!("{}{indent}", style.newline),
            false if style.dense => String::new(),
            false => " ".to_owned(),
        };
        format!("{}{between}{comments}{gap}{item}{closing}{}", &text[..end], &text[at..])
    }

    /// Inserts the only item between brackets with nothing but white space and comments.
    fn fill(&self, text: &str, style: &Style, item: impl Fn(&str) -> String) -> String {
        let outer = indentation(text, self.inside.start);
        let kept = self.inside.start + text[self.inside.clone()].trim_end().len();
        let (before, after) = (&text[..kept], &text[self.inside.end..]);
        if style.one_line {
            return format!("{before}{}{after}", item(outer));
        }
        let inner = format!("{outer}{}", style.unit);
        format!("{before}{0}{inner}{1}{0}{outer}{after}", style.newline, item(&inner))
    }

    /// Returns whether this item is all between the brackets, without other items and comments.
    pub(super) fn holds_only(&self, text: &str, place: usize) -> bool {
        let [item] = self.items.as_slice() else { return false };
        let after = comma_after(text, item.end).unwrap_or(item.end);
        place == 0
            && text[self.inside.start..item.start].trim().is_empty()
            && text[after..self.inside.end].trim().is_empty()
    }

    /// Removes an item with its comma, the white space before it, and the comment after it in its line. Comments above it
    /// stay, because a user wrote them.
    pub(super) fn without(&self, text: &str, place: usize) -> String {
        if self.holds_only(text, place) {
            return format!("{}{}", &text[..self.inside.start], &text[self.inside.end..]);
        }
        let item = &self.items[place];
        let own_comma = comma_after(text, item.end);
        let after = &text[after_comments(text, own_comma.unwrap_or(item.end))..];
        // The end of the previous item, without and with its comma.
        let (end, comma) = match place.checked_sub(1).map(|previous| self.items[previous].end) {
            Some(end) => (end, comma_after(text, end)),
            None => (self.inside.start, None),
        };
        let from = comma.unwrap_or(end);
        let comments = text[from..item.start].trim_end();
        let on_its_line = !after.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
        // A line end must close a line comment.
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
        let after = if first_of_line { after.trim_start_matches([' ', '\t']) } else { after };
        format!("{head}{between}{after}")
    }
}

/// Returns the white space that the line around `at` begins with.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Returns the end of the comma that follows `at`, if only comments and white space precede it.
fn comma_after(text: &str, at: usize) -> Option<usize> {
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

/// Returns the end of the comments that follow `at` in its line.
fn after_comments(text: &str, at: usize) -> usize {
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

/// Returns whether the last of these comments is a line comment.
fn ends_open(comments: &str) -> bool {
    let mut rest = comments.trim_start();
    let mut open = false;
    while !rest.is_empty() {
        open = rest.starts_with("//");
        // The text consists of comments and commas.
        rest = rest[comment(rest).max(1)..].trim_start();
    }
    open
}

/// Returns the length of the comment at the start of `text`; 0 without one.
fn comment(text: &str) -> usize {
    if text.starts_with("//") {
        let line = text.find('\n').unwrap_or(text.len());
        return text[..line].trim_end_matches('\r').len();
    }
    // In `/*/` the comment has begun, and not ended.
    let Some(inner) = text.strip_prefix("/*") else { return 0 };
    inner.find("*/").map_or(text.len(), |end| end + 4)
}
