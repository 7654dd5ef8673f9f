//! Lines of input: `ID VALUE`, `ID /COMMAND`, the same with the number of the question, or `/COMMAND` for the Inbox as a whole.

use std::collections::HashMap;

use serde_json::Value;

use crate::socket::control::questions::Request;
use adjutant_questions::{Answer, Availability, Choice, Field, FieldValue, Input, Question, Ticket};

/// Questions and time for parsing a line.
pub(super) struct Context<'a> {
    pub(super) questions: &'a [Question],
    /// Recently decided.
    pub(super) decided: &'a [Question],
    /// The numbers with which the questions were printed; empty but in a terminal.
    pub(super) numbers: &'a HashMap<Ticket, u64>,
    /// Whether the terminal shows the line, so that it must not hold the value of a secret field.
    pub(super) is_typed: bool,
    /// Milliseconds since 1970.
    pub(super) now: i64,
}

impl<'a> Context<'a> {
    /// Finds a question that may be open. After an undo it is open before that is known here; the hub refuses the
    /// decision if it is not.
    fn open(&self, id: &str) -> Result<&'a Question, String> {
        let is_new = |decided: &&Question| self.questions.iter().all(|known| known.ticket != decided.ticket);
        self.find(id, self.questions.iter().chain(self.decided.iter().filter(is_new)), "that is pending")
    }

    /// Finds the question with this number, or with this prefix of its ticket, which begins with a letter.
    fn find(
        &self,
        id: &str,
        questions: impl Iterator<Item = &'a Question>,
        which: &str,
    ) -> Result<&'a Question, String> {
        let number = id.parse::<u64>().ok().filter(|_| self.is_typed);
        let mut matching = questions.filter(|question| match number {
            Some(number) => self.numbers.get(&question.ticket) == Some(&number),
            None => question.ticket.as_str().starts_with(id),
        });
        match (matching.next(), matching.next(), number) {
            (Some(question), None, _) => Ok(question),
            (Some(_), Some(_), _) => {
                Err(format!("several questions begin with `{id}`: enter more of the id"))
            }
            (None, _, Some(number)) => Err(format!("no question {which} has the number {number}")),
            (None, _, None) => Err(format!("no question {which} begins with `{id}`")),
        }
    }
}

/// A parsed line.
#[derive(Debug)]
pub(super) enum ParsedLine {
    Request(Request),
    /// A note for the next decision.
    Note {
        ticket: Ticket,
        note: String,
    },
    /// A file for the next answer.
    File {
        ticket: Ticket,
        path: String,
    },
}

/// Parses a line. The error is a sentence for its writer.
pub(super) fn parse(line: &str, context: &Context<'_>) -> Result<ParsedLine, String> {
    let line = line.trim();
    if let Some(command) = line.strip_prefix('/') {
        return availability(command, context.now).map(ParsedLine::Request);
    }
    if let Some(id) = line.strip_suffix("/undo").filter(|id| id.ends_with(char::is_whitespace)) {
        let found = context.find(id.trim(), context.decided.iter(), "that was decided recently")?;
        let ticket = found.ticket.clone();
        return Ok(ParsedLine::Request(Request::Undo { ticket }));
    }
    let (id, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let Some(note) = rest.trim().strip_prefix("/note ") {
        let ticket = context.open(id)?.ticket.clone();
        return Ok(ParsedLine::Note { ticket, note: note.trim().to_owned() });
    }
    if let Some(path) = rest.trim().strip_prefix("/file ") {
        let question = context.open(id)?;
        if !question.denials.is_empty() {
            return Err(format!("`{id}` is an approval, which takes no files"));
        }
        return Ok(ParsedLine::File { ticket: question.ticket.clone(), path: path.trim().to_owned() });
    }
    parse_decision(line, context).map(ParsedLine::Request)
}

/// Parses a command that sets the availability.
fn availability(command: &str, now: i64) -> Result<Request, String> {
    let (word, minutes) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let until = match minutes.trim() {
        "" => None,
        minutes => match minutes.parse::<u32>() {
            Ok(minutes) if minutes > 0 => Some(now.saturating_add(i64::from(minutes) * 60_000)),
            _ => return Err(format!("`/{word}` takes a number of minutes, or none")),
        },
    };
    Ok(Request::Availability(match word {
        "here" => Availability::Here,
        "away" => Availability::Away { until },
        "do-not-disturb" => Availability::DoNotDisturb { until },
        other => {
            return Err(format!(
                "`/{other}` is not a command: there are /here, /away [MINUTES] and /do-not-disturb [MINUTES]"
            ));
        }
    }))
}

fn parse_decision(line: &str, context: &Context<'_>) -> Result<Request, String> {
    let (id, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let question = context.open(id)?;
    let ticket = question.ticket.clone();
    if let Some(command) = rest.strip_prefix('/') {
        let (command, words) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let words = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
        return match (command, words) {
            ("decline", note) => Ok(Request::Decline { ticket, note }),
            ("dismiss", None) => Ok(Request::Dismiss { ticket, note: None }),
            ("differently", Some(note)) => Ok(Request::Redirect { ticket, note }),
            ("snooze", words) => {
                let minutes = words.as_deref().unwrap_or("10").parse();
                minutes
                    .map(|minutes| Request::Snooze { ticket, minutes })
                    .map_err(|_| "`/snooze` takes a number of minutes, 1 to 60".to_owned())
            }
            ("differently", None) => Err("`/differently` takes a sentence".to_owned()),
            (other, _) => Err(format!(
                "`/{other}` is not a command: there are /decline [WHY], /dismiss, /snooze [MINUTES], /differently HOW, /note TEXT, /file PATH and /undo; \
                 write =/{other} for that text as an answer"
            )),
        };
    }
    let is_asked_later = |field: &Field| context.is_typed && field.secret;
    let answer = match (rest, question.fields.iter().all(is_asked_later)) {
        ("", true) => Answer::default(),
        ("", false) => return Err(format!("the answer after `{id}` is missing")),
        (_, true) => {
            return Err(format!("the answer is secret: enter `{id}` alone, and you are asked for it"));
        }
        (rest, false) => answer(rest, &question.fields)?,
    };
    if answer
        .0
        .iter()
        .any(|(name, _)| question.fields.iter().any(|field| field.name == *name && is_asked_later(field)))
    {
        return Err("leave the secret fields out: you are asked for them".to_owned());
    }
    Ok(Request::Answer {
        ticket,
        shown: question.deliveries,
        answer,
        note: None,
        passphrase: None,
        files: Vec::new(),
    })
}

fn answer(text: &str, fields: &[Field]) -> Result<Answer, String> {
    if let [field] = fields {
        return Ok(Answer(vec![(field.name.clone(), parse_value(text, field)?)]));
    }
    let values: serde_json::Map<String, Value> = serde_json::from_str(text).map_err(|_| {
        let names =
            fields.iter().map(|field| format!("\"{}\": …", field.name)).collect::<Vec<_>>().join(", ");
        format!("this question has {} fields: answer with a JSON object like {{{names}}}", fields.len())
    })?;
    let mut answers = Vec::new();
    for (name, value) in values {
        let field = fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| format!("the question has no field `{name}`"))?;
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Array(values) => {
                let words = values
                    .iter()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                words.collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        answers.push((name, parse_value(&text, field)?));
    }
    Ok(Answer(answers))
}

/// Parses the value of a secret field, which no message may repeat; `None` if it is not valid.
pub(super) fn secret(text: &str, field: &Field) -> Option<FieldValue> {
    match field.input {
        Input::Text { .. } => Some(FieldValue::Text(text.to_owned())),
        _ => parse_value(text, field).ok(),
    }
}

/// Parses the value of a field. After a leading `=` the text is taken literally.
fn parse_value(text: &str, field: &Field) -> Result<FieldValue, String> {
    let literal = text.strip_prefix('=');
    let words = literal.unwrap_or(text);
    Ok(match &field.input {
        Input::Choice { options, max, other, .. } => match literal {
            Some(words) if *other => FieldValue::Other(words.to_owned()),
            _ if *max == 1 => FieldValue::Choices(vec![option(words, options, literal.is_some())?]),
            _ => {
                let values = words.split(',').map(|word| option(word.trim(), options, literal.is_some()));
                FieldValue::Choices(values.collect::<Result<_, _>>()?)
            }
        },
        Input::Text { .. } => FieldValue::Text(words.replace("\\n", "\n")),
        Input::Number { .. } => {
            FieldValue::Number(words.parse().map_err(|_| format!("`{words}` is not a number"))?)
        }
        Input::Date { .. } => FieldValue::Date(words.to_owned()),
        Input::YesNo => match words.to_ascii_lowercase().as_str() {
            "yes" | "y" | "true" | "1" => FieldValue::YesNo(true),
            "no" | "n" | "false" | "2" => FieldValue::YesNo(false),
            _ => return Err(format!("`{words}` is neither yes nor no")),
        },
    })
}

/// Finds an option by its value, its number, or its label; literally by its value alone. A word that means several is
/// refused, because the agent chooses the values and the labels.
fn option(word: &str, options: &[Choice], literal: bool) -> Result<String, String> {
    let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let is_meant = |(at, option): &(usize, &Choice)| {
        option.value == word || (!literal && (Some(*at) == number || option.label == word))
    };
    let mut meant = options.iter().enumerate().filter(is_meant).map(|(_, option)| option);
    let found = meant.next();
    if let Some(other) = meant.find(|other| Some(&other.value) != found.map(|found| &found.value)) {
        let first = found.map_or("", |found| &found.value);
        return Err(format!("`{word}` may mean several options: write ={first} or ={}", other.value));
    }
    found.map(|option| option.value.clone()).ok_or_else(|| {
        let values =
            options.iter().map(|option| option.value.as_str()).take(9).collect::<Vec<_>>().join(", ");
        format!("`{word}` is not one of the options: {values}")
    })
}
