//! Finding a prompt in a catalogue by what a caller wrote.

use std::sync::Arc;

use crate::prompts::{ArgumentType, Catalogue, Error, Prompt};

impl Catalogue {
    /// Returns the prompt of that name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name).or_else(|| self.prompts.get(self.aliases.get(name)?))
    }

    /// Returns why there is no prompt of a name: its file is faulty, or there is none.
    pub(crate) fn missing(&self, name: &str) -> Error {
        super::expand::missing(self, name)
    }
}

impl Prompt {
    /// Whether the front matter declares an argument of that name.
    pub(crate) fn declares(&self, argument: &str) -> bool {
        self.arguments.iter().any(|declared| declared.name == argument)
    }
}

impl ArgumentType {
    /// The JSON Schema name of the type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}
