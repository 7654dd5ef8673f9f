//! `adjutant prompts show`.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::super::output::{self, Failure};
use super::super::{Common, source_files};
use super::{Folders, find};
use adjutant_base::text::escape_invisible::escape;
use adjutant_prompts::formats::placeholders::{default_text, value_text};
use adjutant_prompts::{Argument, Catalogue, Engine, Prompt, bundled_text};

/// Arguments of `adjutant prompts show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The prompt's name or alias
    name: String,
    /// Print the file itself
    #[arg(long, conflicts_with = "json")]
    source: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Prints one prompt.
pub(super) fn run(args: ShowArgs, common: Common) -> Result<ExitCode, Failure> {
    let (_, catalogue) = args.folders.load(common)?;
    let prompt = find(&catalogue, &args.name)?;
    if args.source {
        let bundled = bundled_text(&prompt.source.relative).unwrap_or(&prompt.body);
        output::text(source_files::text(&prompt.source, bundled)?.trim_end_matches('\n'))?;
    } else if args.json {
        output::json(&as_json(prompt, &catalogue))?;
    } else {
        output::data(&escape(as_text(prompt, &catalogue).trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hides<'a>(prompt: &Prompt, catalogue: &'a Catalogue) -> Vec<&'a Arc<Prompt>> {
    catalogue.overridden.iter().filter(|hidden| hidden.name == prompt.name).collect()
}

fn as_text(prompt: &Prompt, catalogue: &Catalogue) -> String {
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
    line(&format!("source   {}", source_files::file(&prompt.source)));
    for hidden in hides(prompt, catalogue) {
        line(&format!("hides    {}", source_files::place(&hidden.source)));
    }
    if !prompt.aliases.is_empty() {
        line(&format!("aliases  {}", prompt.aliases.join(", ")));
    }
    line(&format!("engine   {}", engine(prompt.engine)));
    line(&format!("digest   {}", prompt.digest));
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
    line(&format!("try      {}", usage(prompt)));
    text
}

/// Returns an example of how it is called.
fn usage(prompt: &Prompt) -> String {
    let values = prompt.arguments.iter().filter(|argument| argument.name != "input").map(|argument| {
        let value = default_text(argument)
            .or_else(|| argument.choices.first().map(value_text))
            .filter(|value| !value.is_empty() && !value.contains([' ', '"', '\'']));
        format!(" --arg {}={}", argument.name, value.as_deref().unwrap_or("…"))
    });
    format!("adjutant prompts expand {}{} \"some text\"", prompt.name, values.collect::<String>())
}

/// Returns type and limits of an argument in words.
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

fn engine(engine: Engine) -> &'static str {
    match engine {
        Engine::Literal => "literal",
        Engine::Args => "args",
        Engine::Jinja => "jinja",
    }
}

fn as_json(prompt: &Prompt, catalogue: &Catalogue) -> Value {
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
        "engine": engine(prompt.engine),
        "digest": prompt.digest,
        "source": source_files::as_json(&prompt.source),
        "hides": hides(prompt, catalogue).iter().map(|hidden| source_files::as_json(&hidden.source)).collect::<Vec<_>>(),
        "body": prompt.body,
    })
}
