//! A question as a form of the client's own, or as a link that it shows (MCP's elicitation), and what a client's reply
//! to one says.

use serde_json::{Map, Value, json};

use super::result::number;
use super::trigger_popup::TEXT;
use crate::protocol_version::Revision;
use adjutant_base::text::escape_invisible;
use adjutant_questions::{Answer, Choice, Field, FieldValue, Input, Question};

/// The choice that is asked where nothing else is: to accept a form that asks for nothing is no consent.
const CONFIRM: &str = "adjutant_confirm";

/// The option that stands for the person's own words, which have a line of their own below the choice.
const OTHER: &str = "adjutant_other";

/// What a client's reply means.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Whether it fits the question is for the desk to say. Words beside an option that was chosen are a note.
    Answer(Answer, Option<String>),
    Declined,
    /// Accepted without the choice that shows that somebody read it, or with a value of another kind than was asked.
    Unfit,
    /// No decision of anybody's: the form was closed, or never drawn.
    Closed,
}

/// Returns the params of `elicitation/create`; `None` where the revision's forms cannot say what is asked. Nothing is
/// filled in beforehand. `again` is for a form that came back without an answer.
pub(super) fn params(question: &Question, revision: Revision, again: bool) -> Option<Value> {
    let titled = revision >= Revision::V2025_11_25;
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &question.fields {
        if field.name == CONFIRM {
            return None;
        }
        properties.insert(field.name.clone(), property(field, titled)?);
        if takes_words(field) {
            let words = json!({"type": "string", "title": "Something else", "maxLength": TEXT});
            properties.insert(words_name(question, field), words);
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
    let mut message = words(question);
    if again {
        message = format!("The form came back without an answer that fits.\n\n{message}");
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let mut params = json!({"message": message, "requestedSchema": schema});
    if titled {
        params["mode"] = Value::from("form");
    }
    Some(params)
}

/// Returns the params that show the question's page on the console at `console`. The address says which question, and
/// nothing that would let anybody in: a browser that is not logged in is told how to.
pub(super) fn link(question: &Question, console: &str) -> Value {
    let message = format!("{}\n\nThis is answered on Adjutant's own page.", words(question));
    json!({"mode": "url", "message": message, "url": format!("{console}/questions/{}", question.ticket)})
}

fn words(question: &Question) -> String {
    let title = escape_invisible::line(&question.title);
    match question.message.trim() {
        "" => title,
        message => format!("{title}\n\n{}", escape_invisible::plain(message)),
    }
}

fn property(field: &Field, titled: bool) -> Option<Value> {
    let mut property = match &field.input {
        // A choice that has to be made needs an option for what is written in the place of one.
        Input::Choice { options, max: 1, list: false, other: true, .. } => {
            let mut options = options.clone();
            let label = "Something else, as written below".to_owned();
            let value = words_value(&options);
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
                property["format"] = Value::from(format.as_str());
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
            property[name] = Value::from(escape_invisible::line(text));
        }
    }
    Some(property)
}

/// Whether a field is one choice that the person's own words may stand for.
fn takes_words(field: &Field) -> bool {
    matches!(field.input, Input::Choice { other: true, max: 1, list: false, .. })
}

/// The name of the line for a field's own words, which no field of the question has.
fn words_name(question: &Question, field: &Field) -> String {
    let mut name = format!("{}_other", field.name);
    while name == CONFIRM || question.fields.iter().any(|field| field.name == name) {
        name.push('_');
    }
    name
}

/// The value that says so, which no option has.
fn words_value(options: &[Choice]) -> String {
    let mut value = OTHER.to_owned();
    while options.iter().any(|option| option.value == value) {
        value.push('_');
    }
    value
}

/// One of several options; 2025-06-18 has its labels in a list of their own.
fn choice(options: &[Choice], titled: bool) -> Value {
    if titled {
        return json!({"type": "string", "oneOf": constants(options)});
    }
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    let names: Vec<String> = options.iter().map(|option| escape_invisible::line(&option.label)).collect();
    json!({"type": "string", "enum": values, "enumNames": names})
}

fn constants(options: &[Choice]) -> Vec<Value> {
    let constant =
        |option: &Choice| json!({"const": option.value, "title": escape_invisible::line(&option.label)});
    options.iter().map(constant).collect()
}

/// Reads the result of `elicitation/create`, tolerantly: what is no clear answer is none.
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
        if takes_words(field) {
            let words = match member(&words_name(question, field)) {
                None => "",
                Some(Value::String(words)) => words.trim(),
                Some(_) => return Reply::Unfit,
            };
            let Input::Choice { options, .. } = &field.input else { continue };
            let other = words_value(options);
            // What is chosen counts; words say it alone only where nothing is, or where they were chosen.
            if value.is_none_or(|value| *value == *other) {
                if !words.is_empty() {
                    answer.0.push((field.name.clone(), FieldValue::Other(words.to_owned())));
                    continue;
                }
                if value.take().is_some() {
                    return Reply::Unfit;
                }
            } else if !words.is_empty() {
                let about = if field.label.is_empty() { String::new() } else { format!("{}: ", field.label) };
                notes.push(format!("{about}{words}"));
            }
        }
        let Some(value) = value else { continue };
        let Some(given) = given(&field.input, value) else { return Reply::Unfit };
        answer.0.push((field.name.clone(), given));
    }
    Reply::Answer(answer, (!notes.is_empty()).then(|| notes.join("\n")))
}

fn given(input: &Input, value: &Value) -> Option<FieldValue> {
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
