//! `adjutant prompts expand`.

use std::io::{IsTerminal, Read};

use clap::Args;
use serde_json::{Map, Value, json};

use super::super::Common;
use super::super::output::{self, Failure};
use super::{Folders, failure};
use adjutant_prompts::{Inputs, Prompts};

/// Arguments of `adjutant prompts expand`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExpandArgs {
    /// The prompt's name or alias
    name: String,
    /// The text to put in; `-`, or nothing at the end of a pipe, reads it from stdin
    input: Vec<String>,
    /// The value of one argument; may be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = pair)]
    values: Vec<(String, String)>,
    #[command(flatten)]
    folders: Folders,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Prints the full prompt.
pub(super) fn run(args: ExpandArgs, common: Common) -> Result<(), Failure> {
    let config = args.folders.config(common)?;
    let piped = args.input.is_empty() && args.values.is_empty() && !std::io::stdin().is_terminal();
    let input = if piped || args.input == ["-"] {
        from_stdin(config.prompts.max_expansion_bytes)?
    } else {
        args.input.join(" ")
    };
    let mut named: Map<String, Value> = Map::new();
    for (name, value) in args.values {
        if named.insert(name.clone(), value.into()).is_some() {
            return Err(
                Failure::usage(format!("argument `{name}` is given twice")).hint("give each --arg once")
            );
        }
    }
    let prompts = Prompts::new(&config.prompts);
    let catalogue = prompts.files.load();
    let name = args.name.strip_prefix(':').unwrap_or(&args.name);
    let inputs = Inputs { text: &input, named: (!named.is_empty()).then_some(&named) };
    let expansion = prompts.expand(&catalogue, name, inputs).map_err(|error| failure(&error, name))?;
    if output::is_json() {
        let prompt = &expansion.prompt;
        return output::json(
            &json!({"id": prompt.name, "name": prompt.name, "digest": prompt.digest, "prompt": expansion.text}),
        );
    }
    output::text(&expansion.text)
}

fn from_stdin(limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(Failure::new(format!("the input is over the limit of {limit} bytes"))
            .hint("`max_expansion_bytes` below [prompts] in config.toml sets the limit"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| {
        Failure::new("the input is not UTF-8").hint("prompts are text; convert it first, such as with iconv")
    })?;
    // The line end of `echo` and of files is not part of what was said.
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}
