//! The engine of imported files: `$ARGUMENTS`, `$1` to `$9`, `$NAME`, `${input:name}` and `${input:name:hint}`;
//! `$$` is a dollar sign. What other products run (`` !`command` ``) or read (`@file`) stays text.

use super::super::arguments::declaration::{ALL, is_name};
use super::super::{Argument, ArgumentType};
use super::Pieces;

/// The meaning of a dollar sign.
enum Mark<'a> {
    /// A placeholder that may have no value.
    Slot(&'a str),
    /// A placeholder that stays as it is without a value: `$HOME` may be meant.
    Perhaps(&'a str),
    /// A placeholder that declares an argument: its name and its hint.
    Asked(&'a str, &'a str),
    Dollar,
}

/// Splits a body at its placeholders. Also returns the arguments that it declares by `${input:name:hint}`.
pub(super) fn compile(body: &str, declared: &[Argument]) -> (Pieces, Vec<Argument>) {
    let mut pieces = Pieces::default();
    let mut implied: Vec<Argument> = Vec::new();
    let mut text = 0;
    let mut from = 0;
    while let Some(dollar) = body[from..].find('$').map(|at| from + at) {
        let Some((mark, length)) = mark(&body[dollar..], declared) else {
            from = dollar + 1;
            continue;
        };
        let end = dollar + length;
        pieces.push_text(text..dollar);
        match mark {
            Mark::Dollar => pieces.push_text(dollar..dollar + 1),
            Mark::Slot(name) => pieces.push_slot(name, None),
            Mark::Perhaps(name) => pieces.push_slot(name, Some(dollar..end)),
            Mark::Asked(name, hint) => {
                if !declared.iter().chain(&implied).any(|argument| argument.name == name) {
                    implied.push(asked(name, hint));
                }
                pieces.push_slot(name, None);
            }
        }
        (text, from) = (end, end);
    }
    pieces.push_text(text..body.len());
    (pieces, implied)
}

fn mark<'a>(text: &'a str, declared: &[Argument]) -> Option<(Mark<'a>, usize)> {
    let rest = &text[1..];
    if rest.starts_with('$') {
        return Some((Mark::Dollar, 2));
    }
    if let Some(inside) = rest.strip_prefix("{input:") {
        // A hint is a short text; a longer one is text.
        let end = inside.bytes().take(400).position(|byte| matches!(byte, b'}' | b'\n'))?;
        let whole = inside[..end].trim();
        let (name, hint) = whole.split_once(':').unwrap_or((whole, ""));
        let closed = inside.as_bytes()[end] == b'}' && is_name(name);
        return closed.then_some((Mark::Asked(name, hint.trim()), 1 + "{input:".len() + end + 1));
    }
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let word = &rest[..length];
    let mark = match word.as_bytes() {
        b"ARGUMENTS" => Mark::Slot(ALL),
        [b'1'..=b'9'] => Mark::Slot(&text[..2]),
        _ if declared.iter().any(|argument| argument.name == word) => Mark::Slot(word),
        [b'A'..=b'Z', ..] if !word.contains(|letter: char| letter.is_ascii_lowercase()) => {
            Mark::Perhaps(word)
        }
        _ => return None,
    };
    Some((mark, 1 + length))
}

fn asked(name: &str, hint: &str) -> Argument {
    Argument {
        name: name.to_owned(),
        description: hint.to_owned(),
        kind: ArgumentType::String,
        required: true,
        default: None,
        choices: Vec::new(),
        pattern: None,
    }
}
