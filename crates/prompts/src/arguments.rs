//! Arguments of a prompt: their declarations, and the check of given values.

pub(super) mod bind;
pub(super) mod declaration;
mod tokenize;

pub(super) use tokenize::{pairs, words};

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{Argument, ArgumentType, Error};
use adjutant_base::text::clip;

/// Maximum characters of a caller's value in an error.
const MAX_SHOWN_CHARS: usize = 60;

impl ArgumentType {
    /// Converts a value to this type; `None` if it does not fit. A text is parsed (`"3"` is an integer), because the
    /// Model Context Protocol carries all values of a prompt as strings.
    fn coerce(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_)) => Some(value.clone()),
            (Self::String, Value::Number(_) | Value::Bool(_)) => Some(Value::from(value.to_string())),
            (Self::Integer, Value::Number(number)) => integer(number).map(Value::from),
            (Self::Integer, Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
            (Self::Number, Value::String(text)) => {
                text.trim().parse().ok().and_then(Number::from_f64).map(Value::from)
            }
            (Self::Boolean, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(Value::from(true)),
                "false" | "no" | "off" | "0" => Some(Value::from(false)),
                _ => None,
            },
            _ => None,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the value has no fraction and lies within what f64 counts exactly"
)]
fn integer(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number
        .as_i64()
        .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT).map(|n| n as i64))
}

impl Argument {
    /// Returns a string argument without a default.
    pub(crate) fn text(name: &str, description: &str, required: bool) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            kind: ArgumentType::String,
            required,
            default: None,
            choices: Vec::new(),
            pattern: None,
        }
    }

    /// Checks a given value and returns it in the declared type.
    pub(super) fn check(&self, prompt: &str, value: &Value) -> Result<Value, Error> {
        let shown = clipped(&text_of(value));
        let fitting = self.kind.coerce(value).ok_or_else(|| {
            let wanted = self.kind.name();
            let article = if self.kind == ArgumentType::Integer { "an" } else { "a" };
            self.error(prompt, &format!("must be {article} {wanted}, not `{shown}`"), "type", wanted.into())
        })?;
        if !self.choices.is_empty() && !self.choices.contains(&fitting) {
            let choices: Vec<_> =
                self.choices.iter().map(|choice| format!("`{}`", text_of(choice))).collect();
            let message = format!("must be one of {}, not `{shown}`", choices.join(", "));
            return Err(self.error(prompt, &message, "enum", self.choices.clone().into()));
        }
        if let (Some(pattern), Value::String(text)) = (&self.pattern, &fitting)
            && !matches(pattern, text)
        {
            let message = format!("must match `{pattern}`, which `{shown}` does not");
            return Err(self.error(prompt, &message, "pattern", pattern.as_str().into()));
        }
        Ok(fitting)
    }

    /// Returns the error for a required argument that was not given.
    pub(super) fn missing(&self, prompt: &str) -> Error {
        self.error(prompt, "is required", "required", Value::Null)
    }

    fn error(
        &self,
        prompt: &str,
        requirement: &str,
        validator: &'static str,
        validator_value: Value,
    ) -> Error {
        Error::Argument {
            message: format!("argument `{}` of prompt `{prompt}` {requirement}", self.name),
            path: vec![self.name.clone()],
            validator,
            validator_value: Box::new(validator_value),
        }
    }
}

/// Returns a validator for a JSON Schema `pattern`; the error is the reason why the pattern is not valid. The time of a
/// match is linear in the length of the text, whatever the pattern.
fn pattern(pattern: &str) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(&serde_json::json!({ "pattern": pattern }))
        .map_err(|error| error.to_string())
}

fn matches(text_pattern: &str, text: &str) -> bool {
    pattern(text_pattern).is_ok_and(|checker| checker.is_valid(&Value::from(text)))
}

/// Returns a value as it is put into a prompt: text without quotes, the rest as JSON.
pub(super) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// Returns a text short enough for an error message, without control characters.
pub(super) fn clipped(text: &str) -> String {
    clip::chars(text, MAX_SHOWN_CHARS).replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::clipped;
    use crate::{Argument, ArgumentType, Error};
    use serde_json::{Value, json};

    fn argument(kind: ArgumentType) -> Argument {
        Argument {
            name: "a".to_owned(),
            description: String::new(),
            kind,
            required: false,
            default: None,
            choices: Vec::new(),
            pattern: None,
        }
    }

    fn fault(result: Result<Value, Error>) -> (&'static str, Value) {
        match result {
            Err(Error::Argument { validator, validator_value, path, .. }) => {
                assert_eq!(path, ["a"]);
                (validator, *validator_value)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_strings_as_the_declared_type() {
        use ArgumentType::{Boolean, Integer, Number, String};
        for (kind, given, expected) in [
            (Integer, json!("3"), json!(3)),
            (Integer, json!(3.0), json!(3)),
            (Integer, json!(" -3 "), json!(-3)),
            (Number, json!("2.5"), json!(2.5)),
            (Boolean, json!("Yes"), json!(true)),
            (Boolean, json!(false), json!(false)),
            (String, json!(3), json!("3")),
            (String, json!("é"), json!("é")),
        ] {
            assert_eq!(argument(kind).check("p", &given).unwrap(), expected);
        }
        for (kind, given) in [
            (Integer, json!("3.5")),
            (Integer, json!(1e300)),
            (Integer, json!("99999999999999999999")),
            (Number, json!("NaN")),
            (Boolean, json!("maybe")),
            (String, json!(["a"])),
            (String, json!({})),
        ] {
            assert_eq!(fault(argument(kind).check("p", &given)), ("type", json!(kind.name())));
        }
    }

    #[test]
    fn checks_choices_and_patterns() {
        let mut tone = argument(ArgumentType::String);
        tone.choices = vec![json!("dry"), json!("warm")];
        assert!(tone.check("p", &json!("dry")).is_ok());
        assert_eq!(fault(tone.check("p", &json!("loud"))), ("enum", json!(["dry", "warm"])));
        let mut ticket = argument(ArgumentType::String);
        ticket.pattern = Some("^[A-Z]+-[0-9]+$".to_owned());
        assert!(ticket.check("p", &json!("AB-1")).is_ok());
        assert_eq!(fault(ticket.check("p", &json!("x"))), ("pattern", json!("^[A-Z]+-[0-9]+$")));
    }

    #[test]
    fn clips_what_it_repeats() {
        assert_eq!(clipped("a\u{0}b\n"), "a\u{fffd}b\u{fffd}");
        assert_eq!(clipped(&"x".repeat(1 << 20)).chars().count(), 61);
    }
}
