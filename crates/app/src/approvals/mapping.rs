//! Mapping of an approval to a question, and of its outcome to a decision.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use adjutant_codex::approval::{Approval, ApprovalKind, Decision, Detail};
use adjutant_questions::{APPROVE, Answer, Choice, Draft, Field, FieldValue, Input, Outcome, OutcomeKind};

/// The field of a plain yes or no.
const ANSWER: &str = "answer";
/// The values of its options.
const SESSION: &str = "session";
const ALWAYS: &str = "always";
const DENY: &str = "deny";
const ABORT: &str = "abort";
/// Bytes of the diffs that a question shows.
const MAX_DIFF_BYTES: usize = 32 * 1024;
/// The labels of words that the hub cannot check.
pub(crate) const OF_AGENT: &str = "in the words of the agent, which may be wrong";
const OF_SERVER: &str = "in the words of the MCP server, which may be wrong";
/// Options and fields of a form that a question shows.
const MAX_FIELDS: usize = 20;

/// Turns an approval into a question. Its message begins with the facts, so that the words of the asker cannot imitate
/// them.
pub(super) fn draft(approval: &Approval, workspace: String, timeout: Duration) -> Draft {
    let mut message = String::new();
    for Detail { label, text, .. } in approval.details() {
        let _ =
            write!(message, "{label}:\n\n{}\n", fenced(if label == "command" { "sh" } else { "" }, &text));
    }
    let changes = approval.changes();
    for change in changes {
        let _ = write!(message, "{}:\n\n{}", change.how, fenced("", &change.path));
        let kept = change.diff.floor_char_boundary(MAX_DIFF_BYTES / changes.len());
        let _ = write!(message, "\n{}\n", fenced("diff", &change.diff[..kept]));
        if kept < change.diff.len() {
            let rest = change.diff.len() - kept;
            let _ = write!(message, "{rest} more bytes of this file are on the thread's page.\n\n");
        }
    }
    // Markdown in these words must not look like the facts.
    let label = match approval.kind {
        ApprovalKind::Elicitation { .. } | ApprovalKind::ToolCall { .. } => OF_SERVER,
        _ => OF_AGENT,
    };
    match approval.words().join("\n\n") {
        words if words.is_empty() => {}
        words if matches!(approval.kind, ApprovalKind::Input { .. }) => message.push_str(&words),
        words => {
            let _ = write!(message, "{label}:\n\n{}", fenced("", &words));
        }
    }
    // A model chooses the options of its own questions, so they approve and deny nothing.
    let is_plain = !approval.kind.is_form();
    let denials = if is_plain { [DENY, ABORT].map(str::to_owned).to_vec() } else { Vec::new() };
    Draft {
        title: approval.title(),
        message,
        workspace,
        fields: fields(approval),
        timeout: Some(timeout),
        denials,
        ..Draft::default()
    }
}

/// Returns the fields of the question.
pub(super) fn fields(approval: &Approval) -> Vec<Field> {
    match &approval.kind {
        ApprovalKind::Elicitation { schema, .. } if approval.kind.is_form() => form(schema),
        ApprovalKind::Input { questions } => questions
            .iter()
            .take(MAX_FIELDS)
            .map(|question| {
                let options = question.options.iter().take(MAX_FIELDS);
                let options: Vec<Choice> =
                    options.map(|label| Choice { label: label.clone(), value: label.clone() }).collect();
                let input = if options.is_empty() {
                    Input::Text { multiline: false, min: 0, max: 4096, format: None }
                } else {
                    Input::Choice { options, min: 1, max: 1, other: question.other, list: false }
                };
                Field { secret: question.secret, ..field(&question.id, &question.text, input) }
            })
            .collect(),
        _ => vec![field(ANSWER, "", yes_or_no(approval))],
    }
}

fn yes_or_no(approval: &Approval) -> Input {
    let mut options = Vec::new();
    let mut offer = |label: &str, value: &str| {
        options.push(Choice { label: label.to_owned(), value: value.to_owned() });
    };
    for choice in &approval.choices {
        match choice {
            Decision::Approve => offer("Approve", APPROVE),
            Decision::ApproveForSession => offer("Approve for this session", SESSION),
            Decision::ApproveAlways => offer("Approve, and do not ask again", ALWAYS),
            Decision::Deny { .. } | Decision::Abort | Decision::Content(_) => {}
        }
    }
    offer("Deny", DENY);
    offer("Deny, and stop the turn", ABORT);
    Input::Choice { options, min: 1, max: 1, other: false, list: false }
}

/// Turns a decision into the answer to an approval's question; `None` if the question is declined for it.
pub(super) fn answer(approval: &Approval, decision: &Decision) -> Option<Answer> {
    if approval.kind.is_form() {
        return None;
    }
    let value = match decision {
        Decision::Approve => APPROVE,
        Decision::ApproveForSession => SESSION,
        Decision::ApproveAlways => ALWAYS,
        Decision::Abort => ABORT,
        Decision::Deny { .. } | Decision::Content(_) => return None,
    };
    Some(Answer::one(ANSWER, FieldValue::Choices(vec![value.to_owned()])))
}

/// Turns an outcome into the decision for Codex.
pub(super) fn decision(approval: &Approval, outcome: &Outcome) -> Decision {
    let note = outcome.note.clone();
    match (outcome.kind, &outcome.answer) {
        (OutcomeKind::Answered, Some(answer)) if answer.is_withheld() => Decision::Deny {
            note: Some("the secret answer was given to another hub, which keeps none".to_owned()),
        },
        (OutcomeKind::Answered, Some(answer)) => {
            decision_of_answer(approval, &fields(approval), answer, note)
        }
        _ => Decision::Deny { note },
    }
}

/// Turns an answer into the decision for Codex; a denial carries `note`.
pub(super) fn decision_of_answer(
    approval: &Approval,
    fields: &[Field],
    answer: &Answer,
    note: Option<String>,
) -> Decision {
    let deny = Decision::Deny { note };
    if approval.kind.is_form() {
        let list = |name: &str| {
            let field = fields.iter().find(|field| field.name == name);
            field.is_some_and(|field| matches!(field.input, Input::Choice { list: true, .. }))
        };
        let content = answer.0.iter().map(|(name, given)| (name.clone(), value(given, list(name))));
        return Decision::Content(Value::Object(content.collect()));
    }
    match answer.get(ANSWER) {
        Some(FieldValue::Choices(chosen)) => match chosen.first().map(String::as_str) {
            Some(APPROVE) => Decision::Approve,
            Some(SESSION) => Decision::ApproveForSession,
            Some(ALWAYS) => Decision::ApproveAlways,
            Some(ABORT) => Decision::Abort,
            _ => deny,
        },
        _ => deny,
    }
}

/// Converts a value of a form; `list` is whether the asker expects a list, even of one value.
fn value(given: &FieldValue, list: bool) -> Value {
    match given {
        FieldValue::Choices(values) if values.len() == 1 && !list => Value::from(values[0].as_str()),
        FieldValue::Choices(values) => json!(values),
        FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text) => {
            Value::from(text.as_str())
        }
        FieldValue::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
            let whole = *number as i64;
            Value::from(whole)
        }
        FieldValue::Number(number) => Value::from(*number),
        FieldValue::YesNo(yes) => Value::from(*yes),
        FieldValue::Secret => Value::Null,
    }
}

/// Turns the flat schema of an elicitation into fields.
fn form(schema: &Value) -> Vec<Field> {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let fields = properties.iter().take(MAX_FIELDS).map(|(name, property)| {
        let size = |member: &str| property[member].as_u64().and_then(|size| usize::try_from(size).ok());
        let (options, several) = (choices(property), choices(&property["items"]));
        let input = match property["type"].as_str() {
            Some("array") if !several.is_empty() => {
                let min = size("minItems").unwrap_or(0).min(several.len());
                let max = size("maxItems").unwrap_or(several.len()).clamp(min.max(1), several.len());
                Input::Choice { options: several, min, max, other: false, list: true }
            }
            _ if !options.is_empty() => Input::Choice { options, min: 1, max: 1, other: false, list: false },
            Some("boolean") => Input::YesNo,
            Some(number @ ("integer" | "number")) => Input::Number {
                whole: number == "integer",
                min: property["minimum"].as_f64(),
                max: property["maximum"].as_f64(),
            },
            _ => Input::Text { multiline: false, min: 0, max: 4096, format: None },
        };
        let label = property["title"].as_str().unwrap_or(name);
        let description = property["description"].as_str().unwrap_or_default().to_owned();
        Field { required: required(name), description, ..field(name, label, input) }
    });
    fields.collect()
}

/// The options of a property: `enum` with or without `enumNames`, or titled constants.
fn choices(property: &Value) -> Vec<Choice> {
    let titled = ["oneOf", "anyOf"].into_iter().filter_map(|member| property[member].as_array()).flatten();
    let titled = titled.filter_map(|one| {
        let value = one["const"].as_str()?;
        Some((value, one["title"].as_str().unwrap_or(value)))
    });
    let named = property["enum"].as_array().into_iter().flatten().enumerate().filter_map(|(at, value)| {
        let value = value.as_str()?;
        Some((value, property["enumNames"][at].as_str().unwrap_or(value)))
    });
    let choice = |(value, label): (&str, &str)| Choice { label: label.to_owned(), value: value.to_owned() };
    titled.chain(named).take(MAX_FIELDS).map(choice).collect()
}

fn field(name: &str, label: &str, input: Input) -> Field {
    Field { label: label.to_owned(), ..Field::new(name, input) }
}

/// Puts untrusted text into a fence that it cannot end.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
