//! Values that another member of their object says are secret: those of a Secret of Kubernetes, and outputs of Terraform.

use std::ops::Range;

use super::lexer::{is_placeholder, strings};

/// Maximum bytes of a manifest before and after its kind.
const MAX_MANIFEST: usize = 64 << 10;
/// The members with the values; those of `data` are in base64.
const MEMBERS: [&[u8]; 2] = [b"data", b"stringData"];

/// Returns the values of the manifest with the kind at `start..after`.
pub(super) fn values(text: &[u8], start: usize, after: usize) -> Vec<Range<usize>> {
    let low = start.saturating_sub(MAX_MANIFEST);
    let high = text.len().min(after + MAX_MANIFEST);
    // `SecretStore` is another kind.
    let found = if matches!(text[after - 1], b'"') {
        of_json(text, low..high, start)
    } else if text.get(after).is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
        of_yaml(text, low..high, start)
    } else {
        Vec::new()
    };
    found.into_iter().filter(|range| !is_placeholder(&text[range.clone()])).collect()
}

/// Returns the strings in the members of the object around `start`.
fn of_json(text: &[u8], window: Range<usize>, start: usize) -> Vec<Range<usize>> {
    let Some(open) = enclosing(&text[window.start..start]).map(|at| window.start + at) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut at = open;
    while at < window.end {
        match text[at] {
            b'{' => depth += 1,
            b'}' if depth == 1 => break,
            b'}' => depth -= 1,
            b':' if depth == 1 => {
                let name = text[..at].trim_ascii_end();
                let name = &name[..name.len()
                    - name.iter().rev().take_while(|byte| matches!(byte, b'"' | b'\\')).count()];
                let value =
                    at + 1 + text[at + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let quote = name.iter().rposition(|byte| *byte == b'"').map_or(0, |at| at + 1);
                if MEMBERS.contains(&&name[quote..]) && text.get(value) == Some(&b'{') {
                    found.extend(
                        strings(text, value)
                            .into_iter()
                            .filter(|item| item.key.is_some())
                            .map(|item| item.range),
                    );
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the value in the object around a member `sensitive` at `start`, as Terraform prints outputs.
pub(super) fn sensitive(text: &[u8], start: usize) -> Vec<Range<usize>> {
    let low = start.saturating_sub(MAX_MANIFEST);
    let Some(open) = enclosing(&text[low..start]) else { return Vec::new() };
    let values = strings(text, low + open).into_iter().filter(|item| item.depth == 1);
    values
        .filter(|item| item.key.as_ref().is_some_and(|key| &text[key.clone()] == b"value"))
        .map(|item| item.range)
        .collect()
}

/// Returns the brace that is open at the end of a text.
fn enclosing(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth == 0 => return Some(at),
            b'{' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the values in the members of the mapping around `start`.
fn of_yaml(text: &[u8], window: Range<usize>, start: usize) -> Vec<Range<usize>> {
    // In a JSON string that is not decoded, the escape `\n` ends a line.
    let newline: &[u8] = if text[window.clone()].contains(&b'\n') { b"\n" } else { b"\\n" };
    let own = line_start(text, window.start, start, newline);
    let indent = column(&text[own..start]);
    let mut lines = Vec::new();
    let mut at = own;
    let mut is_first = begins_item(&text[own..start], indent);
    while at > window.start && !is_first {
        let end = at - newline.len().min(at);
        at = line_start(text, window.start, end, newline);
        let line = &text[at..end];
        if !is_of_mapping(line, indent) {
            break;
        }
        is_first = begins_item(line, indent) || line.trim_ascii_start().starts_with(b"apiVersion:");
        lines.push(at..end);
    }
    lines.reverse();
    let mut at = own;
    while at < window.end {
        let end =
            memchr::memmem::find(&text[at..window.end], newline).map_or(window.end, |length| at + length);
        let line = &text[at..end];
        if at > own && (!is_of_mapping(line, indent) || begins_item(line, indent)) {
            break;
        }
        lines.push(at..end);
        at = end + newline.len();
    }
    of_members(text, &lines, indent)
}

/// Returns the values of the members in the lines of a mapping.
fn of_members(text: &[u8], lines: &[Range<usize>], indent: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut inside, mut block) = (false, None);
    for line in lines {
        let content = text[line.clone()].trim_ascii();
        let first =
            line.start + text[line.clone()].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let depth = column(&text[line.clone()]);
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        if depth <= indent {
            let name = content.strip_prefix(b"- ").unwrap_or(content).strip_suffix(b":");
            inside = name.is_some_and(|name| MEMBERS.contains(&name));
            block = None;
        } else if inside && block.is_some_and(|of| depth > of) {
            found.push(first..first + content.len());
        } else if let Some(colon) = memchr::memchr(b':', content).filter(|_| inside) {
            let value = content[colon + 1..].trim_ascii();
            let from = first + content.len() - value.len();
            block = matches!(value.first(), None | Some(b'|' | b'>')).then_some(depth);
            if block.is_none() {
                let is_quoted =
                    value.len() > 1 && matches!(value[0], b'"' | b'\'') && value.last() == value.first();
                let quotes = usize::from(is_quoted);
                found.push(from + quotes..from + value.len() - quotes);
            }
        }
    }
    found
}

/// Returns whether a line belongs to a mapping with this indentation.
fn is_of_mapping(line: &[u8], indent: usize) -> bool {
    let content = line.trim_ascii();
    let depth = column(line);
    content.is_empty()
        || !line.starts_with(b"---") && (depth > indent || depth == indent && content.contains(&b':'))
}

/// Returns whether a line begins an item of a list of mappings with this indentation.
fn begins_item(line: &[u8], indent: usize) -> bool {
    line.trim_ascii_start().starts_with(b"- ") && column(line) == indent
}

/// Returns the beginning of the line that `at` is in.
fn line_start(text: &[u8], low: usize, at: usize, newline: &[u8]) -> usize {
    memchr::memmem::rfind(&text[low..at], newline).map_or(low, |end| low + end + newline.len())
}

/// Returns the column of the first name on a line; the sign of a list belongs to the indentation.
fn column(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'-')).count()
}
