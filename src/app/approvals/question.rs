//! An approval as a question, and its outcome as a decision.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::codex::approval::{Approval, Decision, Wants};
use crate::popups::{Choice, Draft, Field, Given, Input, Kind, Outcome};

/// The field of a plain yes or no.
const ANSWER: &str = "answer";
/// Bytes of a diff that a question shows; the thread's page has all of it.
const DIFF: usize = 12 * 1024;
/// Options and fields of a form that a question shows.
const MOST: usize = 20;

/// Turns an approval into a question.
pub(super) fn draft(approval: &Approval, workspace: String, timeout: Duration) -> Draft {
    let (title, mut message) = match &approval.wants {
        Wants::Command { argv, cwd } => {
            let mut text = fenced("sh", &approval.command_line());
            if argv.len() > 1 {
                let _ = write!(text, "\nargv: {}\n", fenced("json", &json!(argv).to_string()));
            }
            if let Some(cwd) = cwd {
                let _ = write!(text, "\nin\n{}", fenced("", cwd));
            }
            ("Codex wants to run a command".to_owned(), text)
        }
        Wants::Patch { changes } => {
            let parts = changes.iter().map(|change| {
                let kept = change.diff.floor_char_boundary(DIFF / changes.len().max(1));
                let cut =
                    if kept < change.diff.len() { "\n… the rest is on the thread's page" } else { "" };
                format!(
                    "{} {}\n{}",
                    change.how,
                    change.path,
                    fenced("diff", &format!("{}{cut}", &change.diff[..kept]))
                )
            });
            ("Codex wants to change files".to_owned(), parts.take(MOST).collect::<Vec<_>>().join("\n"))
        }
        Wants::Elicitation { server, message, .. } => {
            (format!("`{server}` asks through Codex"), message.clone())
        }
        Wants::Input { questions } => {
            let texts = questions.iter().map(|question| question.text.as_str());
            ("Codex asks".to_owned(), texts.collect::<Vec<_>>().join("\n\n"))
        }
        Wants::Unknown { method, params } => {
            ("Codex asks something unknown".to_owned(), fenced("json", &format!("{method} {params}")))
        }
    };
    if let Some(reason) = &approval.reason {
        message = format!("{reason}\n\n{message}");
    }
    let fields = match &approval.wants {
        Wants::Elicitation { schema, .. } if has_fields(schema) => form(schema),
        Wants::Input { questions } => questions
            .iter()
            .take(MOST)
            .map(|question| {
                let options = question.options.iter().take(MOST);
                let options: Vec<Choice> =
                    options.map(|label| Choice { label: label.clone(), value: label.clone() }).collect();
                let input = if options.is_empty() {
                    Input::Text { multiline: false, min: 0, max: 4096 }
                } else {
                    Input::Choice { options, min: 1, max: 1, other: true, list: false }
                };
                field(&question.id, &question.text, input)
            })
            .collect(),
        _ => vec![field(ANSWER, "", yes_or_no(approval))],
    };
    Draft { title, message, workspace, fields, timeout: Some(timeout), ..Draft::default() }
}

fn yes_or_no(approval: &Approval) -> Input {
    let mut options = Vec::new();
    let mut offer = |label: &str, value: &str| {
        options.push(Choice { label: label.to_owned(), value: value.to_owned() });
    };
    for choice in &approval.choices {
        match choice {
            Decision::Approve => offer("Approve", "approve"),
            Decision::ApproveForSession => offer("Approve for this session", "session"),
            Decision::Deny { .. } | Decision::Abort | Decision::Content(_) => {}
        }
    }
    offer("Deny", "deny");
    offer("Deny, and stop the turn", "abort");
    Input::Choice { options, min: 1, max: 1, other: false, list: false }
}

/// Turns an outcome into what Codex is told.
pub(super) fn decision(approval: &Approval, outcome: &Outcome) -> Decision {
    let deny = Decision::Deny { note: outcome.note.clone() };
    let (Kind::Answered, Some(answer)) = (outcome.kind, &outcome.answer) else { return deny };
    let is_form = match &approval.wants {
        Wants::Elicitation { schema, .. } => has_fields(schema),
        Wants::Input { .. } => true,
        Wants::Command { .. } | Wants::Patch { .. } | Wants::Unknown { .. } => false,
    };
    if is_form {
        let content = answer.0.iter().map(|(name, given)| (name.clone(), value(given)));
        return Decision::Content(Value::Object(content.collect()));
    }
    match answer.get(ANSWER) {
        Some(Given::Choices(chosen)) => match chosen.first().map(String::as_str) {
            Some("approve") => Decision::Approve,
            Some("session") => Decision::ApproveForSession,
            Some("abort") => Decision::Abort,
            _ => deny,
        },
        _ => deny,
    }
}

fn value(given: &Given) -> Value {
    match given {
        Given::Choices(values) if values.len() == 1 => Value::from(values[0].as_str()),
        Given::Choices(values) => json!(values),
        Given::Other(text) | Given::Text(text) | Given::Date(text) => Value::from(text.as_str()),
        Given::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
            let whole = *number as i64;
            Value::from(whole)
        }
        Given::Number(number) => Value::from(*number),
        Given::YesNo(yes) => Value::from(*yes),
    }
}

fn has_fields(schema: &Value) -> bool {
    schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
}

/// Turns the flat schema of an elicitation into fields.
fn form(schema: &Value) -> Vec<Field> {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let fields = properties.iter().take(MOST).map(|(name, property)| {
        let options: Vec<Choice> = property["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .take(MOST)
            .map(|word| Choice { label: word.to_owned(), value: word.to_owned() })
            .collect();
        let input = match property["type"].as_str() {
            _ if !options.is_empty() => Input::Choice { options, min: 1, max: 1, other: false, list: false },
            Some("boolean") => Input::YesNo,
            Some(number @ ("integer" | "number")) => Input::Number {
                whole: number == "integer",
                min: property["minimum"].as_f64(),
                max: property["maximum"].as_f64(),
            },
            _ => Input::Text { multiline: false, min: 0, max: 4096 },
        };
        let label = property["title"].as_str().unwrap_or(name);
        let description = property["description"].as_str().unwrap_or_default().to_owned();
        Field { required: required(name), description, ..field(name, label, input) }
    });
    fields.collect()
}

fn field(name: &str, label: &str, input: Input) -> Field {
    Field {
        name: name.to_owned(),
        label: label.to_owned(),
        description: String::new(),
        required: true,
        input,
    }
}

/// Puts a stranger's text into a fence that it cannot end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
