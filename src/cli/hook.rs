//! `adjutant hook CLIENT`: the command that a client runs when the user sends a prompt. It reads the client's JSON and
//! returns the full text of the prompt commands in it.
//!
//! It must never delay or lose a prompt: it works without a hub, reads files only if the prompt seems to contain a command,
//! and reports errors on stderr. A running hub is notified of the expansion after the client has its answer.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::{self, Failure};
use crate::install::Client;
use adjutant_base::config::Roots;
use adjutant_prompts::mentions;
use adjutant_prompts::mentions::Command;
use adjutant_prompts::{Catalogue, Inputs, Prompts};
use adjutant_terminal::socket::{self, Hello, HookCommand, HookReport};

/// The clients whose hooks may add to a prompt.
pub(super) const CLIENTS: [&str; 4] = ["claude", "codex", "copilot", "gemini"];

/// Time for notifying the hub.
const NOTIFY_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum bytes of a client's input.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024;

/// Hint for input that is not a hook's.
const FOR_CLIENTS: &str =
    "clients run this when a user sends a prompt; run `adjutant prompts expand` instead";

/// Arguments of `adjutant hook`.
#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The client that asks
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS))]
    pub(super) client: String,
}

/// Input of a client: the members that all clients send.
#[derive(Debug, Deserialize)]
struct HookInput {
    prompt: String,
    cwd: Option<PathBuf>,
}

/// Prints the expanded commands of the prompt, if it has some.
pub(super) fn run(args: &HookArgs, common: Common) -> Result<(), Failure> {
    // Clients show a failed hook in the conversation, and some hold the prompt back.
    let added = common.start_log(LevelFilter::ERROR).and_then(|()| added(&args.client, common));
    match added {
        Ok(Some(added)) => {
            output::data(&answer(&args.client, &added.text).to_string())?;
            added.notify_hub(&args.client);
        }
        Ok(None) => {}
        Err(failure) => {
            failure.report();
        }
    }
    Ok(())
}

/// Text to add to a prompt, and the hub to notify.
struct Added {
    text: String,
    commands: Vec<HookCommand>,
    home: PathBuf,
    socket: Option<PathBuf>,
}

impl Added {
    /// Notifies the hub, if one runs. The client may wait for the end of this process, so the wait is short.
    fn notify_hub(self, client: &str) {
        let Self { commands, home, socket: Some(socket), .. } = self else { return };
        let known = Client::from_name(client);
        let client = known.map_or_else(|| client.to_owned(), |known| known.title().to_owned());
        let hello = Hello::hook_report(HookReport { client, commands });
        let (done, notified) = mpsc::channel();
        // A hub that accepts no connections would block the thread, which ends with the process.
        std::thread::spawn(move || {
            if let Err(error) = socket::notify(&home, &socket, &hello) {
                tracing::debug!(%error, "the hub was not notified");
            }
            drop(done);
        });
        let _: Result<(), _> = notified.recv_timeout(NOTIFY_TIMEOUT);
    }
}

fn added(client: &str, common: Common) -> Result<Option<Added>, Failure> {
    // Only the first value is read, because a client need not close the pipe.
    let mut values =
        serde_json::Deserializer::from_reader(io::stdin().lock().take(MAX_INPUT_BYTES)).into_iter();
    let input: HookInput = match values.next() {
        Some(Ok(input)) => input,
        Some(Err(error)) => {
            return Err(Failure::new(format!("the client's input cannot be read: {error}")).hint(FOR_CLIENTS));
        }
        None => return Err(Failure::new("the client sent no input").hint(FOR_CLIENTS)),
    };
    if !mentions::may_hold_any(&input.prompt) {
        return Ok(None);
    }
    // The project is that of the client's working folder, if it can be entered.
    if let Some(folder) = input.cwd.as_deref().filter(|folder| folder.is_absolute()) {
        let _ = std::env::set_current_dir(folder);
    }
    let config = common.config(Roots::Workspace)?;
    let prompts = Prompts::new(&config.prompts);
    let catalogue = prompts.files.load();
    let commands = mentions::find(&input.prompt, |name| catalogue.find(name).is_some());
    let mut remaining = max_bytes(client);
    let (texts, commands): (Vec<String>, Vec<HookCommand>) =
        commands.iter().map(|command| expanded(&prompts, &catalogue, command, &mut remaining)).unzip();
    let (text, home, socket) = (texts.join("\n\n"), config.home, config.socket);
    Ok((!texts.is_empty()).then_some(Added { text, commands, home, socket }))
}

/// Returns the expansion of one command for the client, and its report for the hub. `remaining` bytes reach the model
/// uncut.
fn expanded(
    prompts: &Prompts,
    catalogue: &Catalogue,
    command: &Command<'_>,
    remaining: &mut usize,
) -> (String, HookCommand) {
    let Command { name, input } = command;
    let report = |expanded| HookCommand { name: (*name).to_owned(), expanded };
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
            if text.len() <= *remaining {
                *remaining -= text.len();
                return (text, report(Ok(expansion.text.len())));
            }
            let text = format!(
                "The prompt command `:{name}` in the user's message stands for a prompt that is too long to stand \
                 here. Before you answer, call expand_prompt with the command `{name}` and the text behind it as the \
                 input, and follow what it returns."
            );
            let reason = "too long for this client's hook; the model is asked to call expand_prompt";
            (text, report(Err(reason.to_owned())))
        }
        Err(error) => {
            let text = format!(
                "The prompt command `:{name}` in the user's message was not expanded: {error}. Tell the user so."
            );
            (text, report(Err(error.to_string())))
        }
    }
}

/// Returns the bytes that a client passes to the model uncut. Claude Code 2.1.329 shows a preview of a text over 10,000
/// characters, Codex 0.169.0 cuts a text after 2,500 tokens. The others accepted 60,000 characters in tests.
fn max_bytes(client: &str) -> usize {
    match client {
        "claude" | "codex" => 9_500,
        _ => 256 * 1024,
    }
}

/// Wraps a text as the client expects it.
fn answer(client: &str, text: &str) -> Value {
    let event = match client {
        "copilot" => return json!({"additionalContext": text}),
        "gemini" => "BeforeAgent",
        _ => "UserPromptSubmit",
    };
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}
