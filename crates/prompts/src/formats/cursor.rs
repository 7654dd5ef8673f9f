//! Cursor commands: Markdown without front matter, with the text after the command appended.

use super::placeholders::{Slot, argument_of, default_text, find, respell};
use super::{Draft, Foreign, Head};
use crate::{Engine, Prompt};

/// Reads a command. Nothing in its text is a place for Cursor.
pub(super) fn read(foreign: &Foreign) -> Draft {
    // A line at the top that only looks like front matter is text.
    let mut head = Head::read(&foreign.text).unwrap_or_else(|_| Head::without_front_matter(&foreign.text));
    let description = head.take("description").unwrap_or_default();
    let body = head.body.to_owned();
    if body.contains("{{input}}") {
        head.notes.push("its `{{input}}`, text for Cursor, takes the input here".to_owned());
    }
    Draft {
        name: String::new(),
        description,
        arguments: Vec::new(),
        engine: Engine::Literal,
        body,
        notes: head.notes(),
    }
}

/// Writes a command. Input can only be at the end, where Cursor puts it.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let inputs = places.iter().filter(|place| place.slot == Slot::Input).count();
    let last = places
        .last()
        .filter(|place| inputs == 1 && place.slot == Slot::Input && place.at.end == prompt.body.len());
    let (body, places) = match last {
        Some(last) => (&prompt.body[..last.at.start], &places[..places.len() - 1]),
        None => (prompt.body.as_str(), &places[..]),
    };
    let body = respell(body, places, |slot| {
        let argument = argument_of(prompt, slot);
        if let Some(default) = argument.and_then(default_text) {
            let name = argument.map_or("input", |argument| argument.name.as_str());
            super::note(notes, format!("argument `{name}` is fixed to its default, `{default}`"));
            return Some(default);
        }
        super::note(notes, "Cursor fills no places: they stay in the text as they are".to_owned());
        None
    });
    format!("{}\n", body.trim_end())
}
