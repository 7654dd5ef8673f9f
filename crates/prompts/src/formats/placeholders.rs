//! The places of a body where inputs go, in the two spellings that our engines know.

use std::ops::Range;

use serde_json::Value;

use crate::arguments::declaration::is_name;
use crate::{Argument, Engine, Prompt};

/// Bytes between the braces of `${input:…}`; a longer one is text.
const MAX_PLACEHOLDER_BYTES: usize = 400;

/// The value of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// All the text after the command: `{{input}}`, `$ARGUMENTS`.
    Input,
    /// The n-th word of it, from 1: `$1`; `$0` where the body counts from zero, and `$ARGUMENTS[0]`.
    Position(usize),
    /// A named value, with the hint that `${input:name:hint}` and `${input:name|choice|choice}` carry: `{{topic}}`,
    /// `${input:topic}`, `$TOPIC`.
    Named(String, Option<String>),
}

/// A slot and its position in the body, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub at: Range<usize>,
    pub slot: Slot,
}

/// Returns the places of a body in the spelling of `engine`, in order. Jinja has none that can be seen from outside.
pub fn find(engine: Engine, body: &str, arguments: &[Argument]) -> Vec<Place> {
    let declared = |name: &str| arguments.iter().any(|argument| argument.name == name);
    match engine {
        Engine::Literal => {
            let mut places = braces(body);
            places.retain(|place| !matches!(&place.slot, Slot::Named(name, _) if !declared(name)));
            places
        }
        Engine::Args => dollars(body, declared),
        Engine::Jinja => Vec::new(),
    }
}

/// Finds `{{input}}` and `{{name}}`, without blanks inside, as the contract spells it.
pub(crate) fn braces(body: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(start) = body[from..].find("{{").map(|offset| from + offset) {
        let inside = &body[start + 2..];
        let length = word_length(inside);
        if length > 0 && inside[length..].starts_with("}}") {
            let name = &inside[..length];
            let slot = if name == "input" { Slot::Input } else { Slot::Named(name.to_owned(), None) };
            places.push(Place { at: start..start + 2 + length + 2, slot });
            from = start + 2 + length + 2;
        } else {
            from = start + 1;
        }
    }
    places
}

/// Returns the number of the first word in a body: 0 if it has a `$0` or `$ARGUMENTS[0]`, as Claude Code counts today
/// (<https://code.claude.com/docs/en/skills>, "Available string substitutions"), else 1, as older versions did.
pub(crate) fn first_number(body: &str) -> usize {
    let counts_from_zero = body.match_indices('$').any(|(at, _)| {
        let rest = &body[at + 1..];
        let is_zero = rest.strip_prefix('0').is_some_and(|rest| {
            let is_word = rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
            !is_word && !is_price(rest)
        });
        let is_index = rest.strip_prefix("ARGUMENTS").is_some_and(|rest| index(rest).is_some());
        (is_zero || is_index) && !is_escaped(body, at) && !body[..at].ends_with('$')
    });
    usize::from(!counts_from_zero)
}

/// Returns whether a number after `$` is an amount of money, by what follows it: `$0.50`, `$0/mo`.
fn is_price(rest: &str) -> bool {
    const UNITS: [&str; 11] = ["mo", "month", "yr", "year", "hr", "hour", "h", "day", "week", "user", "seat"];
    let unit = rest.strip_prefix('/').map(|unit| &unit[..word_length(unit)]);
    let is_fraction =
        rest.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_fraction || unit.is_some_and(|unit| UNITS.contains(&unit))
}

/// Returns the number of an index such as `[0]` at the beginning of `rest`.
fn index(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?.split(']').next()?;
    inside.parse().ok().filter(|_| inside.len() == 1 && rest[2..].starts_with(']'))
}

/// Finds `$ARGUMENTS`, `$1` to `$9`, `$ARGUMENTS[0]`, `${input:name}` with a hint or choices, and `$KEY` where `known` says so.
pub fn dollars(body: &str, known: impl Fn(&str) -> bool) -> Vec<Place> {
    let first = first_number(body);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(start) = body[from..].find('$').map(|offset| from + offset) {
        let rest = &body[start + 1..];
        match dollar(rest, first, &known) {
            // `$$` is the number of a process in shells, and no place begins within it.
            _ if rest.starts_with('$') => from = start + 2,
            Some((slot, length)) => {
                from = start + 1 + length;
                if !is_escaped(body, start) {
                    places.push(Place { at: start..from, slot });
                }
            }
            None => from = start + 1,
        }
    }
    places
}

/// Returns whether exactly one backslash precedes a `$`. More of them stay in the text, and the place counts.
pub(crate) fn is_escaped(body: &str, dollar: usize) -> bool {
    let before = &body.as_bytes()[..dollar];
    before.ends_with(b"\\") && !before.ends_with(b"\\\\")
}

/// Returns the slot at the beginning of `rest`, which follows a `$`, and its length. `first` is the number of the first word.
pub(crate) fn dollar(rest: &str, first: usize, known: impl Fn(&str) -> bool) -> Option<(Slot, usize)> {
    if let Some(inside) = rest.strip_prefix("{input:") {
        let end = inside.bytes().take(MAX_PLACEHOLDER_BYTES).position(|byte| matches!(byte, b'}' | b'\n'))?;
        let whole = inside[..end].trim();
        let (name, rest) = whole.split_at(whole.find([':', '|']).unwrap_or(whole.len()));
        let closed = inside.as_bytes()[end] == b'}' && is_name(name);
        let hint = match rest.strip_prefix('|') {
            Some(choices) => {
                let choices: Vec<&str> = choices.split(['|', ',']).map(str::trim).collect();
                format!("one of {}", choices.join(", "))
            }
            None => rest.trim_start_matches(':').trim().to_owned(),
        };
        let hint = Some(hint).filter(|hint| !hint.is_empty());
        return closed.then(|| (Slot::Named(name.to_owned(), hint), "{input:".len() + end + 1));
    }
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    // A name of Claude may have a hyphen.
    let longest = &rest[..word_length(rest)];
    if longest.len() > length && known(longest) {
        return Some((Slot::Named(longest.to_owned(), None), longest.len()));
    }
    let slot = match &rest[..length] {
        "ARGUMENTS" => match index(&rest[length..]) {
            Some(number) => return Some((Slot::Position(number + 1), length + "[0]".len())),
            None => Slot::Input,
        },
        word if word.len() == 1 && word.parse().is_ok_and(|number: usize| number >= first) => {
            if first == 0 && word == "0" && is_price(&rest[length..]) {
                return None;
            }
            Slot::Position(word.parse::<usize>().ok()? + 1 - first)
        }
        word if known(word) => Slot::Named(word.to_owned(), None),
        _ => return None,
    };
    Some((slot, length))
}

/// Returns how many bytes of the beginning may be an argument's name.
fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count()
}

/// Returns the body with every place replaced by the text of `spell`. A place for which it returns `None` stays.
pub(crate) fn respell(
    body: &str,
    places: &[Place],
    mut spell: impl FnMut(&Slot) -> Option<String>,
) -> String {
    let mut text = String::with_capacity(body.len());
    let mut from = 0;
    for place in places {
        text.push_str(&body[from..place.at.start]);
        match spell(&place.slot) {
            Some(spelled) => text.push_str(&spelled),
            None => text.push_str(&body[place.at.clone()]),
        }
        from = place.at.end;
    }
    text.push_str(&body[from..]);
    text
}

/// Returns the declared argument that fills a slot, if there is one.
pub(crate) fn argument_of<'a>(prompt: &'a Prompt, slot: &Slot) -> Option<&'a Argument> {
    match slot {
        Slot::Input => prompt.arguments.iter().find(|argument| argument.name == "input"),
        Slot::Position(position) => prompt.numbered().nth(position - 1),
        Slot::Named(name, _) => prompt.arguments.iter().find(|argument| argument.name == *name),
    }
}

/// Returns a default as text.
pub fn default_text(argument: &Argument) -> Option<String> {
    argument.default.as_ref().map(value_text)
}

/// Returns a value as people write it: text without quotes, the rest as JSON.
pub fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
