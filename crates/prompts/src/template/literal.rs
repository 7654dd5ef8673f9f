//! The literal engine: `{{input}}` and `{{argument}}` are replaced in one pass over the body.

use super::super::Argument;
use super::Pieces;

/// Splits a body at its placeholders. Only `{{input}}` and the names of declared arguments are placeholders;
/// everything else in double braces (say, `${{ github.sha }}`) is text.
pub(super) fn compile(body: &str, declared: &[Argument]) -> Pieces {
    let mut pieces = Pieces::default();
    let mut text = 0;
    let mut from = 0;
    while let Some(open) = body[from..].find("{{").map(|at| from + at) {
        let Some((name, end)) = placeholder(body, open, declared) else {
            from = open + 1;
            continue;
        };
        pieces.push_text(text..open);
        pieces.push_slot(name, None);
        (text, from) = (end, end);
    }
    pieces.push_text(text..body.len());
    pieces
}

/// Returns the placeholder that opens at `open`, and its end. Compares with the known names only, so that a body of
/// nothing but braces costs no more than its length.
fn placeholder<'a>(body: &str, open: usize, declared: &'a [Argument]) -> Option<(&'a str, usize)> {
    let rest = &body[open + 2..];
    std::iter::once("input")
        .chain(declared.iter().map(|argument| argument.name.as_str()))
        .find(|name| rest.strip_prefix(name).is_some_and(|behind| behind.starts_with("}}")))
        .map(|name| (name, open + 2 + name.len() + 2))
}
