//! Changes the hub's table in Codex's `config.toml`, and leaves every other byte alone.
//!
//! As with JSON, a parser finds the positions, and the text is edited there. A printed document would lose the line ends of
//! Windows, and the comment above a removed table.

use std::ops::Range;

use toml_edit::{Document, Item, Key, Table, TableLike, Value};

use super::hub_entry::Found;
use super::syntax_error::SyntaxError;

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// Members that only a server over HTTP has.
const HTTP_MEMBERS: [&str; 4] = ["url", "bearer_token_env_var", "http_headers", "env_http_headers"];

/// Returns the entry `name`.
pub(super) fn get(text: &str, name: &str) -> Result<Option<Found>, SyntaxError> {
    let document = parse(text)?;
    let Some(entry) = servers(text, &document)?.and_then(|servers| servers.get(name)) else {
        return Ok(None);
    };
    let entry = entry.as_table_like().ok_or_else(|| shape(text, entry, name))?;
    let word = |key: &str| entry.get(key).and_then(Item::as_str).map(str::to_owned);
    Ok(Some(Found { command: word("command"), arguments: words(entry.get("args")), url: word("url") }))
}

/// Sets the program of the entry `name`, and keeps its other members and comments.
pub(super) fn set(
    text: &str,
    name: &str,
    command: &str,
    arguments: &[String],
) -> Result<String, SyntaxError> {
    let document = parse(text)?;
    let servers = servers(text, &document)?;
    let wanted = [("command", Value::from(command)), ("args", arguments.iter().collect())];
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let is_current = |entry: &dyn TableLike| {
        wanted.iter().all(|(key, value)| same(entry.get(key), value))
            && !HTTP_MEMBERS.iter().any(|key| entry.contains_key(key))
    };
    match servers.and_then(|servers| servers.get(name)) {
        Some(entry) if entry.as_table_like().is_some_and(is_current) => Ok(text.to_owned()),
        Some(Item::Table(entry)) if !entry.is_dotted() => {
            let mut changes = Vec::new();
            let head = entry.span().map_or(0, |head| line_end(text, head.end));
            for (key, value) in &wanted {
                match entry.get(key).and_then(Item::span) {
                    Some(_) if same(entry.get(key), value) => {}
                    Some(place) => changes.push((place, value.to_string())),
                    None => changes.push((head..head, format!("{newline}{key} = {value}"))),
                }
            }
            // One after the other, because they may be adjacent.
            HTTP_MEMBERS.iter().try_fold(spliced(text, changes), |text, key| without_member(&text, name, key))
        }
        Some(Item::Value(Value::InlineTable(entry))) => {
            let place = entry.span().unwrap_or_default();
            let kept = entry
                .iter()
                .filter(|(key, _)| !HTTP_MEMBERS.contains(key) && !["command", "args"].contains(key));
            let kept =
                kept.map(|(key, value)| format!("{key} = {}", text[value.span().unwrap_or_default()].trim()));
            let all: Vec<String> =
                wanted.iter().map(|(key, value)| format!("{key} = {value}")).chain(kept).collect();
            Ok(spliced(text, vec![(place, format!("{{ {} }}", all.join(", ")))]))
        }
        Some(other) => Err(shape(text, other, name)),
        None => {
            let [(_, command), (_, arguments)] = &wanted;
            // An inline table takes new members only in its line.
            if let Some(Item::Value(Value::InlineTable(all))) = document.get(SERVERS) {
                let end = all.span().unwrap_or_default().end - 1;
                let end = text[..end].trim_end().len();
                let comma = if all.is_empty() { "" } else { "," };
                let space = if text[end..].starts_with('}') { " " } else { "" };
                let entry = format!("{comma} {name} = {{ command = {command}, args = {arguments} }}{space}");
                return Ok(spliced(text, vec![(end..end, entry)]));
            }
            let gap = match text {
                "" => "",
                text if text.ends_with('\n') => newline,
                _ => &newline.repeat(2),
            };
            Ok(format!(
                "{text}{gap}[{SERVERS}.{name}]{newline}command = {command}{newline}args = {arguments}{newline}"
            ))
        }
    }
}

/// Removes a member of the entry `name`.
fn without_member(text: &str, name: &str, member: &str) -> Result<String, SyntaxError> {
    let document = parse(text)?;
    let entry = servers(text, &document)?.and_then(|servers| servers.get(name)).and_then(Item::as_table);
    match entry.and_then(|entry| entry.get_key_value(member)) {
        Some((key, item)) => without(text, key, item, false).ok_or_else(|| shape(text, item, name)),
        None => Ok(text.to_owned()),
    }
}

/// Removes the entry `name` with its subtables. A comment above it stays.
pub(super) fn remove(text: &str, name: &str) -> Result<String, SyntaxError> {
    let document = parse(text)?;
    match servers(text, &document)?.and_then(|servers| servers.get_key_value(name)) {
        Some((key, entry)) => {
            let in_line = document.get(SERVERS).is_some_and(Item::is_inline_table);
            without(text, key, entry, in_line).ok_or_else(|| shape(text, entry, name))
        }
        None => Ok(text.to_owned()),
    }
}

/// Returns the text without an item: its line, its part of a line that holds others too, or its tables; `None` for one
/// that is spread over several places.
fn without(text: &str, key: &Key, item: &Item, in_line: bool) -> Option<String> {
    let places = match item {
        Item::Value(value) => {
            let place = key.span()?.start..value.span()?.end;
            vec![if in_line { item_of_a_line(text, place) } else { lines(text, place) }]
        }
        Item::Table(table) if !table.is_dotted() => {
            let mut blocks = Vec::new();
            blocks_of(text, table, &mut blocks);
            blocks
        }
        Item::Table(_) | Item::ArrayOfTables(_) | Item::None => return None,
    };
    let is_first = places.iter().any(|place| place.start == 0);
    let rest = spliced(text, places.into_iter().map(|place| (place, String::new())).collect());
    // Blank lines at the start separate nothing.
    Some(if is_first { rest.trim_start_matches(['\r', '\n']).to_owned() } else { rest })
}

fn parse(text: &str) -> Result<Document<String>, SyntaxError> {
    Document::parse(text.to_owned()).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        // The first line is the error; the others list what is expected.
        let reason = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
        SyntaxError::Syntax { line: before.matches('\n').count() + 1, column, reason }
    })
}

fn servers<'a>(text: &str, document: &'a Document<String>) -> Result<Option<&'a dyn TableLike>, SyntaxError> {
    let Some(servers) = document.get(SERVERS) else { return Ok(None) };
    servers.as_table_like().map(Some).ok_or_else(|| shape(text, servers, SERVERS))
}

fn shape(text: &str, item: &Item, key: &str) -> SyntaxError {
    let at = item.span().map_or(0, |span| span.start);
    let key = if key == SERVERS { key.to_owned() } else { format!("{SERVERS}.{key}") };
    SyntaxError::Shape { line: text[..at].matches('\n').count() + 1, key, expected: "a separate table" }
}

fn words(item: Option<&Item>) -> Vec<String> {
    let array = item.and_then(Item::as_array).into_iter().flatten();
    array.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn same(item: Option<&Item>, wanted: &Value) -> bool {
    match wanted.as_str() {
        Some(word) => item.and_then(Item::as_str) == Some(word),
        None => words(item) == words(Some(&Item::Value(wanted.clone()))),
    }
}

/// Collects the lines of a table and its subtables, which may be anywhere in the file.
fn blocks_of(text: &str, table: &Table, blocks: &mut Vec<Range<usize>>) {
    if let Some(head) = table.span().filter(|_| !table.is_implicit()) {
        let end = end_of_values(table).unwrap_or(head.end).max(head.end);
        match text[..head.start].trim_end().len() {
            0 => blocks.push(lines(text, 0..end)),
            // Also removes the blank lines before the table, but not the end of the line above them.
            before => blocks.push(line_end(text, before)..line_end(text, end)),
        }
    }
    for (_, item) in table {
        if let Item::Table(below) = item
            && !below.is_dotted()
        {
            blocks_of(text, below, blocks);
        }
    }
}

/// Returns the end of the last value of a table, without its subtables.
fn end_of_values(table: &Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Table(dotted) if dotted.is_dotted() => end_of_values(dotted),
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(_) | Item::ArrayOfTables(_) | Item::None => None,
    });
    ends.max()
}

/// Returns the whole lines around a place, with the end of the last one.
fn lines(text: &str, place: Range<usize>) -> Range<usize> {
    let begin = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[place.end..].find('\n').map_or(text.len(), |newline| place.end + newline + 1);
    begin..end
}

/// Returns the range of an item in an inline list, with the comma after it, else the one before it.
fn item_of_a_line(text: &str, place: Range<usize>) -> Range<usize> {
    let after = text[place.end..].trim_start();
    if let Some(rest) = after.strip_prefix(',') {
        return place.start..text.len() - rest.trim_start_matches(' ').len();
    }
    let before = text[..place.start].trim_end();
    before.strip_suffix(',').map_or(place.start, str::len)..place.end
}

/// Returns the end of the line around `at`, without its line feed.
fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.find('\n').map_or(rest.len(), |newline| rest[..newline].trim_end_matches('\r').len())
}

/// Replaces ranges of a text, which must not overlap.
fn spliced(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(place, _)| place.start);
    let mut result = String::with_capacity(text.len() + 128);
    let mut at = 0;
    for (place, new) in changes {
        result.push_str(&text[at..place.start.max(at)]);
        result.push_str(&new);
        at = place.end.max(at);
    }
    result.push_str(&text[at..]);
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates lines in any order. The test skips invalid TOML, such as a duplicate key.
    fn texts() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "# a comment [x]",
            "",
            "  ",
            "[a.b] # c",
            "\t[mcp_servers.tides]",
            "[mcp_servers.\"two words\".env]",
            "[[list]]",
            "text = \"\"\"\n[mcp_servers.adjutant]\n\"\"\"",
            "list = [ # c\n  1,\n]",
            "point = { x = 1 }",
        ]);
        let end = prop::sample::select(vec!["\n", "\r\n"]);
        (prop::collection::vec(line, 0..8), end)
            .prop_map(|(lines, end)| lines.iter().map(|line| line.replace('\n', end) + end).collect())
    }

    proptest! {
        #[test]
        fn set_and_remove_change_only_the_entry(text in texts()) {
            prop_assume!(parse(&text).is_ok());
            let with = set(&text, "adjutant", "/bin/x", &["connect".to_owned()]).unwrap();
            let found = get(&with, "adjutant").unwrap().unwrap();
            prop_assert_eq!(found.command.as_deref(), Some("/bin/x"));
            prop_assert!(with.starts_with(&text));
            let without = remove(&with, "adjutant").unwrap();
            // Blank lines at the end are removed with the entry.
            prop_assert_eq!(without.trim_end(), text.trim_end());
            prop_assert_eq!(set(&with, "adjutant", "/bin/x", &["connect".to_owned()]).unwrap(), with);
        }
    }
}
