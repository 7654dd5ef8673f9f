//! Matches the inputs of a caller with the arguments that a prompt declares.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::declaration::ALL;
use super::{pairs, text_of, words};
use crate::{Argument, ArgumentType, Error, Inputs, Prompt};

/// `$1` to `$9`, or `$0` to `$9`.
pub(crate) const MOST_WORDS: usize = 10;

/// The values for the template of a prompt.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    /// Given and default values by argument name, in the declared type. One that is absent is empty.
    pub values: Vec<(&'a str, Value)>,
    /// The free text: the text after the command without the pairs and the words of arguments.
    pub input: Cow<'a, str>,
}

impl Bound<'_> {
    /// Returns the value of an argument.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Checks and completes the inputs.
pub(crate) fn bind<'a>(prompt: &'a Prompt, inputs: Inputs<'a>) -> Result<Bound<'a>, Error> {
    let mut given = Given { prompt, values: Vec::new() };
    let mut input = free_text(prompt, inputs)?;
    for (name, value) in inputs.named.into_iter().flatten().filter(|(_, value)| !is_absent(value)) {
        given.put_named(name, value)?;
    }
    if inputs.named.is_none_or(Map::is_empty) && prompt.takes_any() {
        let (found, rest) = pairs(inputs.text, |key| prompt.takes(key));
        for (name, value) in found.iter().filter(|(_, value)| !value.is_empty()) {
            given.put_named(name, &Value::from(value.as_ref()))?;
        }
        input = rest;
    }
    if let Some(argument) = given.taker().filter(|_| !input.trim().is_empty()) {
        given.put(argument, &Value::from(input.trim()))?;
        input = "".into();
    }
    given.number(&input)?;
    if prompt.template.names_words() && !prompt.template.places_input() {
        input = "".into();
    }
    given.complete()?;
    Ok(Bound { values: given.values, input })
}

/// Returns the text after the command. A caller that can only give named values gives it as `input`.
fn free_text<'a>(prompt: &Prompt, inputs: Inputs<'a>) -> Result<Cow<'a, str>, Error> {
    let mut text = Cow::Borrowed(inputs.text);
    for (name, value) in inputs.named.into_iter().flatten() {
        if prompt.takes(name) || is_absent(value) {
            continue;
        }
        if name != "input" {
            return Err(unknown_argument(prompt, name));
        }
        if value.is_array() || value.is_object() {
            return Err(Error::Argument {
                message: format!("argument `input` of prompt `{}` must be a string", prompt.name),
                path: vec!["input".to_owned()],
                validator: "type",
                validator_value: Box::new("string".into()),
            });
        }
        if text.is_empty() {
            text = text_of(value);
        }
    }
    Ok(text)
}

/// Returns whether a value counts as not given. A form sends an empty text for a field that the user left empty.
fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}

fn unknown_argument(prompt: &Prompt, name: &str) -> Error {
    let name = super::clipped(name);
    let known: Vec<_> = prompt.arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
    let takes = if known.is_empty() { "`input`".to_owned() } else { known.join(", ") };
    Error::Argument {
        message: format!("prompt `{}` has no argument `{name}`; it takes {takes}", prompt.name),
        path: vec![name],
        validator: "additionalProperties",
        validator_value: Box::new(false.into()),
    }
}

impl Prompt {
    fn takes_any(&self) -> bool {
        !self.arguments.is_empty() || self.open_names().next().is_some()
    }

    /// Returns whether the prompt takes a value of this name, declared or not.
    fn takes(&self, name: &str) -> bool {
        self.argument(name).is_some() || self.open_name(name).is_some()
    }

    fn open_name(&self, name: &str) -> Option<&str> {
        self.open_names().find(|open| *open == name)
    }

    /// Returns the names that the body uses although they are not declared: `$TICKET` of an imported file, a variable
    /// of a Jinja template. The free text is not among them.
    fn open_names(&self) -> impl Iterator<Item = &str> {
        self.template
            .names()
            .iter()
            .map(String::as_str)
            .filter(|name| *name != "input" && !name.starts_with('$'))
    }
}

impl Prompt {
    /// Returns the arguments for `$1` and so on, in order: all of them if the body has the `$name` of one, because
    /// Claude maps names to positions; else, if the body has numbers, those that it does not place by name.
    pub fn numbered(&self) -> impl Iterator<Item = &Argument> {
        let names = self.template.names();
        let has_numbers = names.iter().any(|name| name.starts_with('$') && name != ALL);
        let by_word = self.template.names_words();
        let is_numbered = move |name: &String| by_word || has_numbers && !names.contains(name);
        self.arguments.iter().filter(move |argument| argument.name != "input" && is_numbered(&argument.name))
    }
}

struct Given<'a> {
    prompt: &'a Prompt,
    values: Vec<(&'a str, Value)>,
}

impl<'a> Given<'a> {
    fn has(&self, argument: &Argument) -> bool {
        self.values.iter().any(|(name, _)| *name == argument.name)
    }

    fn put_named(&mut self, name: &str, value: &Value) -> Result<(), Error> {
        if let Some(argument) = self.prompt.argument(name) {
            return self.put(argument, value);
        }
        if let Some(open) = self.prompt.open_name(name) {
            self.values.push((open, value.clone()));
        }
        Ok(())
    }

    fn put(&mut self, argument: &'a Argument, value: &Value) -> Result<(), Error> {
        self.values.push((&argument.name, argument.check(&self.prompt.name, value)?));
        Ok(())
    }

    /// Returns the argument that free text goes to: the one named `input`; else, if the template has no place of
    /// its own for it, the first missing one: a required one before others, one that takes any text before
    /// numbers and choices.
    fn taker(&self) -> Option<&'a Argument> {
        if let Some(input) = self.prompt.argument("input") {
            return Some(input).filter(|input| !self.has(input));
        }
        if self.prompt.template.places_input() || self.prompt.template.names_words() {
            return None;
        }
        let missing = || self.prompt.arguments.iter().filter(|argument| !self.has(argument));
        missing()
            .find(|argument| argument.required)
            .or_else(|| {
                missing()
                    .find(|argument| argument.kind == ArgumentType::String && argument.choices.is_empty())
            })
            .or_else(|| missing().next())
    }

    /// Gives the words of the text to the arguments of `$1` and so on, those that were not named.
    fn number(&mut self, input: &str) -> Result<(), Error> {
        // Cutting a long text into words costs more than the whole rest of an expansion.
        if self.prompt.numbered().next().is_none() {
            return Ok(());
        }
        let count = MOST_WORDS.max(self.prompt.arguments.len());
        let mut rest = words(input, count).into_iter();
        for argument in self.prompt.numbered() {
            if !self.has(argument)
                && let Some(word) = rest.next()
            {
                self.put(argument, &Value::from(word))?;
            }
        }
        Ok(())
    }

    fn complete(&mut self) -> Result<(), Error> {
        for argument in &self.prompt.arguments {
            if self.has(argument) {
                continue;
            }
            match &argument.default {
                Some(default) => self.values.push((&argument.name, default.clone())),
                None if argument.required => return Err(argument.missing(&self.prompt.name)),
                None => {}
            }
        }
        Ok(())
    }
}
