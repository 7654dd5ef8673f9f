//! `adjutant hook CLIENT`: what a client runs as a person sends a prompt. It reads the client's JSON and answers with
//! the full text of the prompt commands in it.
//!
//! A prompt must never wait for this or be lost to it: it asks no hub, reads files only when there is something like a
//! command, and whatever goes wrong is told on stderr and leaves the prompt as it is.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::{self, Failure};
use crate::config::Roots;
use crate::prompts::commands::{self, Command};
use crate::prompts::{Catalogue, Inputs, Prompts};

/// The clients whose hooks may add to a prompt.
pub(super) const CLIENTS: [&str; 4] = ["claude", "codex", "copilot", "gemini"];

/// Most bytes of what a client says.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Arguments of `adjutant hook`.
#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The client that asks
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS))]
    pub(super) client: String,
}

/// What a client says: the same two members in all of them, besides others.
#[derive(Debug, Deserialize)]
struct Asked {
    prompt: String,
    cwd: Option<PathBuf>,
}

/// Answers with what the commands of the prompt stand for, or with nothing.
pub(super) fn run(args: &HookArgs, common: Common) -> Result<ExitCode, Failure> {
    // A hook that fails is shown in the middle of a conversation, and some clients then hold the prompt back.
    let added = common.start_log(LevelFilter::ERROR).and_then(|()| added(&args.client, common));
    match added {
        Ok(Some(text)) => output::data(&answer(&args.client, &text).to_string())?,
        Ok(None) => {}
        Err(failure) => {
            failure.report();
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn added(client: &str, common: Common) -> Result<Option<String>, Failure> {
    // The first value is all there is; a client need not close the pipe.
    let mut values = serde_json::Deserializer::from_reader(io::stdin().lock().take(LARGEST)).into_iter();
    let asked: Asked = match values.next() {
        Some(Ok(asked)) => asked,
        Some(Err(error)) => {
            return Err(Failure::new(format!("what the client says cannot be read: {error}")));
        }
        None => return Err(Failure::new("the client says nothing")),
    };
    if !commands::may_hold_any(&asked.prompt) {
        return Ok(None);
    }
    // The project is the one that the client works in. Where its folder cannot be entered, there is none.
    if let Some(folder) = asked.cwd.as_deref().filter(|folder| folder.is_absolute()) {
        let _ = std::env::set_current_dir(folder);
    }
    let config = common.config(Roots::Workspace)?;
    let prompts = Prompts::new(config.prompts.roots, config.prompts.limits);
    let catalogue = prompts.load();
    let commands = commands::find(&asked.prompt, |name| catalogue.find(name).is_some());
    let mut left = room(client);
    let texts: Vec<_> =
        commands.iter().map(|command| expanded(&prompts, &catalogue, command, &mut left)).collect();
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// Says what one command stands for. `left` is how many bytes the client takes whole.
fn expanded(prompts: &Prompts, catalogue: &Catalogue, command: &Command<'_>, left: &mut usize) -> String {
    let Command { name, input } = command;
    match prompts.expand(catalogue, name, Inputs { text: input, named: None }) {
        Ok(expansion) => {
            let from = match expansion.prompt.source.root.as_str() {
                "project" => " (from a file of this project)",
                _ => "",
            };
            let text = format!(
                "The prompt command `:{name}` in the user's message stands for the prompt below{from}. Follow it as if \
                 the user had written it there. It is expanded already: do not call expand_prompt for it.\n\n{}",
                expansion.text
            );
            if text.len() <= *left {
                *left -= text.len();
                return text;
            }
            format!(
                "The prompt command `:{name}` in the user's message stands for a prompt that is too long to stand \
                 here. Before you answer, call expand_prompt with the command `{name}` and the text behind it as the \
                 input, and follow what it returns."
            )
        }
        Err(error) => {
            format!(
                "The prompt command `:{name}` in the user's message was not expanded: {error}. Tell the user so."
            )
        }
    }
}

/// Returns how many bytes a client takes whole. Claude Code 2.1.329 gives the model a preview of what is over 10,000
/// characters, Codex 0.169.0 cuts what is over 2,500 of its tokens; the others were seen to take 60,000.
fn room(client: &str) -> usize {
    match client {
        "claude" | "codex" => 9_500,
        _ => 256 * 1024,
    }
}

/// Puts a text where the client looks for it.
fn answer(client: &str, text: &str) -> Value {
    let event = match client {
        "copilot" => return json!({"additionalContext": text}),
        "gemini" => "BeforeAgent",
        _ => "UserPromptSubmit",
    };
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}
