//! `adjutant hook CLIENT`: the command that a client runs when the user sends a prompt. It reads the client's JSON and
//! returns the full text of the prompt commands in it.
//!
//! A prompt must never wait for this or be lost to it: it asks no hub, reads files only when there is something like a
//! command, and whatever goes wrong is told on stderr and leaves the prompt as it is. A hub that runs is told what was
//! expanded once the client has its answer.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
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

/// How long the hub may take to be told.
const NOTIFY_TIMEOUT: Duration = Duration::from_millis(100);

/// Most bytes of what a client says.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024;

/// What to do where nothing that is a hook's comes in.
const BY_A_CLIENT: &str =
    "clients run this when a user sends a prompt; run `adjutant prompts expand` instead";

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
        Ok(Some(added)) => {
            output::data(&answer(&args.client, &added.text).to_string())?;
            added.tell(&args.client);
        }
        Ok(None) => {}
        Err(failure) => {
            failure.report();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is added to a prompt, and which hub hears of it.
struct Added {
    text: String,
    commands: Vec<HookCommand>,
    home: PathBuf,
    socket: Option<PathBuf>,
}

impl Added {
    /// Tells the hub, if one runs. The client may wait for the end of this process, so nothing here waits long.
    fn tell(self, client: &str) {
        let Self { commands, home, socket: Some(socket), .. } = self else { return };
        let known = Client::ALL.into_iter().find(|one| one.name() == client);
        let client = known.map_or_else(|| client.to_owned(), |known| known.title().to_owned());
        let hello = Hello::hook_report(HookReport { client, commands });
        let (done, told) = mpsc::channel();
        // A hub that takes no connections would keep whoever connects. The thread ends with the process.
        std::thread::spawn(move || {
            if let Err(error) = socket::notify(&home, &socket, &hello) {
                tracing::debug!(%error, "the hub was not notified");
            }
            drop(done);
        });
        let _: Result<(), _> = told.recv_timeout(NOTIFY_TIMEOUT);
    }
}

fn added(client: &str, common: Common) -> Result<Option<Added>, Failure> {
    // The first value is all there is; a client need not close the pipe.
    let mut values =
        serde_json::Deserializer::from_reader(io::stdin().lock().take(MAX_INPUT_BYTES)).into_iter();
    let asked: Asked = match values.next() {
        Some(Ok(asked)) => asked,
        Some(Err(error)) => {
            return Err(Failure::new(format!("the client's input cannot be read: {error}")).hint(BY_A_CLIENT));
        }
        None => return Err(Failure::new("the client sent no input").hint(BY_A_CLIENT)),
    };
    if !mentions::may_hold_any(&asked.prompt) {
        return Ok(None);
    }
    // The project is the one that the client works in. Where its folder cannot be entered, there is none.
    if let Some(folder) = asked.cwd.as_deref().filter(|folder| folder.is_absolute()) {
        let _ = std::env::set_current_dir(folder);
    }
    let config = common.config(Roots::Workspace)?;
    let prompts = Prompts::new(config.prompts.roots.clone(), config.prompts.limits());
    let catalogue = prompts.load();
    let commands = mentions::find(&asked.prompt, |name| catalogue.find(name).is_some());
    let mut left = room(client);
    let (texts, commands): (Vec<String>, Vec<HookCommand>) =
        commands.iter().map(|command| expanded(&prompts, &catalogue, command, &mut left)).unzip();
    let (text, home, socket) = (texts.join("\n\n"), config.home, config.socket);
    Ok((!texts.is_empty()).then_some(Added { text, commands, home, socket }))
}

/// Says what one command stands for, to the client and to the hub. `left` is how many bytes the client takes whole.
fn expanded(
    prompts: &Prompts,
    catalogue: &Catalogue,
    command: &Command<'_>,
    left: &mut usize,
) -> (String, HookCommand) {
    let Command { name, input } = command;
    let told = |expanded| HookCommand { name: (*name).to_owned(), expanded };
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
                return (text, told(Ok(expansion.text.len())));
            }
            let text = format!(
                "The prompt command `:{name}` in the user's message stands for a prompt that is too long to stand \
                 here. Before you answer, call expand_prompt with the command `{name}` and the text behind it as the \
                 input, and follow what it returns."
            );
            (
                text,
                told(Err(
                    "too long for this client's hook; the model is asked to call expand_prompt".to_owned()
                )),
            )
        }
        Err(error) => {
            let text = format!(
                "The prompt command `:{name}` in the user's message was not expanded: {error}. Tell the user so."
            );
            (text, told(Err(error.to_string())))
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
