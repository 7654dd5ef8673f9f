//! Any other CLI, as the configuration describes it: its argv with placeholders, how it takes the prompt, and where
//! it leaves its final message.

use std::collections::BTreeMap;

use serde_json::Value;

use super::environment::Own;
use super::failure::{Class, Failure};
use super::reader::{Dialect, Ended};
use super::seen::Seen;
use super::{CommandLine, Refused, Request};
use crate::agents::definition::Permission;
use crate::process::Exit;

pub(super) const OWN: Own = Own { names: &[], prefixes: &[] };

/// A CLI that the configuration describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandRunner {
    pub(crate) name: String,
    /// Program and arguments; `{prompt}`, `{workdir}`, `{model}`, `{permission}`, `{final_message_file}` and
    /// `{resume}` are replaced. An argument with a value that is missing is left out.
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: Stdin,
    pub(crate) answer: Answer,
    /// Values on top of the environment.
    pub(crate) env: BTreeMap<String, String>,
    /// Names that are passed on from the hub's environment.
    pub(crate) pass_env: Vec<String>,
    /// The levels that this command line really holds. Nobody but who wrote it can know.
    pub(crate) levels: Vec<Permission>,
    /// Words on stderr or in the output of a failed run that tell a usage limit, lower case.
    pub(crate) usage_limit: Vec<String>,
    /// The same for a login that is missing.
    pub(crate) authentication: Vec<String>,
}

/// What the process finds on stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    Prompt,
    Empty,
}

/// Where the final message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All of stdout.
    Stdout,
    /// The file that `{final_message_file}` names.
    File,
    /// A value in the JSON on stdout: keys and indices, in the last line that has it, else in the whole.
    Json(Vec<String>),
}

/// A run of this runner.
pub(super) fn command(runner: &CommandRunner, request: &Request<'_>) -> Result<CommandLine, Refused> {
    if !runner.levels.contains(&request.permission) {
        let held: Vec<&str> = runner.levels.iter().map(|level| level.name()).collect();
        let reason = if held.is_empty() {
            "its configuration names no level that its command line holds; name them in `levels`".to_owned()
        } else {
            format!("its configuration says that its command line holds {} only", held.join(", "))
        };
        return Err(request.refused(&runner.name, &reason));
    }
    let mut line = CommandLine::default();
    let file = request.scratch.join("final-message.txt");
    let uses = |placeholder: &str| runner.argv.iter().any(|argument| argument.contains(placeholder));
    if uses("{prompt}") && !request.fits_an_argument() {
        return Err(Refused::Unable {
            runner: runner.name.clone(),
            what: "take this prompt: it does not fit into an argument, and its configuration puts it there",
        });
    }
    let values = [
        ("{workdir}", request.workdir.to_str()),
        ("{model}", request.model),
        ("{permission}", Some(request.permission.name())),
        ("{final_message_file}", file.to_str()),
        ("{resume}", request.resume),
        // Last: what the prompt says is not looked at again.
        ("{prompt}", Some(request.prompt)),
    ];
    for argument in runner.argv.iter().skip(1) {
        if let Some(argument) = fill(argument, &values) {
            line.arg(argument);
        }
    }
    if runner.stdin == Stdin::Prompt {
        line.stdin(request.prompt);
    }
    for (name, value) in &runner.env {
        line.env(name, value);
    }
    if runner.answer == Answer::File {
        line.leaves.final_message = Some(file);
    }
    line.dialect = Some(Dialect::Command(std::sync::Arc::new(runner.clone())));
    Ok(line)
}

/// Replaces every placeholder in one pass; `None` where a value of it is missing.
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

impl CommandRunner {
    /// Looks for the final message in a line of output as it comes: the last one counts, however much went before.
    pub(super) fn line(&self, seen: &mut Seen, text: &str) {
        if let Answer::Json(path) = &self.answer
            && let Some(value) = value_at(text, path)
        {
            seen.message = Some(value);
        }
    }

    /// Finds the final message, and reads a failure by the configured words.
    pub(super) fn end(&self, seen: &mut Seen, ended: &Ended<'_>) {
        let output = std::mem::take(&mut seen.text).into_text();
        match &self.answer {
            Answer::Stdout => seen.message = Some(output.clone()),
            // No line had it by itself: the output may be one document on many lines.
            Answer::Json(path) if seen.message.is_none() => seen.message = value_at(&output, path),
            Answer::File | Answer::Json(_) => {}
        }
        if ended.exit == Exit::Code(0) {
            seen.end = Some(match (&self.answer, &seen.message) {
                (Answer::Json(path), None) if !output.trim().is_empty() => Err(Failure::new(
                    Class::BadOutput,
                    format!("its output has no value at `{}`", path.join(".")),
                )),
                _ => Ok(()),
            });
            return;
        }
        let told = format!("{}\n{output}", ended.stderr);
        let lower = told.to_lowercase();
        let hit = |words: &[String]| words.iter().any(|word| lower.contains(&word.to_lowercase()));
        let class = if hit(&self.usage_limit) {
            Class::UsageLimit
        } else if hit(&self.authentication) {
            Class::Authentication
        } else {
            return;
        };
        let words = seen.words_on(ended.stderr).unwrap_or(output);
        seen.end = Some(Err(Failure {
            retry_after: super::failure::wait_told(&told),
            ..Failure::new(class, words)
        }));
    }
}

/// The text at `path` in the JSON `text`. A value that is no string is given as JSON.
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
