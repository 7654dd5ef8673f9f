//! The arguments of `ask_form`: a flat JSON Schema as MCP's elicitation has it, one property a field.

use serde_json::{Map, Value};

use super::trigger_popup::{MAX_TEXT, common};
use crate::arguments::{ArgumentError, array, boolean, integer, number, object, string};
use adjutant_questions::{Choice, Draft, Field, Format, Input};

const SCHEMA: &str = "requestedSchema";

/// Parses a question of several fields.
pub(super) fn draft(arguments: &Map<String, Value>) -> Result<Draft, ArgumentError> {
    let schema = object(arguments, SCHEMA)?.ok_or_else(|| ArgumentError::missing(SCHEMA))?;
    let below = |error: ArgumentError| error.below(&[SCHEMA]);
    let properties = object(schema, "properties").map_err(below)?;
    let properties = properties.ok_or_else(|| ArgumentError::missing("properties").below(&[SCHEMA]))?;
    let required = array(schema, "required").map_err(below)?.map(Vec::as_slice).unwrap_or_default();
    for name in required {
        if name.as_str().is_none_or(|name| !properties.contains_key(name)) {
            return Err(wrong("required", "names an unknown property", "enum").below(&[SCHEMA]));
        }
    }
    let fields = properties.iter().map(|(name, property)| {
        let Value::Object(property) = property else {
            return Err(ArgumentError::wrong_type(name, "object").below(&[SCHEMA, "properties"]));
        };
        let required = required.iter().any(|one| one == name.as_str());
        field(name, property, required).map_err(|error| error.below(&[SCHEMA, "properties", name]))
    });
    Ok(Draft { fields: fields.collect::<Result<_, _>>()?, ..common(arguments)? })
}

fn field(name: &str, property: &Map<String, Value>, required: bool) -> Result<Field, ArgumentError> {
    let text = |member| Ok(string(property, member, false)?.unwrap_or_default().to_owned());
    let (kind, format) = (text("type")?, text("format")?);
    let size =
        |member| Ok(integer(property, member, 0)?.map(|size| usize::try_from(size).unwrap_or(usize::MAX)));
    let input = match (kind.as_str(), format.as_str()) {
        ("string", "date") => Input::Date { time: false },
        ("string", "date-time") => Input::Date { time: true },
        ("string" | "", _) => {
            if let Some(options) = choices(property)? {
                let other = boolean(property, "allow_other")?;
                Input::Choice { options, min: usize::from(required), max: 1, other, list: false }
            } else {
                let max = size("maxLength")?.unwrap_or(MAX_TEXT);
                let multiline = format.is_empty() && max > 200;
                let format = [Format::Email, Format::Uri].into_iter().find(|one| one.name() == format);
                Input::Text { multiline, min: size("minLength")?.unwrap_or(0), max, format }
            }
        }
        ("number" | "integer", _) => Input::Number {
            whole: kind == "integer",
            min: number(property, "minimum")?,
            max: number(property, "maximum")?,
        },
        ("boolean", _) => Input::YesNo,
        ("array", _) => {
            let items = object(property, "items")?.ok_or_else(|| ArgumentError::missing("items"))?;
            let options = choices(items).map_err(|error| error.below(&["items"]))?;
            let options = options.ok_or_else(|| ArgumentError::missing("enum").below(&["items"]))?;
            let max = size("maxItems")?.unwrap_or(options.len());
            let min = size("minItems")?.unwrap_or(0);
            Input::Choice { options, min, max, other: false, list: true }
        }
        _ => {
            let kinds = ["string", "number", "integer", "boolean", "array"];
            let reason = format!("must be one of {}", kinds.join(", "));
            return Err(ArgumentError::new("type", &reason, "enum", kinds.to_vec()));
        }
    };
    let (title, description) = (text("title")?, text("description")?);
    let label = if title.is_empty() { name.to_owned() } else { title };
    Ok(Field { label, description, required, ..Field::new(name, input) })
}

/// Returns the options of a property: `enum` with or without `enumNames`, or titled constants in `oneOf` or `anyOf`.
fn choices(property: &Map<String, Value>) -> Result<Option<Vec<Choice>>, ArgumentError> {
    for member in ["oneOf", "anyOf"] {
        let Some(options) = array(property, member)? else { continue };
        let option = |option: &Value| {
            let value = option.get("const")?.as_str()?;
            let title = option.get("title").and_then(Value::as_str).unwrap_or(value);
            Some(Choice { label: title.to_owned(), value: value.to_owned() })
        };
        let options: Option<Vec<Choice>> = options.iter().map(option).collect();
        return options.map(Some).ok_or_else(|| wrong(member, "needs a text `const` in each option", "type"));
    }
    let Some(values) = array(property, "enum")? else { return Ok(None) };
    let names = array(property, "enumNames")?;
    let option = |(position, value): (usize, &Value)| {
        let value = value.as_str()?;
        let name = names.and_then(|names| names.get(position)).and_then(Value::as_str).unwrap_or(value);
        Some(Choice { label: name.to_owned(), value: value.to_owned() })
    };
    let options: Option<Vec<Choice>> = values.iter().enumerate().map(option).collect();
    options.map(Some).ok_or_else(|| wrong("enum", "takes texts only", "type"))
}

fn wrong(name: &str, reason: &str, validator: &'static str) -> ArgumentError {
    ArgumentError::new(name, reason, validator, Value::Null)
}
