//! Copilot prompt files of VS Code: `.github/prompts/*.prompt.md`.

use super::placeholders::{Slot, argument_of, default_text, dollars, find, respell};
use super::{Draft, Foreign, Head, native};
use crate::{Argument, Prompt};

/// Variables that the editor fills from what is open there, and nobody else can.
const EDITOR: [&str; 8] = [
    "${selection}",
    "${selectedText}",
    "${file}",
    "${fileBasename}",
    "${fileDirname}",
    "${fileBasenameNoExtension}",
    "${workspaceFolder}",
    "${workspaceFolderBasename}",
];

/// Reads `${input:name}` and `${input:name:hint}`, which Copilot asks for; the editor's own variables stay text.
pub(super) fn read(foreign: &Foreign) -> Result<Draft, String> {
    let mut head = Head::read(&foreign.text)?;
    let description = head.take("description").unwrap_or_default();
    let body = head.body.to_owned();
    let mut places = dollars(&body, |_| false);
    super::keep_known(&mut places, &mut head.notes, |slot| matches!(slot, Slot::Named(..)));
    let mut arguments: Vec<Argument> = Vec::new();
    for place in &places {
        let Slot::Named(name, hint) = &place.slot else { continue };
        let hint = hint.as_deref().unwrap_or_default();
        match arguments.iter_mut().find(|known| known.name == *name) {
            Some(known) if known.description.is_empty() => hint.clone_into(&mut known.description),
            Some(_) => {}
            None => arguments.push(Argument::text(name, hint, true)),
        }
    }
    let editor: Vec<&str> = EDITOR.into_iter().filter(|variable| body.contains(variable)).collect();
    if !editor.is_empty() {
        head.notes.push(format!("only the editor can fill {}: they stay text", editor.join(", ")));
    }
    let engine = super::engine(&places, &body);
    Ok(Draft { name: String::new(), description, arguments, engine, body, notes: head.notes() })
}

/// Writes a prompt file: every input becomes a box that the editor asks for.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    // The editor asks once for a name, so one place of it carries the hint; the author's own comes first.
    let mut hinted: Vec<String> = places
        .iter()
        .filter_map(|place| match &place.slot {
            Slot::Named(name, Some(_)) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let body = respell(&prompt.body, &places, |slot| {
        let argument = argument_of(prompt, slot);
        let name = match (slot, argument) {
            (Slot::Named(_, Some(_)), _) | (Slot::Named(..), None) => return None,
            (_, Some(argument)) => argument.name.clone(),
            (Slot::Input, None) => "input".to_owned(),
            (Slot::Position(position), None) => format!("arg{position}"),
        };
        if hinted.contains(&name) {
            return Some(format!("${{input:{name}}}"));
        }
        let mut hint = argument.map(|argument| argument.description.clone()).unwrap_or_default();
        if let Some(default) = argument.and_then(default_text).filter(|default| !default.is_empty()) {
            super::note(notes, format!("argument `{name}` has no default there; the hint names it"));
            hint = format!("{hint} ({default})");
        }
        let hint = hint.replace(['{', '}', '\n', '\r'], " ");
        let hint = hint.trim();
        hinted.push(name.clone());
        Some(if hint.is_empty() { format!("${{input:{name}}}") } else { format!("${{input:{name}:{hint}}}") })
    });
    native::document(&[("description", &prompt.description)], &body)
}
