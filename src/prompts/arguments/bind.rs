//! Matches what a caller gives with what a prompt declares.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{pairs, text_of};
use crate::prompts::{Argument, Error, Inputs, Prompt};

/// What goes into the template of a prompt.
#[derive(Debug)]
pub(in crate::prompts) struct Bound<'a> {
    /// Given and default values by argument name, in the declared type. One that is absent is empty.
    pub(in crate::prompts) values: Vec<(&'a str, Value)>,
    /// The free text: what was behind the command, less the pairs and what went to an argument.
    pub(in crate::prompts) input: Cow<'a, str>,
}

impl Bound<'_> {
    /// Returns the value of an argument.
    pub(in crate::prompts) fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Checks and completes the inputs. `input_used` says that the template has a place for free text of its own.
pub(in crate::prompts) fn bind<'a>(
    prompt: &'a Prompt,
    inputs: Inputs<'a>,
    input_used: bool,
) -> Result<Bound<'a>, Error> {
    let mut given = Given { prompt, values: Vec::new() };
    let mut input = free_text(prompt, inputs)?;
    for (name, value) in inputs.named.into_iter().flatten().filter(|(_, value)| !is_absent(value)) {
        if let Some(argument) = prompt.argument(name) {
            given.put(argument, value)?;
        }
    }
    if inputs.named.is_none_or(Map::is_empty) && !prompt.arguments.is_empty() {
        let (found, rest) = pairs(inputs.text, |key| prompt.argument(key).is_some());
        for (name, value) in found.iter().filter(|(_, value)| !value.is_empty()) {
            if let Some(argument) = prompt.argument(name) {
                given.put(argument, &Value::from(value.as_ref()))?;
            }
        }
        input = rest;
    }
    if let Some(argument) = given.taker(input_used).filter(|_| !input.trim().is_empty()) {
        given.put(argument, &Value::from(input.trim()))?;
        input = "".into();
    }
    given.complete()?;
    Ok(Bound { values: given.values, input })
}

/// Returns the text behind the command; callers that can only name values give it as `input`.
fn free_text<'a>(prompt: &Prompt, inputs: Inputs<'a>) -> Result<Cow<'a, str>, Error> {
    let mut text = Cow::Borrowed(inputs.text);
    for (name, value) in inputs.named.into_iter().flatten() {
        if prompt.argument(name).is_some() || is_absent(value) {
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
                validator_value: "string".into(),
            });
        }
        if text.is_empty() {
            text = text_of(value);
        }
    }
    Ok(text)
}

/// An empty text is what a form sends for a field that was left alone.
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
        validator_value: false.into(),
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

    fn put(&mut self, argument: &'a Argument, value: &Value) -> Result<(), Error> {
        self.values.push((&argument.name, argument.check(&self.prompt.name, value)?));
        Ok(())
    }

    /// Returns the argument that free text goes to: the one named `input`; else, if the template has no place of
    /// its own for it, the first missing one, a required one before others.
    fn taker(&self, input_used: bool) -> Option<&'a Argument> {
        if let Some(input) = self.prompt.argument("input") {
            return Some(input).filter(|input| !self.has(input));
        }
        let missing = || self.prompt.arguments.iter().filter(|argument| !self.has(argument));
        missing().find(|argument| argument.required).or_else(|| missing().next()).filter(|_| !input_used)
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
