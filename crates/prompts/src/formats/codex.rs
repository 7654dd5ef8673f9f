//! Codex prompts, which Codex read from `.codex/prompts` until version 0.117 dropped them.

use super::placeholders::{Slot, argument_of, default_text, dollars, find, respell};
use super::{Draft, Foreign, Head, argument_hint, native};
use crate::{Argument, Engine, Prompt};

/// Reads `$1` to `$9`, `$ARGUMENTS` and `$KEY`, which Codex fills from `KEY=value` and requires.
pub(super) fn read(foreign: &Foreign) -> Result<Draft, String> {
    let mut head = Head::read(&foreign.text)?;
    let description = head.take("description").unwrap_or_default();
    let hint = head.take("argument-hint");
    let body = head.body.to_owned();
    let mut places = dollars(&body, is_key);
    super::keep_known(&mut places, &mut head.notes, |slot| match slot {
        Slot::Input | Slot::Position(_) => true,
        Slot::Named(name, _) => is_key(name),
    });
    let mut arguments = Vec::new();
    let mut positions = 0;
    for place in &places {
        match &place.slot {
            Slot::Named(name, _) if is_key(name) => {
                if !arguments.iter().any(|known: &crate::Argument| known.name == *name) {
                    arguments.push(Argument::text(name, "", true));
                }
            }
            Slot::Position(position) => positions = positions.max(*position),
            Slot::Named(..) | Slot::Input => {}
        }
    }
    if arguments.is_empty() {
        arguments = argument_hint::read(hint.as_deref(), positions, &[]);
    } else if let Some(hint) = hint.filter(|hint| *hint != hint_of(&arguments)) {
        head.notes.push(format!("argument-hint `{hint}` is left out"));
    }
    let engine = super::engine(&places, &body);
    Ok(Draft { name: String::new(), description, arguments, engine, body, notes: head.notes() })
}

/// Returns whether Codex takes `$word` for a named argument.
fn is_key(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word != "ARGUMENTS"
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns the hint that this writer gives for named arguments.
fn hint_of(arguments: &[crate::Argument]) -> String {
    let keys = arguments.iter().map(|argument| argument.name.as_str()).filter(|name| is_key(name));
    keys.map(|key| format!("{key}=<value>")).collect::<Vec<_>>().join(" ")
}

/// Writes a prompt. Codex replaces either keys or positions and `$ARGUMENTS`, never both in one file.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    if prompt.engine == Engine::Literal && !dollars(&prompt.body, is_key).is_empty() {
        notes.push("the text has a `$` that Codex takes for an argument".to_owned());
    }
    let has_input = places.iter().any(|place| place.slot == Slot::Input);
    let fixed = |slot: &Slot| argument_of(prompt, slot).filter(|_| has_input).and_then(default_text);
    let keyed =
        places.iter().any(|place| matches!(place.slot, Slot::Named(..)) && fixed(&place.slot).is_none());
    let mut keys = Vec::new();
    let mut add = |name: &str| {
        let key = name.to_ascii_uppercase().replace('-', "_");
        if !keys.iter().any(|known: &crate::Argument| known.name == key) {
            keys.push(Argument::text(&key, "", true));
        }
        format!("${key}")
    };
    let mut body = respell(&prompt.body, &places, |slot| match slot {
        Slot::Input if keyed => Some(add("input")),
        Slot::Input => Some("$ARGUMENTS".to_owned()),
        Slot::Position(position) => Some(format!("${position}")),
        Slot::Named(name, _) => match fixed(slot) {
            Some(default) => {
                super::note(notes, format!("argument `{name}` is fixed to its default, `{default}`"));
                Some(default)
            }
            None => argument_of(prompt, slot).map(|argument| add(&argument.name)),
        },
    });
    // Codex drops the text after a prompt without a place for it; Adjutant appends it.
    if places.is_empty() {
        body.push_str("\n\n$ARGUMENTS");
    }
    let numbered: Vec<&Argument> = prompt.numbered().collect();
    let hint = if keyed { hint_of(&keys) } else { argument_hint::write(&numbered, prompt.argument("input")) };
    native::document(&[("description", &prompt.description), ("argument-hint", &hint)], &body)
}
