//! Claude Code: commands, and the skills that replaced them.

use super::placeholders::{Slot, argument_of, default_text, dollars, find, respell};
use super::{Draft, Foreign, Head, argument, own};
use crate::prompts::{Argument, Engine, Prompt};

/// Reads a command: `$ARGUMENTS`, `$1`, and `argument-hint` for the names of the positions.
pub(super) fn read_command(foreign: &Foreign) -> Result<Draft, String> {
    Ok(read(Head::read(&foreign.text)?))
}

/// Reads a skill, which is a command whose folder carries its name.
pub(super) fn read_skill(foreign: &Foreign) -> Result<Draft, String> {
    let mut head = Head::read(&foreign.text)?;
    match head.take("name") {
        Some(name) if name != foreign.name => {
            head.notes.push(format!(
                "the name in its front matter, `{name}`, differs from its folder's and is left out"
            ));
        }
        _ => {}
    }
    Ok(read(head))
}

fn read(mut head: Head<'_>) -> Draft {
    let description = head.take("description").unwrap_or_default();
    let hint = head.take("argument-hint");
    let named = head.take("arguments").map(|names| hint_names(&names)).unwrap_or_default();
    let body = head.body.to_owned();
    let places = dollars(&body, |word| named.iter().any(|name| name == word));
    let highest =
        places.iter().map(|place| if let Slot::Position(position) = place.slot { position } else { 0 }).max();
    let highest = highest.unwrap_or(0);
    let arguments = if named.is_empty() {
        let names = hint.as_deref().map(hint_names).unwrap_or_default();
        if highest == 0
            && let Some(hint) = &hint
        {
            head.notes.push(format!(
                "argument-hint `{hint}` is left out: no `$1` in the text takes such an argument"
            ));
        }
        positional(&names, highest)
    } else {
        named.iter().map(|name| argument(name, "", false)).collect()
    };
    if body.contains("!`") {
        head.notes.push("shell commands (!`…`) stay text and are not run".to_owned());
    }
    let engine = super::engine(&places, &body);
    Draft { name: String::new(), description, arguments, engine, body, notes: head.notes() }
}

/// Returns one argument for each position, named by the hint where it names enough.
fn positional(names: &[String], highest: usize) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    for position in 1..=highest {
        let name = names.get(position - 1).filter(|name| !arguments.iter().any(|known| known.name == **name));
        let name = name.cloned().unwrap_or_else(|| format!("arg{position}"));
        arguments.push(argument(&name, "", false));
    }
    arguments
}

/// Returns the words of `[app-name] [environment]`, `<topic>` or `topic, depth` as argument names.
fn hint_names(hint: &str) -> Vec<String> {
    let words = hint.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    words
        .map(|word| word.trim_matches('-'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect()
}

/// Writes a command.
pub(super) fn write_command(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let body = body(prompt, notes);
    own::document(&[("description", &prompt.description), ("argument-hint", &hint(prompt))], &body)
}

/// Writes a skill called `name`.
pub(super) fn write_skill(prompt: &Prompt, name: &str, notes: &mut Vec<String>) -> String {
    let body = body(prompt, notes);
    let fields = [("name", name), ("description", &prompt.description), ("argument-hint", &hint(prompt))];
    own::document(&fields, &body)
}

/// Spells the body with `$ARGUMENTS` and `$1`, all that Claude knows.
fn body(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    if prompt.engine == Engine::Literal && !dollars(&prompt.body, |_| false).is_empty() {
        notes.push("the text has a `$` that Claude takes for an argument".to_owned());
    }
    let has_input = places.iter().any(|place| place.slot == Slot::Input);
    respell(&prompt.body, &places, |slot| match slot {
        Slot::Input => Some("$ARGUMENTS".to_owned()),
        Slot::Position(position) => Some(format!("${position}")),
        Slot::Named(name, _) => {
            let argument = argument_of(prompt, slot)?;
            // `$1` would be the first word of `$ARGUMENTS`: beside it a default reads better than that.
            if has_input && let Some(default) = default_text(argument) {
                super::note(notes, format!("argument `{name}` is fixed to its default, `{default}`"));
                return Some(default);
            }
            let position = prompt
                .arguments
                .iter()
                .filter(|known| known.name != "input")
                .position(|known| known.name == *name)?
                + 1;
            super::note(notes, format!("argument `{name}` is `${position}` there, by position"));
            Some(format!("${position}"))
        }
    })
}

/// Returns the `argument-hint` that names what the body takes by position.
fn hint(prompt: &Prompt) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let has_input = places.iter().any(|place| place.slot == Slot::Input);
    let named = |argument: &&Argument| {
        argument.name != "input"
            && !(prompt.engine == Engine::Literal && has_input && argument.default.is_some())
    };
    let generic = prompt
        .arguments
        .iter()
        .enumerate()
        .all(|(index, argument)| argument.name == format!("arg{}", index + 1));
    if generic {
        return String::new();
    }
    let words = prompt.arguments.iter().filter(named).map(|argument| format!("[{}]", argument.name));
    words.collect::<Vec<_>>().join(" ")
}
