//! `adjutant hook CLIENT`: the command that a client runs when the user sends a prompt, and when it needs a permission. It
//! reads the client's JSON, and returns the full text of the prompt commands in it, or the decision.
//!
//! For a permission it asks the running hub. Without a decision it returns nothing, so that the client asks by itself.
//! It must never delay or lose a prompt: it works without a hub, reads files only if the prompt seems to contain a
//! command, and reports errors on stderr. A running hub is notified of the expansion after the client has its answer.

mod client_json;
mod permission;

use std::io;
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
use adjutant_base::config::{self, Roots};
use adjutant_base::text::clip;
use adjutant_prompts::mentions;
use adjutant_prompts::mentions::Command;
use adjutant_prompts::{Catalogue, Error, Inputs, Prompts};
use adjutant_terminal::socket::{self, Hello, HookCommand, HookReport};

/// The clients with hooks that ask for permissions; all but opencode's may also add to a prompt.
pub(super) const CLIENTS: [&str; 5] = ["claude", "codex", "copilot", "gemini", "opencode"];

/// Time for notifying the hub.
const NOTIFY_TIMEOUT: Duration = Duration::from_millis(100);

/// The text between the texts for two commands.
const SEPARATOR: &str = "\n\n";

/// Maximum characters of the reason why a command is not expanded.
const MAX_REASON_CHARS: usize = 500;

/// Hint for input that is not a hook's.
const FOR_CLIENTS: &str =
    "clients run this with an event as input; run `adjutant prompts expand` for a prompt";

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
    let input = common.start_log(LevelFilter::ERROR).and_then(|()| input());
    let added = match input {
        Ok(input) if ["tool_name", "toolName"].iter().any(|name| input.get(name).is_some()) => {
            if let Some(decision) = decision(&args.client, &input, common) {
                output::data(&decision.to_string())?;
            }
            return Ok(());
        }
        Ok(input) => added(&args.client, input, common),
        Err(failure) => Err(failure),
    };
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

fn input() -> Result<Value, Failure> {
    let input = client_json::read(io::stdin().lock())
        .map_err(|error| Failure::new(format!("stdin cannot be read: {error}")))?;
    if input.trim_ascii().is_empty() {
        return Err(Failure::new("the client sent no input").hint(FOR_CLIENTS));
    }
    client_json::parse(&input).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::new(format!("the client's input cannot be read: {error}")).hint(FOR_CLIENTS)
}

/// Returns the decision of the running hub in the client's form; `None` leaves it to the client.
fn decision(client: &str, input: &Value, common: Common) -> Option<Value> {
    let (form, call) = permission::parse(client, input)?;
    let home = config::home(common.home).ok()?;
    // A configuration with very many rules takes long to parse, and the hub's lock names another socket.
    let answer = socket::ask_permission(&home, &config::default_socket(&home), &call);
    let answer = answer.inspect_err(|error| tracing::debug!(%error, "the client decides by itself")).ok()?;
    permission::render(form, &answer)
}

fn added(client: &str, input: Value, common: Common) -> Result<Option<Added>, Failure> {
    let mut input: HookInput = serde_json::from_value(input).map_err(|error| unreadable(&error))?;
    // Invisible characters of a pasted text may precede the first word.
    input.prompt = input.prompt.trim_start_matches(['\u{feff}', '\u{200b}', '\u{2060}']).to_owned();
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
    let is_named = |name: &str| catalogue.find(name).is_some() || catalogue.broken(name).is_some();
    let commands = mentions::find(&input.prompt, is_named);
    let mut answers: Vec<Answer> =
        commands.iter().map(|command| expanded(&prompts, &catalogue, command)).collect();
    // Elsewhere in a message, a colon before an unknown word is ordinary text.
    if let Some(name) = mentions::first(&input.prompt)
        && commands.iter().all(|command| command.name != name)
        && let Some(answer) = misspelt(&catalogue, name)
    {
        answers.insert(0, answer);
    }
    let (texts, commands): (Vec<String>, _) = fitting(client, answers).into_iter().unzip();
    let (text, home, socket) = (texts.join(SEPARATOR), config.home, config.socket);
    Ok((!texts.is_empty()).then_some(Added { text, commands, home, socket }))
}

/// The text for one command of a message, and its report for the hub.
type Answer = (String, HookCommand);

/// Returns the expansion of one command, or the reason why there is none.
fn expanded(prompts: &Prompts, catalogue: &Catalogue, Command { name, input }: &Command<'_>) -> Answer {
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
            (text, HookCommand { name: (*name).to_owned(), expanded: Ok(expansion.text.len()) })
        }
        Err(error) => failed(name, &error.to_string()),
    }
}

/// Returns the answer to the first word of a message if it seems to be the name of a prompt with a mistake.
fn misspelt(catalogue: &Catalogue, name: &str) -> Option<Answer> {
    if catalogue.find(name).is_some() {
        return Some(failed(name, &format!("punctuation follows the name; did you mean `:{name}`?")));
    }
    match catalogue.missing(name) {
        Error::Unknown { near, .. } if near.is_empty() => None,
        Error::Unknown { near, .. } => {
            let near: Vec<String> = near.iter().map(|name| format!("`:{name}`")).collect();
            Some(failed(name, &format!("no prompt has this name; did you mean {}?", near.join(" or "))))
        }
        error => Some(failed(name, &error.to_string())),
    }
}

fn failed(name: &str, reason: &str) -> Answer {
    let reason = clip::chars(reason, MAX_REASON_CHARS);
    let text = format!(
        "The prompt command `:{name}` in the user's message was not expanded. Give the user the reason: {reason}"
    );
    (text, HookCommand { name: name.to_owned(), expanded: Err(reason.into_owned()) })
}

/// Returns the answers with the expansions that the client passes to the model uncut. The model is asked to expand the
/// others itself.
fn fitting(client: &str, answers: Vec<Answer>) -> Vec<Answer> {
    let (length, limit) = size_limit(client);
    let short = |answer: &Answer| match answer {
        (_, HookCommand { name, expanded: Ok(_) }) => {
            let text = format!(
                "The prompt command `:{name}` in the user's message means a prompt that is too long for this \
                 message. Before you answer, call expand_prompt with the command `{name}` and the text after it as the \
                 input, and follow what it returns."
            );
            let reason = "too long for this client's hook; the model is asked to call expand_prompt";
            (text, HookCommand { name: name.clone(), expanded: Err(reason.to_owned()) })
        }
        (text, HookCommand { name, expanded }) => {
            (text.clone(), HookCommand { name: name.clone(), expanded: expanded.clone() })
        }
    };
    let short: Vec<Answer> = answers.iter().map(short).collect();
    let mut total: usize = short.iter().map(|(text, _)| length(text) + SEPARATOR.len()).sum();
    let fitting = answers.into_iter().zip(short).map(|(full, short)| {
        let with_full = total - length(&short.0) + length(&full.0);
        if with_full > limit {
            return short;
        }
        total = with_full;
        full
    });
    fitting.collect()
}

/// Returns the measure of a client for texts, and the length that it passes to the model uncut, with a margin. Claude
/// Code 2.1.329 counts UTF-16 units and shows a preview over 10,000. Codex 0.169.0 counts a token for every four bytes
/// and cuts after 2,500. The others accepted 60,000 characters in tests.
fn size_limit(client: &str) -> (fn(&str) -> usize, usize) {
    match client {
        "claude" => (|text| text.encode_utf16().count(), 9_500),
        "codex" => (str::len, 9_500),
        _ => (str::len, 256 * 1024),
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
