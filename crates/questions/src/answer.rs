//! Answers: the values of the fields of a question.

use serde::{Deserialize, Serialize};

/// One value for each field that was filled in, in the order of the question's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer(pub Vec<(String, FieldValue)>);

/// The value of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldValue {
    /// The values of the chosen options.
    Choices(Vec<String>),
    /// The user's words instead of an option, if the field allows them.
    Other(String),
    Text(String),
    Number(f64),
    Date(String),
    YesNo(bool),
    /// Replaces a secret value, which is not stored.
    Secret,
}

impl FieldValue {
    /// Returns the value as text: choices by their values.
    pub fn text(&self) -> String {
        match self {
            Self::Choices(values) => values.join(", "),
            Self::Other(text) | Self::Text(text) | Self::Date(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::YesNo(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Self::Secret => "[secret]".to_owned(),
        }
    }
}

impl Answer {
    /// Returns an answer to a question of one field.
    pub fn one(field: &str, given: FieldValue) -> Self {
        Self(vec![(field.to_owned(), given)])
    }

    /// Returns whether a value of it is missing because it was not kept.
    pub fn is_withheld(&self) -> bool {
        self.0.iter().any(|(_, given)| *given == FieldValue::Secret)
    }

    /// Returns the value of a field.
    pub fn get(&self, field: &str) -> Option<&FieldValue> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, given)| given)
    }
}
