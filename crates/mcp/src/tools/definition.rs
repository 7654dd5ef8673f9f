//! Definitions of tools as `tools/list` shows them, and results that all tools share.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::protocol_version::Revision;
use adjutant_host::file_catalogue::Problem;

/// Maximum unreadable files that one result names.
const MAX_PROBLEMS: usize = 100;

/// Returns a tool as `revision` shows it: annotations, a title and an output schema came with later versions.
pub(super) fn tool(
    revision: Revision,
    (name, title): (&'static str, &str),
    description: impl Into<Cow<'static, str>>,
    (input, output): (Value, Value),
    mut annotations: ToolAnnotations,
) -> Tool {
    let mut tool = Tool::new(name, description, schema(input));
    // Every model reads the list, so nothing is in it twice, or without a meaning.
    if revision.has_annotations() {
        if annotations.read_only_hint == Some(true) {
            (annotations.destructive_hint, annotations.idempotent_hint) = (None, None);
        }
        if revision.has_titles() {
            annotations.title = None;
        }
        tool.annotations = Some(annotations);
    }
    if revision.has_titles() {
        tool.title = Some(title.to_owned());
        tool.output_schema = Some(schema(output));
    }
    tool
}

/// Returns the words of the contract at 2024-11-05, and `newer` at later versions.
pub(super) fn words(revision: Revision, contract: &'static str, newer: &'static str) -> &'static str {
    if revision == Revision::V2024_11_05 { contract } else { newer }
}

/// Returns the schema of a result whose members its tool's description names.
pub(super) fn any_object() -> Value {
    json!({"type": "object"})
}

/// Returns the annotations of a tool that changes nothing. Codex and Copilot run only such a tool without asking.
pub(super) fn read_only(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// Returns the schema of an object with these properties.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    let mut object = json!({"type": "object"});
    object["properties"] = properties;
    if !required.is_empty() {
        object["required"] = Value::from(required);
    }
    object
}

fn schema(value: Value) -> Arc<Map<String, Value>> {
    match value {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}

/// Returns a result without `isError`, which the contracts do not show on success.
pub(super) fn success(content: Vec<ContentBlock>) -> CallToolResult {
    let mut result = CallToolResult::success(content);
    result.is_error = None;
    result
}

/// Returns a value as text and as structured content, because some clients show the one and some the other.
pub(super) fn structured(value: Value) -> CallToolResult {
    let mut result = success(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result
}

/// Adds the files that a catalogue could not read to the `_meta` of its list.
pub(super) fn with_problems(mut result: CallToolResult, problems: &[Problem]) -> CallToolResult {
    if !problems.is_empty() {
        let problem =
            |problem: &Problem| json!({"file": problem.source.relative, "problem": problem.message});
        let problems: Vec<Value> = problems.iter().take(MAX_PROBLEMS).map(problem).collect();
        result.meta.get_or_insert_default().0.insert("adjutant/problems".to_owned(), problems.into());
    }
    result
}
