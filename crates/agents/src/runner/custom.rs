//! Custom runner: any other CLI, as the configuration describes it.

pub mod config;

use serde_json::Value;

use config::{Answer, CustomRunner, Stdin};

use super::command_line::{AttemptSpec, CommandLine, OutputFormat, Rejection};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure, parse_retry_after};
use super::progress::AttemptEnd;
use super::run_state::RunAccumulator;
use adjutant_host::process::Exit;

pub(super) const VARIABLES: RunnerVariables = RunnerVariables { names: &[], prefixes: &[] };

/// Returns the command line of a custom runner.
pub(super) fn command(runner: &CustomRunner, spec: &AttemptSpec<'_>) -> Result<CommandLine, Rejection> {
    if !runner.levels.contains(&spec.permission) {
        let held: Vec<&str> = runner.levels.iter().map(|level| level.name()).collect();
        let reason = if held.is_empty() {
            "its configuration names no level that its command line holds; name them in `levels`".to_owned()
        } else {
            format!("its configuration says that its command line holds {} only", held.join(", "))
        };
        return Err(spec.rejection(&runner.name, &reason));
    }
    let mut line = CommandLine::default();
    let file = spec.scratch.join("final-message.txt");
    let uses = |placeholder: &str| runner.argv.iter().any(|argument| argument.contains(placeholder));
    if uses("{prompt}") && !spec.fits_an_argument() {
        return Err(Rejection::Unable {
            runner: runner.name.clone(),
            what: "take this prompt: it does not fit into an argument, and its configuration puts it there",
        });
    }
    let values = [
        ("{workdir}", spec.workdir.to_str()),
        ("{model}", spec.model),
        ("{permission}", Some(spec.permission.name())),
        ("{final_message_file}", file.to_str()),
        ("{resume}", spec.session),
        // The prompt comes last, so that a placeholder in it is not replaced.
        ("{prompt}", Some(spec.prompt)),
    ];
    for argument in runner.argv.iter().skip(1) {
        if let Some(argument) = fill(argument, &values) {
            line.arg(argument);
        }
    }
    if runner.stdin == Stdin::Prompt {
        line.stdin(spec.prompt);
    }
    for (name, value) in &runner.env {
        line.env(name, value);
    }
    if runner.answer == Answer::File {
        line.output_files.final_message = Some(file);
    }
    line.format = Some(OutputFormat::Custom(std::sync::Arc::new(runner.clone())));
    Ok(line)
}

/// Replaces every placeholder in one pass; `None` if one of the values is missing.
fn fill(argument: &str, values: &[(&str, Option<&str>)]) -> Option<String> {
    let mut filled = String::new();
    let mut rest = argument;
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some((placeholder, value)) = values.iter().find(|(name, _)| rest.starts_with(name)) {
            filled.push_str((*value)?);
            rest = &rest[placeholder.len()..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    Some(filled)
}

/// Searches a line of output for the final message; the last line that has it counts.
pub(super) fn line(runner: &CustomRunner, run: &mut RunAccumulator, text: &str) {
    if let Answer::Json(path) = &runner.answer
        && let Some(value) = value_at(text, path)
    {
        run.message = Some(value);
    }
}

/// Reads the final message, and classifies a failure by the configured words.
pub(super) fn finish(runner: &CustomRunner, run: &mut RunAccumulator, end: &AttemptEnd<'_>) {
    let output = std::mem::take(&mut run.text).into_text();
    match &runner.answer {
        Answer::Stdout => run.message = Some(output.clone()),
        // No line had the value, but the output may be one document on several lines.
        Answer::Json(path) if run.message.is_none() => run.message = value_at(&output, path),
        Answer::File | Answer::Json(_) => {}
    }
    if end.exit == Exit::Code(0) {
        run.end = Some(match (&runner.answer, &run.message) {
            (Answer::Json(path), None) if !output.trim().is_empty() => Err(Failure::new(
                Class::BadOutput,
                format!("its output has no value at `{}`", path.join(".")),
            )),
            _ => Ok(()),
        });
        return;
    }
    let text = format!("{}\n{output}", end.stderr);
    let lower = text.to_lowercase();
    let hit = |words: &[String]| words.iter().any(|word| lower.contains(&word.to_lowercase()));
    let class = if hit(&runner.usage_limit) {
        Class::UsageLimit
    } else if hit(&runner.authentication) {
        Class::Authentication
    } else {
        return;
    };
    let detail = run.failure_text(end.stderr).unwrap_or(output);
    run.end = Some(Err(Failure { retry_after: parse_retry_after(&text), ..Failure::new(class, detail) }));
}

/// Returns the value at `path` in the JSON `text`. A value that is not a string is returned as JSON.
fn value_at(text: &str, path: &[String]) -> Option<String> {
    let whole: Value = serde_json::from_str(text).ok()?;
    let found = path.iter().try_fold(&whole, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })?;
    match found {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
