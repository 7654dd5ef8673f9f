//! Changes single members of a JSON text, with or without comments, and leaves every other byte alone.
//!
//! A parser finds the positions, and the text is edited there. (Printing a syntax tree would reformat objects of one line,
//! and remove comments.)

mod container;
mod style;
mod surrogates;

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::syntax_error::SyntaxError;
use container::List;
use style::Style;

/// Syntax of programs that allow comments: they also allow trailing commas.
const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns the value at `path`; `None` if a member is missing. A text without a value is an empty object. In a path, numbers
/// from 0 are elements of an array.
pub(super) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, SyntaxError> {
    let whole = surrogates::paired(text);
    let root = parse(&whole)?;
    let Some(root) = &root else { return Ok(None) };
    let mut node = root;
    for depth in 0..path.len() {
        match step(text, node, path, depth)?.found {
            Some((_, value)) => node = value,
            None => return Ok(None),
        }
    }
    Ok(Some(node.clone().into()))
}

/// Sets the value at `path`, and creates missing objects. The number of a missing element appends it.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, SyntaxError> {
    let style = Style::of(text);
    let whole = surrogates::paired(text);
    let Some(root) = parse(&whole)? else {
        let root = style.value(&wrapped(path, value), "");
        let above = text.trim_end();
        let gap = if above.is_empty() { "" } else { style.newline };
        return Ok(format!("{above}{gap}{root}{}", style.newline));
    };
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        let Step { list, found } = step(text, node, path, depth)?;
        let Some((_, inner)) = found else {
            let value = wrapped(&path[depth + 1..], value);
            let is_element = node.as_array().is_some();
            return Ok(list.append(text, &style, |indent| {
                if is_element { style.value(&value, indent) } else { style.member(key, &value, indent) }
            }));
        };
        node = inner;
    }
    let range = span(node);
    let new = style.value(value, container::indentation(text, range.start));
    Ok(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
}

/// Removes the value at `path`, and each container that is empty then and has no comment.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, SyntaxError> {
    let whole = surrogates::paired(text);
    let Some(root) = parse(&whole)? else { return Ok(text.to_owned()) };
    let mut node = &root;
    let mut around = Vec::new();
    for depth in 0..path.len() {
        let Step { list, found } = step(text, node, path, depth)?;
        let Some((place, value)) = found else { return Ok(text.to_owned()) };
        around.push((list, place));
        node = value;
    }
    let Some((mut list, mut place)) = around.pop() else { return Ok(text.to_owned()) };
    while list.holds_only(text, place) {
        let Some((outer, outer_place)) = around.pop() else { break };
        (list, place) = (outer, outer_place);
    }
    Ok(list.without(text, place))
}

fn parse(text: &str) -> Result<Option<Node<'_>>, SyntaxError> {
    match parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => Err(SyntaxError::Syntax {
            line: error.line_display(),
            column: error.column_display(),
            reason: error.kind().to_string(),
        }),
    }
}

/// One step down a path: the items of an object or array, and the requested item, if it exists.
struct Step<'a, 'b> {
    list: List,
    found: Option<(usize, &'b Node<'a>)>,
}

fn step<'a, 'b>(
    text: &str,
    node: &'b Node<'a>,
    path: &[&str],
    depth: usize,
) -> Result<Step<'a, 'b>, SyntaxError> {
    let wrong = |expected| {
        let line = line_of(text, span(node).start);
        SyntaxError::Shape { line, key: path[..depth].join("."), expected }
    };
    if let Ok(number) = path[depth].parse::<usize>() {
        let array = node.as_array().ok_or_else(|| wrong("a list"))?;
        let found = array.elements.get(number).map(|value| (number, value));
        return Ok(Step { list: elements(array), found });
    }
    let object = node.as_object().ok_or_else(|| wrong("an object"))?;
    let named = |(_, property): &(usize, &ObjectProp<'_>)| property.name.as_str() == path[depth];
    let mut found = object.properties.iter().enumerate().filter(named);
    let first = found.next();
    // Programs disagree about duplicate names, so nothing is changed there.
    if let Some((_, second)) = found.next() {
        return Err(SyntaxError::Twice {
            line: line_of(text, second.range.start),
            key: path[..=depth].join("."),
        });
    }
    Ok(Step { list: properties(object), found: first.map(|(place, property)| (place, &property.value)) })
}

fn properties(object: &Object<'_>) -> List {
    List {
        inside: object.range.start + 1..object.range.end - 1,
        items: object.properties.iter().map(|property| property.range.start..property.range.end).collect(),
    }
}

fn elements(array: &Array<'_>) -> List {
    List {
        inside: array.range.start + 1..array.range.end - 1,
        items: array.elements.iter().map(span).collect(),
    }
}

fn span(node: &Node<'_>) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Wraps a value in an object for each key, and in an array for each number.
fn wrapped(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| match key.parse::<usize>() {
        Ok(_) => Value::Array(vec![inner]),
        Err(_) => Value::Object([((*key).to_owned(), inner)].into_iter().collect()),
    })
}

#[cfg(test)]
mod tests;
