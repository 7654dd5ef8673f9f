//! Lenient access to JSON fields: a missing value is empty, never an error.

use serde_json::{Map, Value};

use crate::patch::FileChange;

/// Returns a text; `None` for any other value.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// Returns a text; empty for any other value.
pub(super) fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the texts of a list of texts, or of objects with `text`.
pub(super) fn joined(list: &Value, separator: &str) -> String {
    let parts = list.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
    texts.collect::<Vec<_>>().join(separator)
}

/// Returns the texts of a list; `None` for any other value, and for a list with an element that is not a text. The user
/// approves what is shown, so no element may be left out.
pub(super) fn list(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

/// Returns the files of a patch as `mcp-server` names them: path to change.
pub(super) fn changes_by_path(changes: &Value) -> Vec<FileChange> {
    let files = changes.as_object().into_iter().flatten();
    files
        .map(|(path, change)| {
            let diff = ["unified_diff", "content"].iter().find_map(|member| text(&change[member]));
            FileChange { path: path.clone(), how: words(&change["type"]), diff: diff.unwrap_or_default() }
        })
        .collect()
}

/// Returns the files of a patch as `app-server` lists them.
pub(super) fn changes_listed(changes: &Value) -> Vec<FileChange> {
    let files = changes.as_array().into_iter().flatten();
    files
        .map(|change| {
            let kind = &change["kind"];
            let how = text(&kind["type"]).or_else(|| text(kind)).unwrap_or_default();
            FileChange { path: words(&change["path"]), how, diff: words(&change["diff"]) }
        })
        .collect()
}

/// Returns a tool's result as one text.
pub(super) fn tool_result(result: &Value) -> Option<String> {
    // `mcp-server` wraps it as Rust's Result.
    let result =
        ["Ok", "Err"].iter().map(|member| &result[member]).find(|inner| !inner.is_null()).unwrap_or(result);
    if result.is_null() {
        return None;
    }
    if let Some(text) = result.as_str() {
        return Some(text.to_owned());
    }
    let content = joined(&result["content"], "\n");
    Some(if content.is_empty() { result.to_string() } else { content })
}

/// Returns the folder that a plain path or a `file://` address names.
pub(super) fn folder(value: &Value) -> Option<String> {
    value.as_str().map(|path| path.strip_prefix("file://").unwrap_or(path).to_owned())
}

/// Returns the members of an object that are not null, except for the `known` ones.
pub(super) fn others(value: &Value, known: &[&str]) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    let others = members.filter(|(name, value)| !value.is_null() && !known.contains(&name.as_str()));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the named texts that are set, as JSON.
pub(super) fn present<'a>(
    texts: impl IntoIterator<Item = (&'a str, &'a Option<String>)>,
) -> impl Iterator<Item = (&'a str, Value)> {
    texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text.as_deref()?))))
}
