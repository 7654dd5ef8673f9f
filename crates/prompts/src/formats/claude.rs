//! Claude Code: commands, and the skills that replaced them.

use super::placeholders::{Slot, argument_of, default_text, dollars, find, first_number, respell};
use super::{Draft, Foreign, Head, argument_hint, native};
use crate::{Argument, Engine, Prompt};

/// Reads a command: `$ARGUMENTS`, `$1`, and `argument-hint` for the names of the positions. A quoted argument is one word,
/// a position without a word stays in the text, and `\$1` is text (<https://code.claude.com/docs/en/skills>, "Available
/// string substitutions").
pub(super) fn read_command(foreign: &Foreign) -> Result<Draft, String> {
    let mut draft = read_opencode(foreign)?;
    note_first_number(&mut draft);
    Ok(draft)
}

/// Reads a command of opencode, which has the same places and counts words from one.
pub(super) fn read_opencode(foreign: &Foreign) -> Result<Draft, String> {
    Ok(read(Head::read(&foreign.text)?))
}

/// Adds a note to a body with `$1` and without `$0`: Claude Code counts words from zero, and older versions from one.
fn note_first_number(draft: &mut Draft) {
    let is_number = |slot: &Slot| matches!(slot, Slot::Position(_));
    let places = find(draft.engine, &draft.body, &draft.arguments);
    if first_number(&draft.body) == 1 && places.iter().any(|place| is_number(&place.slot)) {
        let note =
            "`$1` is the first word here; in Claude Code it is the second, because `$0` is the first there";
        draft.notes.push(note.to_owned());
    }
}

/// Reads a skill: a command that has the name of its folder.
pub(super) fn read_skill(foreign: &Foreign) -> Result<Draft, String> {
    let mut head = Head::read(&foreign.text)?;
    match head.take("name") {
        Some(name) if Some(name.as_str()) != foreign.name.rsplit('/').next() => {
            head.notes.push(format!(
                "the name in its front matter, `{name}`, differs from its folder's and is left out"
            ));
        }
        _ => {}
    }
    let mut draft = read(head);
    note_first_number(&mut draft);
    Ok(draft)
}

fn read(mut head: Head<'_>) -> Draft {
    let description = head.take("description").unwrap_or_default();
    let hint = head.take("argument-hint");
    let declared = head.take("arguments").unwrap_or_default();
    let declared: Vec<String> = declared
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')))
        .filter(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect();
    let body = head.body.to_owned();
    let mut places = dollars(&body, |word| declared.iter().any(|name| name == word));
    super::keep_known(&mut places, &mut head.notes, |slot| match slot {
        Slot::Input | Slot::Position(_) => true,
        Slot::Named(name, _) => declared.contains(name),
    });
    let highest =
        places.iter().map(|place| if let Slot::Position(number) = place.slot { number } else { 0 }).max();
    let highest = highest.unwrap_or(0);
    let count = if declared.is_empty() { highest } else { declared.len() };
    let arguments = argument_hint::read(hint.as_deref(), count, &declared);
    if body.contains("!`") {
        head.notes.push("shell commands (!`…`) stay text and are not run".to_owned());
    }
    if body
        .split_whitespace()
        .any(|word| word.len() > 2 && word.starts_with('@') && word.contains(['/', '.']))
    {
        head.notes.push("references to files (@…) stay text".to_owned());
    }
    let engine = super::engine(&places, &body);
    Draft { name: String::new(), description, arguments, engine, body, notes: head.notes() }
}

/// Writes a command.
pub(super) fn write_command(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let body = body(prompt, notes);
    let fields = [
        ("description", prompt.description.as_str()),
        ("argument-hint", &hint(prompt)),
        ("arguments", &names(prompt)),
    ];
    native::document(&fields, &body)
}

/// Writes a skill called `name`.
pub(super) fn write_skill(prompt: &Prompt, name: &str, notes: &mut Vec<String>) -> String {
    let body = body(prompt, notes);
    let fields = [
        ("name", name),
        ("description", &prompt.description),
        ("argument-hint", &hint(prompt)),
        ("arguments", &names(prompt)),
    ];
    native::document(&fields, &body)
}

/// Spells the body with `$ARGUMENTS` and `$name`. Numbers that count from zero stay; others become `$ARGUMENTS[0]`.
fn body(prompt: &Prompt, notes: &mut Vec<String>) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    if prompt.engine == Engine::Literal && !dollars(&prompt.body, |_| false).is_empty() {
        notes.push("the text has a `$` that Claude takes for an argument".to_owned());
    }
    let taken = taken(prompt);
    respell(&prompt.body, &places, |slot| match slot {
        Slot::Input => Some("$ARGUMENTS".to_owned()),
        Slot::Position(_) if first_number(&prompt.body) == 0 => None,
        Slot::Position(number) => {
            let index = number - 1;
            super::note(
                notes,
                format!("`${number}` is `$ARGUMENTS[{index}]` there, where words count from zero"),
            );
            Some(format!("$ARGUMENTS[{index}]"))
        }
        Slot::Named(name, _) => {
            let argument = argument_of(prompt, slot)?;
            if taken.iter().any(|known| known.name == *name) {
                let spelled = spelled(name);
                if spelled != *name {
                    super::note(notes, format!("argument `{name}` is called `{spelled}` there"));
                }
                return Some(format!("${spelled}"));
            }
            let default = default_text(argument)?;
            super::note(notes, format!("argument `{name}` is fixed to its default, `{default}`"));
            Some(default)
        }
    })
}

/// Returns a name in the form that may follow a `$`.
fn spelled(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns the arguments that Claude takes, in the order of the words typed.
fn taken(prompt: &Prompt) -> Vec<&Argument> {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    // The first words are part of `$ARGUMENTS` too, so that a default reads better next to it.
    let has_input = places.iter().any(|place| place.slot == Slot::Input);
    let is_fixed =
        |argument: &Argument| has_input && prompt.engine == Engine::Literal && argument.default.is_some();
    prompt.arguments.iter().filter(|argument| argument.name != "input" && !is_fixed(argument)).collect()
}

/// Returns the `arguments` field: the names that the body uses as `$name`.
fn names(prompt: &Prompt) -> String {
    let places = find(prompt.engine, &prompt.body, &prompt.arguments);
    let has = |is: fn(&Slot) -> bool| places.iter().any(|place| is(&place.slot));
    if has(|slot| matches!(slot, Slot::Position(_))) && !has(|slot| matches!(slot, Slot::Named(..))) {
        return String::new();
    }
    let is_placed = |argument: &Argument| {
        places.iter().any(|place| matches!(&place.slot, Slot::Named(name, _) if *name == argument.name))
    };
    let name = |argument: &Argument| {
        if is_placed(argument) { spelled(&argument.name) } else { argument.name.clone() }
    };
    taken(prompt).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Returns the `argument-hint`, which people see, and which names what the body takes by number.
fn hint(prompt: &Prompt) -> String {
    argument_hint::write(&taken(prompt), prompt.argument("input"))
}
