//! Commands of Gemini CLI: `.gemini/commands/**/*.toml` with a `prompt` and a `description`.

use serde::{Deserialize, Serialize};

use super::placeholders::{Slot, argument_of, braces, default_text, find, respell};
use super::{Draft, Foreign};
use crate::{Argument, Engine, Prompt};

/// The content of a file.
#[derive(Deserialize, Serialize)]
pub(super) struct Command {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    prompt: String,
}

/// Parses a file. The error is a sentence fragment.
pub(super) fn command(text: &str) -> Result<Command, String> {
    toml::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("it is not a Gemini command: {}", error.message()))
}

/// Reads a command. `{{args}}` is its only place; without one, the text follows the prompt.
pub(super) fn read(foreign: &Foreign) -> Result<Draft, String> {
    let command = command(&foreign.text)?;
    let body = command.prompt.trim().to_owned();
    let description = command.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut arguments = Vec::new();
    let mut notes = Vec::new();
    for place in braces(&body) {
        match place.slot {
            Slot::Named(name, _) if name == "args" && arguments.is_empty() => {
                arguments.push(Argument::text("args", "", false));
            }
            Slot::Input => {
                super::note(&mut notes, "its `{{input}}`, text for Gemini, takes the input here".to_owned());
            }
            Slot::Named(..) | Slot::Position(_) => {}
        }
    }
    if body.contains("!{") {
        notes.push("shell commands (!{…}) stay text and are not run".to_owned());
    }
    if body.contains("@{") {
        notes.push("references to files (@{…}) stay text".to_owned());
    }
    Ok(Draft { name: String::new(), description, arguments, engine: Engine::Literal, body, notes })
}

/// Writes a command. All that is typed goes to one place.
pub(super) fn write(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let body = respell(&prompt.body, &places, |slot| match (slot, argument_of(prompt, slot)) {
        (Slot::Input, _) => Some("{{args}}".to_owned()),
        (Slot::Named(name, _), _) if name == "args" => Some("{{args}}".to_owned()),
        (_, argument) => {
            if let Some((argument, default)) = argument.and_then(|found| Some((found, default_text(found)?)))
            {
                super::note(
                    notes,
                    format!("argument `{}` is fixed to its default, `{default}`", argument.name),
                );
                return Some(default);
            }
            super::note(notes, "Gemini has one place: the others stay in the text as they are".to_owned());
            None
        }
    });
    let command = Command { description: prompt.description.clone(), prompt: body + "\n" };
    toml::to_string(&command).unwrap_or_default()
}
