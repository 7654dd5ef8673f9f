//! The engine of imported files: `$ARGUMENTS`, `$1` to `$9`, `$ARGUMENTS[0]`, `$NAME`, `${input:name}` and
//! `${input:name:hint}`; `\$1` is the text `$1`. What other products run (`` !`command` ``) or read (`@file`) stays text.

use std::ops::Range;

use super::super::Argument;
use super::super::arguments::declaration::ALL;
use super::super::formats::placeholders::{self, Place, Slot, dollars, is_escaped};
use super::Pieces;

/// Splits a body at its placeholders. Also returns the arguments that it declares by `${input:name:hint}`.
pub(super) fn compile(body: &str, declared: &[Argument]) -> (Pieces, Vec<Argument>) {
    let mut pieces = Pieces::default();
    let mut implied: Vec<Argument> = Vec::new();
    let is_declared = |name: &str| declared.iter().any(|argument| argument.name == name);
    let mut text = 0;
    let is_known = |word: &str| is_declared(word) || is_variable(word);
    for Place { at, slot } in dollars(body, is_known) {
        push_text(&mut pieces, body, text..at.start, is_known);
        text = at.end;
        match &slot {
            Slot::Input => pieces.push_slot(ALL, None),
            // Without a word it stays as it is, because Claude does so.
            Slot::Position(number) => pieces.push_slot(&format!("${number}"), Some(at)),
            Slot::Named(name, hint) if body[at.start..].starts_with("${") => {
                if !is_declared(name) && !implied.iter().any(|argument| argument.name == *name) {
                    implied.push(Argument::text(name, hint.as_deref().unwrap_or_default(), true));
                }
                pieces.push_slot(name, None);
            }
            // Claude gives the words in order to names; in upper case they are those of Codex, which takes `NAME=value`.
            Slot::Named(name, _) if is_declared(name) => {
                pieces.named_by_word |= !is_variable(name);
                pieces.push_slot(name, None);
            }
            // Without a value, a name that is not declared stays as it is: `$HOME` may be meant.
            Slot::Named(name, _) => pieces.push_slot(name, Some(at)),
        }
    }
    push_text(&mut pieces, body, text..body.len(), is_known);
    (pieces, implied)
}

/// Returns whether a word is in upper case, as the names of variables are.
fn is_variable(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && !word.contains(|letter: char| letter.is_ascii_lowercase())
}

/// Adds text without the backslashes that keep a `$` from being a place.
fn push_text(pieces: &mut Pieces, body: &str, mut at: Range<usize>, known: impl Fn(&str) -> bool + Copy) {
    let mut from = at.start;
    while let Some(found) = body[from..at.end].find("\\$") {
        let dollar = from + found + 1;
        let place = |rest: &str| placeholders::dollar(rest, placeholders::first_number(body), known);
        if is_escaped(body, dollar) && place(&body[dollar + 1..]).is_some() {
            pieces.push_text(at.start..dollar - 1);
            at.start = dollar;
        }
        from = dollar + 1;
    }
    pieces.push_text(at);
}
