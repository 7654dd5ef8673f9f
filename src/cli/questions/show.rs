//! `adjutant questions show`.

use clap::Args;

use super::{as_json, state};
use crate::cli::output::{self, Failure};
use adjutant_base::text::escape_invisible::{escape, escape_line};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{Field, Input, Level, Outcome};
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::questions::QuestionDetails;

/// Arguments of `adjutant questions show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The question's id, or enough of its beginning
    id: String,
}

/// Prints one question.
pub(super) fn run(args: &ShowArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let details = client.one_question(&args.id)?;
    if output::is_json() {
        return output::json(&as_json(&details));
    }
    lines(&details).iter().try_for_each(|line| output::data(line))
}

/// Returns the question with its message and options, for a reader.
pub(in crate::cli) fn lines(details: &QuestionDetails) -> Vec<String> {
    let question = &details.question;
    let at = |millis: i64| stamp(instant(millis));
    let mut lines = vec![
        format!("question  {}", question.ticket),
        format!("state     {}", state(details)),
        format!("asked by  {}", escape_line(question.asker())),
    ];
    if !question.workspace.is_empty() {
        lines.push(format!("folder    {}", escape_line(&question.workspace)));
    }
    if !question.runs_in.is_empty() {
        lines.push(format!("runs in   {}", escape_line(&question.runs_in)));
    }
    lines.push(format!("asked     {}", at(question.asked_at)));
    if !question.addressee.is_empty() {
        lines.push(format!("for       {}", escape_line(&question.addressee)));
    }
    match &details.outcome {
        None => lines.push(format!("until     {}", at(question.deadline))),
        Some(outcome) => lines.extend(decided(outcome)),
    }
    if question.level == Level::High {
        lines.push("level     high: the answer needs the approval passphrase".to_owned());
    }
    lines.push(format!("title     {}", escape_line(&question.title)));
    // The bar sets the words of the asker apart from the lines of this program.
    let message = question.message.trim();
    if !message.is_empty() {
        lines.push(String::new());
        lines.extend(message.lines().map(|line| format!("| {}", escape(line)).trim_end().to_owned()));
    }
    for field in &question.fields {
        lines.extend(options(field));
    }
    if let Some(default) = question.default_sentence().filter(|_| details.outcome.is_none()) {
        lines.extend([String::new(), escape_line(&default)]);
    }
    lines
}

/// Returns the lines of an outcome: the decider, the channel and the answer.
fn decided(outcome: &Outcome) -> Vec<String> {
    let mut lines = vec![format!(
        "decided   by {} through {}",
        outcome.user.as_deref().map_or_else(|| outcome.by.name().into(), escape_line),
        outcome.through.name()
    )];
    lines.extend(outcome.not_applied.as_ref().map(|reason| format!("effect    none: {reason}")));
    for (name, value) in outcome.answer.iter().flat_map(|answer| &answer.0) {
        let name = if outcome.answer.as_ref().is_some_and(|answer| answer.0.len() > 1) {
            format!("{}: ", escape_line(name))
        } else {
            String::new()
        };
        lines.push(format!("answer    {name}{}", escape_line(&value.text())));
    }
    lines.extend(outcome.note.as_ref().map(|note| format!("note      {}", escape_line(note))));
    let files = outcome.files.iter();
    lines.extend(files.map(|file| format!("file      {} ({} bytes)", escape_line(&file.name), file.size)));
    lines
}

/// Returns the lines of a field: its label, if it has one, and its options.
fn options(field: &Field) -> Vec<String> {
    let mut lines = Vec::new();
    if !field.label.is_empty() {
        lines.extend([String::new(), format!("| {}", escape_line(&field.label))]);
    }
    if let Input::Choice { options, other, .. } = &field.input {
        if field.label.is_empty() {
            lines.push(String::new());
        }
        lines.extend(
            options
                .iter()
                .map(|option| format!("  {}  ({})", escape_line(&option.label), escape_line(&option.value))),
        );
        if *other {
            lines.push("  or something else".to_owned());
        }
    }
    lines
}
