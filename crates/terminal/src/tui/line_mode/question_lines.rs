//! A question as lines of text.

use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_base::text::timefmt;
use adjutant_questions::{AskerPresence, Choice, Field, Input, Level, Question, Ticket};

/// Characters of a ticket that are printed. A line may name a question by any prefix that no other question has.
const TICKET_CHARS: usize = 7;

/// Returns the lines of a question. It has a `number` if answers are typed in a terminal.
pub(super) fn question_lines(question: &Question, number: Option<u64>, now: i64) -> Vec<String> {
    let is_typed = number.is_some();
    let number = number.map_or_else(String::new, |number| format!("number {number} "));
    let from = escape_line(&format!("{}{}", question.asker(), question.place()));
    let high = if question.level == Level::High { "HIGH " } else { "" };
    let snoozed = question
        .snoozed_until
        .map_or_else(String::new, |until| format!(", snoozed for {}", timefmt::span_millis(until - now)));
    let (id, left) = (short(&question.ticket), timefmt::span_millis(question.deadline - now));
    let mut lines = vec![
        format!("QUESTION {id} {number}{high}from {from}{snoozed}, {left} left"),
        format!("  {}", escape_line(&question.title)),
    ];
    lines.extend(question.message.trim_end().lines().map(|line| format!("  | {}", escape(line))));
    for field in &question.fields {
        lines.extend(field_lines(field, question.fields.len() > 1, is_typed));
    }
    lines.extend(question.default_sentence().map(|default| format!("  {}", escape_line(&default))));
    if question.presence != AskerPresence::Connected {
        lines.push(presence_line(question));
    }
    lines.extend(requests_line(question));
    lines
}

fn field_lines(field: &Field, several: bool, is_typed: bool) -> Vec<String> {
    let kind = match &field.input {
        Input::Choice { max: 1, .. } => "choose one",
        Input::Choice { .. } => "choose some, with commas between",
        Input::Text { format: Some(format), .. } => format.wanted(),
        Input::Text { .. } => "text",
        Input::Number { whole: true, .. } => "a whole number",
        Input::Number { .. } => "a number",
        Input::Date { time: false } => "a date",
        Input::Date { time: true } => "an instant",
        Input::YesNo => "yes or no",
    };
    let name = if several { format!("{}: ", escape_line(&field.name)) } else { String::new() };
    let label = escape_line(&field.label);
    let may = match (field.secret, field.required) {
        (true, _) if is_typed => ", asked for without echo after the ID",
        (true, _) => ", secret",
        (false, true) => "",
        (false, false) => ", may be left out",
    };
    let mut lines = vec![format!("  {name}{label}{}({kind}{may})", if label.is_empty() { "" } else { " " })];
    if let Input::Choice { options, other, .. } = &field.input {
        for (at, Choice { label, value }) in options.iter().enumerate() {
            lines.push(format!("  {}  {}  {}", at + 1, escape_line(value), escape_line(label)));
        }
        if *other {
            lines.push("  or =YOUR OWN WORDS".to_owned());
        }
    }
    lines
}

/// Returns the line about the number of identical requests that an answer decides; `None` for one, and for a question
/// that is not an approval.
pub(super) fn requests_line(question: &Question) -> Option<String> {
    let is_several = question.deliveries > 1 && !question.denials.is_empty();
    is_several
        .then(|| format!("WAITS {} {} requests wait for it", short(&question.ticket), question.deliveries))
}

/// Returns the line about the client that waits for the answer, or the reason why none waits.
pub(super) fn presence_line(question: &Question) -> String {
    let who = match question.presence.absence_reason() {
        None => "its client".to_owned(),
        Some(why) => format!("no client: {why}; an answer is kept"),
    };
    format!("WAITS {} {who}", short(&question.ticket))
}

/// Returns the beginning of a ticket.
pub(super) fn short(ticket: &Ticket) -> &str {
    ticket.as_str().get(..TICKET_CHARS).unwrap_or(ticket.as_str())
}
