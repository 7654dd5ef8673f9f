//! fabric patterns: a folder with `system.md`, seldom with `user.md`; `{{input}}` and `{{name}}` are filled in.

use super::placeholders::{Slot, argument_of, braces, default_text, find, respell};
use super::{Draft, Foreign};
use crate::{Argument, Engine, Prompt};

/// Reads a pattern; what `user.md` says follows the system text, as fabric sends it.
pub(super) fn read(foreign: &Foreign) -> Draft {
    let parts = [foreign.text.trim_start_matches('\u{feff}'), foreign.second.as_deref().unwrap_or_default()];
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    let body = parts.join("\n\n");
    let mut arguments: Vec<Argument> = Vec::new();
    for place in braces(&body) {
        if let Slot::Named(name, _) = place.slot
            && !arguments.iter().any(|known| known.name == name)
        {
            arguments.push(Argument::text(&name, "", true));
        }
    }
    let notes = if body.contains("{{plugin:") {
        vec!["fabric's plugins ({{plugin:…}}) stay text and are not run".to_owned()]
    } else {
        Vec::new()
    };
    Draft { name: String::new(), description: String::new(), arguments, engine: Engine::Literal, body, notes }
}

/// Writes `system.md`.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let body = respell(&prompt.body, &places, |slot| {
        let argument = argument_of(prompt, slot);
        if let Some(default) = argument.and_then(default_text) {
            let name = argument.map_or("input", |argument| argument.name.as_str());
            super::note(notes, format!("argument `{name}` has no default there: pass -v={name}:{default}"));
        }
        match (slot, argument) {
            (Slot::Input, _) => Some("{{input}}".to_owned()),
            (Slot::Position(_) | Slot::Named(..), Some(argument)) => {
                Some(format!("{{{{{}}}}}", argument.name))
            }
            (Slot::Position(position), None) => Some(format!("{{{{arg{position}}}}}")),
            (Slot::Named(name, _), None) => Some(format!("{{{{{name}}}}}")),
        }
    });
    format!("{body}\n")
}
