//! `adjutant prompts show`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Folders, find};
use crate::cli::Common;
use crate::cli::output::Failure;
use crate::cli::source_files::{self, ShowArgs};
use adjutant_host::file_catalogue::Source;
use adjutant_prompts::formats::placeholders::{default_text, value_text};
use adjutant_prompts::{Argument, Prompt, bundled_text};

/// Prints one prompt.
pub(super) fn run(args: &ShowArgs<Folders>, common: Common) -> Result<(), Failure> {
    let catalogue = args.folders.load(common)?;
    let prompt = find(&catalogue, &args.name)?;
    let overridden = catalogue.overridden.iter().filter(|other| other.name == prompt.name);
    let overridden: Vec<&Source> = overridden.map(|other| &other.source).collect();
    let bundled = bundled_text(&prompt.source.relative).unwrap_or(&prompt.body);
    let (json, text) = (as_json(prompt, &overridden), as_text(prompt, &overridden));
    source_files::print_entry(args, &prompt.source, bundled, json, &text)
}

fn as_text(prompt: &Prompt, overridden: &[&Source]) -> String {
    let mut text = format!("{}\n", prompt.name);
    let mut line = |text_line: &str| {
        text.push_str(text_line);
        text.push('\n');
    };
    if let Some(title) = &prompt.title {
        line(title);
    }
    if !prompt.description.is_empty() {
        line("");
        line(&prompt.description);
    }
    line("");
    line(&format!("source    {}", source_files::file(&prompt.source)));
    for other in overridden {
        line(&format!("overrides {}", source_files::label(other)));
    }
    if !prompt.aliases.is_empty() {
        line(&format!("aliases   {}", prompt.aliases.join(", ")));
    }
    line(&format!("engine    {}", prompt.engine.name()));
    line(&format!("digest    {}", prompt.digest));
    if !prompt.arguments.is_empty() {
        line("");
        line("arguments");
    }
    let width = prompt.arguments.iter().map(|argument| argument.name.chars().count()).max().unwrap_or(0);
    for argument in &prompt.arguments {
        let mut about = rule(argument);
        if !argument.description.is_empty() {
            let _ = write!(about, "\n  {:width$}  {}", "", argument.description);
        }
        line(&format!("  {:width$}  {about}", argument.name));
    }
    line("");
    line(&format!("try       {}", usage(prompt)));
    text
}

/// Returns a command line that expands the prompt.
fn usage(prompt: &Prompt) -> String {
    let values = prompt.arguments.iter().filter(|argument| argument.name != "input").map(|argument| {
        let value = default_text(argument)
            .or_else(|| argument.choices.first().map(value_text))
            .filter(|value| !value.is_empty() && !value.contains([' ', '"', '\'']));
        format!(" --arg {}={}", argument.name, value.as_deref().unwrap_or("…"))
    });
    format!("adjutant prompts expand {}{} \"some text\"", prompt.name, values.collect::<String>())
}

/// Describes the type and the limits of an argument.
fn rule(argument: &Argument) -> String {
    let mut words = argument.kind.name().to_owned();
    if argument.required {
        words.push_str(", required");
    }
    if !argument.choices.is_empty() {
        let choices = argument.choices.iter().map(value_text);
        let _ = write!(words, ", one of {}", choices.collect::<Vec<_>>().join(" | "));
    }
    if let Some(pattern) = &argument.pattern {
        let _ = write!(words, ", matching {pattern}");
    }
    if let Some(default) = default_text(argument).filter(|default| !default.is_empty()) {
        let _ = write!(words, ", default {default}");
    }
    words
}

fn as_json(prompt: &Prompt, overridden: &[&Source]) -> Value {
    let arguments = prompt.arguments.iter().map(|argument| {
        json!({
            "name": argument.name,
            "description": argument.description,
            "type": argument.kind.name(),
            "required": argument.required,
            "default": argument.default,
            "enum": argument.choices,
            "pattern": argument.pattern,
        })
    });
    json!({
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
        "arguments": arguments.collect::<Vec<_>>(),
        "aliases": prompt.aliases,
        "engine": prompt.engine.name(),
        "digest": prompt.digest,
        "source": source_files::as_json(&prompt.source),
        "overrides": overridden.iter().map(|other| source_files::as_json(other)).collect::<Vec<_>>(),
        "body": prompt.body,
    })
}
