//! A question as a form or a link in the client (MCP's elicitation), and the meaning of the client's reply.

use serde_json::{Map, Value, json};

use super::result::number;
use super::trigger_popup::MAX_TEXT;
use crate::protocol_version::Revision;
use adjutant_base::text::escape_invisible;
use adjutant_questions::{Answer, Choice, Field, FieldValue, Input, Question};

/// The choice of a form without required fields, because accepting an empty form is not consent.
const CONFIRM: &str = "adjutant_confirm";

/// The option for the user's own text, which has a separate line below the choice.
const OTHER: &str = "adjutant_other";

/// The meaning of a client's reply.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// The domain checks the answer. Text next to a chosen option is a note.
    Answer(Answer, Option<String>),
    Declined,
    /// Accepted without the required choice, or with a value of the wrong type.
    Unfit,
    /// No decision: the form was closed, or never shown.
    Closed,
}

/// Returns the params of `elicitation/create`; `None` if the revision's forms cannot express the question. No field is
/// prefilled. `again` is for a form that came back without an answer.
pub(super) fn params(question: &Question, revision: Revision, again: bool) -> Option<Value> {
    let titled = revision >= Revision::V2025_11_25;
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &question.fields {
        if field.name == CONFIRM {
            return None;
        }
        properties.insert(field.name.clone(), property(field, titled)?);
        if takes_other(field) {
            let text = json!({"type": "string", "title": "Something else", "maxLength": MAX_TEXT});
            properties.insert(other_name(question, field), text);
        }
        if field.required {
            required.push(field.name.as_str());
        }
    }
    if required.is_empty() {
        let send = Choice { label: "Send these answers".to_owned(), value: "send".to_owned() };
        let decline = Choice { label: "Decline".to_owned(), value: "decline".to_owned() };
        let mut confirm = choice(&[send, decline], titled);
        confirm["title"] = Value::from("Send?");
        properties.insert(CONFIRM.to_owned(), confirm);
        required.push(CONFIRM);
    }
    let mut message = message_text(question);
    if again {
        message = format!("The form was returned without a valid answer.\n\n{message}");
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let mut params = json!({"message": message, "requestedSchema": schema});
    if titled {
        params["mode"] = Value::from("form");
    }
    Some(params)
}

/// Returns the params that show the question's page on the console at `console`. The address has no login: a browser
/// that is not logged in gets the page that explains it.
pub(super) fn link(question: &Question, console: &str) -> Value {
    let message = format!("{}\n\nThis is answered on Adjutant's own page.", message_text(question));
    json!({"mode": "url", "message": message, "url": format!("{console}/questions/{}", question.ticket)})
}

fn message_text(question: &Question) -> String {
    let title = escape_invisible::escape_line(&question.title);
    match question.message.trim() {
        "" => title,
        message => format!("{title}\n\n{}", escape_invisible::escape(message)),
    }
}

fn property(field: &Field, titled: bool) -> Option<Value> {
    let mut property = match &field.input {
        // A required choice needs an option for the text that replaces one.
        Input::Choice { options, max: 1, list: false, other: true, .. } => {
            let mut options = options.clone();
            let label = "Something else, as written below".to_owned();
            let value = other_value(&options);
            options.push(Choice { label, value });
            choice(&options, titled)
        }
        Input::Choice { options, max: 1, list: false, .. } => choice(options, titled),
        Input::Choice { .. } if !titled => return None,
        Input::Choice { options, min, max, .. } => {
            let least = if field.required { (*min).max(1) } else { *min };
            json!({"type": "array", "items": {"anyOf": constants(options)}, "minItems": least, "maxItems": max})
        }
        Input::Text { min, max, format, .. } => {
            let least = if field.required { (*min).max(1) } else { *min };
            let mut property = json!({"type": "string", "minLength": least, "maxLength": max});
            if let Some(format) = format {
                property["format"] = Value::from(format.name());
            }
            property
        }
        Input::Number { whole, min, max } => {
            let mut property = json!({"type": if *whole { "integer" } else { "number" }});
            for (name, bound) in [("minimum", min), ("maximum", max)] {
                if let Some(bound) = bound {
                    property[name] = number(*bound, *whole);
                }
            }
            property
        }
        Input::Date { time } => {
            json!({"type": "string", "format": if *time { "date-time" } else { "date" }})
        }
        Input::YesNo => json!({"type": "boolean"}),
    };
    for (name, text) in [("title", &field.label), ("description", &field.description)] {
        if !text.is_empty() {
            property[name] = Value::from(escape_invisible::escape_line(text));
        }
    }
    Some(property)
}

/// Returns whether a field is a single choice that the user's own text may replace.
fn takes_other(field: &Field) -> bool {
    matches!(field.input, Input::Choice { other: true, max: 1, list: false, .. })
}

/// Returns the name of the line for a field's own text, which no field of the question has.
fn other_name(question: &Question, field: &Field) -> String {
    let mut name = format!("{}_other", field.name);
    while name == CONFIRM || question.fields.iter().any(|field| field.name == name) {
        name.push('_');
    }
    name
}

/// Returns the value of the option for it, which no option of the agent has.
fn other_value(options: &[Choice]) -> String {
    let mut value = OTHER.to_owned();
    while options.iter().any(|option| option.value == value) {
        value.push('_');
    }
    value
}

/// Returns a choice of one option; 2025-06-18 has the labels in a separate list.
fn choice(options: &[Choice], titled: bool) -> Value {
    if titled {
        return json!({"type": "string", "oneOf": constants(options)});
    }
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    let names: Vec<String> =
        options.iter().map(|option| escape_invisible::escape_line(&option.label)).collect();
    json!({"type": "string", "enum": values, "enumNames": names})
}

fn constants(options: &[Choice]) -> Vec<Value> {
    let constant = |option: &Choice| json!({"const": option.value, "title": escape_invisible::escape_line(&option.label)});
    options.iter().map(constant).collect()
}

/// Parses the result of `elicitation/create` tolerantly: an unclear answer counts as none.
pub(super) fn read(question: &Question, reply: &Value) -> Reply {
    match reply.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline") => return Reply::Declined,
        _ => return Reply::Closed,
    }
    let content = reply.get("content").and_then(Value::as_object);
    if question.fields.iter().all(|field| !field.required) {
        match content.and_then(|content| content.get(CONFIRM)).and_then(Value::as_str) {
            Some("send") => {}
            Some("decline") => return Reply::Declined,
            _ => return Reply::Unfit,
        }
    }
    let member = |name: &str| content.and_then(|content| content.get(name)).filter(|value| !value.is_null());
    let (mut answer, mut notes) = (Answer::default(), Vec::new());
    for field in &question.fields {
        let mut value = member(&field.name);
        if takes_other(field) {
            let text = match member(&other_name(question, field)) {
                None => "",
                Some(Value::String(text)) => text.trim(),
                Some(_) => return Reply::Unfit,
            };
            let Input::Choice { options, .. } = &field.input else { continue };
            let other = other_value(options);
            // The chosen option counts; the text counts alone only if no option, or its own option, was chosen.
            if value.is_none_or(|value| *value == *other) {
                if !text.is_empty() {
                    answer.0.push((field.name.clone(), FieldValue::Other(text.to_owned())));
                    continue;
                }
                if value.take().is_some() {
                    return Reply::Unfit;
                }
            } else if !text.is_empty() {
                let label = if field.label.is_empty() { String::new() } else { format!("{}: ", field.label) };
                notes.push(format!("{label}{text}"));
            }
        }
        let Some(value) = value else { continue };
        let Some(value) = field_value(&field.input, value) else { return Reply::Unfit };
        answer.0.push((field.name.clone(), value));
    }
    Reply::Answer(answer, (!notes.is_empty()).then(|| notes.join("\n")))
}

fn field_value(input: &Input, value: &Value) -> Option<FieldValue> {
    let text = || value.as_str().map(ToOwned::to_owned);
    match input {
        Input::Choice { .. } => {
            let values = match value {
                Value::Array(values) => {
                    values.iter().map(|value| value.as_str().map(ToOwned::to_owned)).collect()
                }
                value => value.as_str().map(|value| vec![value.to_owned()]),
            };
            values.map(FieldValue::Choices)
        }
        Input::Text { .. } => text().map(FieldValue::Text),
        Input::Number { .. } => value.as_f64().map(FieldValue::Number),
        Input::Date { .. } => text().map(FieldValue::Date),
        Input::YesNo => value.as_bool().map(FieldValue::YesNo),
    }
}
