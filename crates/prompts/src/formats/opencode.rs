//! Commands of opencode, which are read as those of Claude are.

use super::native;
use super::placeholders::{Slot, argument_of, default_text, find, respell};
use crate::Prompt;

/// Writes a command with `$ARGUMENTS` and `$1` to `$9`; opencode has no names for arguments.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let is_numbered = places.iter().any(|place| matches!(place.slot, Slot::Position(_)));
    let mut positions: Vec<String> = Vec::new();
    let body = respell(&prompt.body, &places, |slot| match slot {
        Slot::Input => Some("$ARGUMENTS".to_owned()),
        Slot::Position(position) => Some(format!("${position}")),
        Slot::Named(name, _) => {
            let argument = argument_of(prompt, slot)?;
            if let Some(default) = default_text(argument) {
                super::note(notes, format!("argument `{name}` is fixed to its default, `{default}`"));
                return Some(default);
            }
            if is_numbered {
                super::note(
                    notes,
                    format!("argument `{name}` stays in the text: the words are numbered there"),
                );
                return None;
            }
            if !positions.contains(name) {
                positions.push(name.clone());
            }
            let position = positions.iter().position(|known| known == name)? + 1;
            super::note(notes, format!("argument `{name}` is word {position} there"));
            Some(format!("${position}"))
        }
    });
    native::document(&[("description", &prompt.description)], &body)
}
