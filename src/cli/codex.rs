//! `adjutant codex`: runs one turn of a Codex session of the hub; and commands for existing sessions.
//!
//! On a pipe it prints the agent's messages, and a line `[mcp METHOD] …` for each notification, in the order of the wire.

mod approvals;
mod list;
mod operations;
mod run;
mod show;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_base::config::{Roots, env};
use adjutant_base::text::suggest::near_names;
use adjutant_codex::Query;
use adjutant_codex::approval::Decision;
use adjutant_codex::thread_options::{Act, ReviewTarget, ThreadOptions, TurnInput};
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::codex::Prompt;

/// Maximum bytes of a prompt from stdin.
const MAX_PROMPT_BYTES: u64 = 4 << 20;

/// Characters of a thread's full id, and the minimum that is shown of it.
const ID_LEN: usize = 36;
const MIN_ID_LEN: usize = 8;

/// Maximum threads that a hint names.
const MAX_NAMED: usize = 4;

/// Maximum threads of one answer.
const MAX_THREADS: u32 = 1000;

/// Arguments of `adjutant codex`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = VERBS)]
pub(super) struct CodexArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    prompt: PromptArgs,
}

const VERBS: &str = "A prompt that looks like a command: adjutant codex -- list";

/// Arguments of a prompt.
#[derive(Debug, Args)]
struct PromptArgs {
    /// Prompt for Codex; read from stdin if missing
    prompt: Option<String>,
    /// Prompt of one word that looks like a command
    #[arg(last = true, hide = true, value_name = "WORD", conflicts_with = "prompt")]
    literal: Option<String>,
    /// Thread to continue; enough of its id
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Working folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    turn: TurnArgs,
    /// Work in a new git worktree of the folder
    #[arg(long, conflicts_with = "thread")]
    worktree: bool,
    /// Sandbox of commands, such as `read-only`
    #[arg(long, value_name = "MODE")]
    sandbox: Option<String>,
    /// Approval policy of Codex, such as `never`
    #[arg(long, value_name = "WHEN")]
    approval_policy: Option<String>,
    /// Codex setting by dotted name; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    config: Vec<String>,
    /// Print lines, as on a pipe
    #[arg(long, conflicts_with = "json")]
    plain: bool,
}

/// Arguments of a turn.
#[derive(Debug, Args)]
struct TurnArgs {
    /// Model from this turn on
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Reasoning effort from this turn on
    #[arg(long, value_name = "EFFORT")]
    effort: Option<String>,
    #[command(flatten)]
    attachments: AttachmentArgs,
}

/// Arguments of a prompt, for a new or a running turn.
#[derive(Debug, Args)]
struct AttachmentArgs {
    /// Image for the model; may be repeated
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// File to name as `@FILE`; may be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
}

impl TurnArgs {
    /// Returns the input of a turn with this prompt.
    fn input(self, text: String) -> Result<TurnInput, Failure> {
        let Self { model, effort, attachments } = self;
        Ok(TurnInput { model, effort, ..attachments.input(text)? })
    }
}

impl AttachmentArgs {
    /// Returns the input of a turn with this prompt.
    fn input(self, text: String) -> Result<TurnInput, Failure> {
        let path = |path: &PathBuf| {
            let whole = std::path::absolute(path)?;
            if !whole.is_file() {
                return Err(Failure::usage(format!("{} is not a file", whole.display())));
            }
            let text = whole.into_os_string().into_string();
            text.map_err(|path| Failure::usage(format!("{} is not UTF-8", path.to_string_lossy())))
        };
        Ok(TurnInput {
            text,
            images: self.image.iter().map(path).collect::<Result<_, Failure>>()?,
            files: self.file.iter().map(path).collect::<Result<_, Failure>>()?,
            ..TurnInput::default()
        })
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the threads, the last used first
    List(list::ListArgs),
    /// Show one thread: its state and its items
    Show(show::ShowArgs),
    /// Print what happens in a thread from now on
    Follow {
        /// The thread's id, or enough of its beginning
        thread: String,
    },
    /// Send the next prompt of a thread
    Reply {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// Prompt for Codex; read from stdin if missing
        prompt: Option<String>,
        #[command(flatten)]
        turn: TurnArgs,
    },
    /// Steer a running turn with a further prompt
    Steer {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// Prompt for Codex; read from stdin if missing
        prompt: Option<String>,
        #[command(flatten)]
        attachments: AttachmentArgs,
    },
    /// Interrupt a running turn
    Interrupt {
        /// The thread's id, or enough of its beginning
        thread: String,
    },
    /// List pending approvals of Codex
    Approvals,
    /// Approve a request of Codex
    Approve {
        /// The approval, as `adjutant codex approvals` shows it
        approval: String,
        /// Approve the same request for the rest of the session
        #[arg(long)]
        for_session: bool,
        /// Approve, and never be asked again for what `adjutant codex approvals` says
        #[arg(long, conflicts_with = "for_session")]
        always: bool,
    },
    /// Deny a request of Codex
    Deny {
        /// The approval, as `adjutant codex approvals` shows it
        approval: String,
        /// Reason, which Codex gets if its version supports it
        why: Option<String>,
    },
    /// Review changes in the folder of a thread
    Review {
        /// The thread's id, or enough of its beginning
        thread: String,
        /// What to review, in words [default: the uncommitted changes]
        #[arg(conflicts_with_all = ["base", "commit"])]
        instructions: Option<String>,
        /// Review the changes since this branch was left
        #[arg(long, value_name = "BRANCH", conflicts_with = "commit")]
        base: Option<String>,
        /// Review this commit
        #[arg(long, value_name = "COMMIT")]
        commit: Option<String>,
    },
    /// Replace the history in the model's context by a summary
    Compact {
        /// The thread's id, or enough of its beginning
        thread: String,
    },
    #[command(flatten)]
    Operation(operations::OperationCommand),
}

/// Runs one prompt, or one of the commands.
pub(super) fn run(args: CodexArgs, common: Common) -> Result<ExitCode, Failure> {
    let CodexArgs { command, mut prompt } = args;
    if let Some(word) = &prompt.prompt {
        reject_probable_typo(word)?;
    }
    prompt.prompt = prompt.prompt.or(prompt.literal.take());
    let terminal =
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !env::is_dumb_terminal();
    let view = terminal && command.is_none() && !prompt.plain && !output::is_json();
    let config = common.config(Roots::User)?;
    let connect = || hub_client::connect(&config, Start::IfNeeded);
    let turn = |thread: String, turn: TurnInput| Prompt {
        thread: Some(thread),
        start: ThreadOptions { turn, ..ThreadOptions::default() },
    };
    match command {
        None if view => return run::view(prompt, &config),
        None => return run::run(prompt, config),
        Some(Command::Reply { thread, prompt: text, turn: args }) => {
            return run::turn(turn(thread, args.input(self::prompt(text)?)?), config);
        }
        Some(Command::Compact { thread }) => {
            let input = TurnInput { act: Act::Compact, ..TurnInput::default() };
            return run::turn(turn(thread, input), config);
        }
        Some(Command::Review { thread, instructions, base, commit }) => {
            let target = match (instructions, base, commit) {
                (Some(instructions), ..) => ReviewTarget::Custom { instructions },
                (_, Some(branch), _) => ReviewTarget::BaseBranch { branch },
                (.., Some(sha)) => ReviewTarget::Commit { sha, title: None },
                _ => ReviewTarget::UncommittedChanges,
            };
            let input = TurnInput { act: Act::Review(target), ..TurnInput::default() };
            return run::turn(turn(thread, input), config);
        }
        Some(Command::List(args)) => list::run(&args, &mut connect()?)?,
        Some(Command::Show(args)) => show::run(&args, &mut connect()?)?,
        Some(Command::Operation(command)) => operations::run(command, &mut connect()?)?,
        Some(Command::Follow { thread }) => run::follow(&thread, &mut connect()?)?,
        Some(Command::Approvals) => approvals::list(&mut connect()?)?,
        Some(Command::Approve { approval, for_session, always }) => {
            let decision = match (for_session, always) {
                (true, _) => Decision::ApproveForSession,
                (_, true) => Decision::ApproveAlways,
                _ => Decision::Approve,
            };
            connect()?.decide_codex(&approval, decision)?;
            decided(&approval, "approved")?;
        }
        Some(Command::Deny { approval, why }) => {
            connect()?.decide_codex(&approval, Decision::Deny { note: why })?;
            decided(&approval, "denied")?;
        }
        Some(Command::Steer { thread, prompt: text, attachments }) => {
            let input = attachments.input(self::prompt(text)?)?;
            let mut client = connect()?;
            let thread = resolve_full_id(&mut client, &thread)?;
            client.steer_codex(&thread, input)?;
            output::changed(
                "the prompt was added to the running turn",
                &json!({"id": thread, "thread_id": thread}),
            )?;
        }
        Some(Command::Interrupt { thread }) => {
            let mut client = connect()?;
            let thread = resolve_full_id(&mut client, &thread)?;
            client.interrupt_codex(&thread)?;
            output::changed(
                "Codex was asked to interrupt the turn",
                &json!({"id": thread, "thread_id": thread}),
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports a decision.
fn decided(approval: &str, decision: &str) -> Result<(), Failure> {
    let value = json!({"id": approval, "approval_id": approval, "decision": decision});
    output::changed(format!("{decision} {approval}"), &value)
}

/// Rejects a prompt of one word that resembles a command, because a typo would start a session, which costs tokens.
fn reject_probable_typo(word: &str) -> Result<(), Failure> {
    if word.contains(char::is_whitespace) {
        return Ok(());
    }
    let verbs = Command::augment_subcommands(clap::Command::new("codex"));
    let near = near_names(word, verbs.get_subcommands().map(clap::Command::get_name));
    if near.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!("`{word}` looks like a command, not like a prompt"))
        .suggest(&near)
        .hint(format!("to use it as a prompt, write: adjutant codex -- {word}")))
}

/// Returns a thread as JSON, with its id and its instants as text.
fn as_json(thread: &impl Serialize) -> Value {
    let mut value = output::with_instants(json!(thread), &["/created_at", "/updated_at"]);
    if let Some(archived) = value.get_mut("archived") {
        *archived = (*archived == 1).into();
    }
    value["id"] = value["thread"].clone();
    output::identified(value, "thread_id")
}

/// Returns the full id of the thread with this prefix. The hub rejects an unknown id.
fn resolve_full_id(client: &mut ControlClient, prefix: &str) -> Result<String, Failure> {
    if prefix.len() >= ID_LEN {
        return Ok(prefix.to_owned());
    }
    let ids = all_ids(client)?;
    let matching: Vec<&String> = ids.iter().filter(|id| id.starts_with(prefix)).collect();
    match matching.as_slice() {
        _ if ids.iter().any(|id| id == prefix) => Ok(prefix.to_owned()),
        [] => Ok(prefix.to_owned()),
        [one] => Ok((*one).clone()),
        several => {
            let enough: Vec<_> =
                several.iter().take(MAX_NAMED).map(|id| format!("`{}`", unique_prefix(id, &ids))).collect();
            Err(Failure::new(format!("{} threads begin with `{prefix}`", several.len()))
                .hint(format!("enough of the id is {}", enough.join(" or "))))
        }
    }
}

/// Returns the ids of the threads, archived ones too.
fn all_ids(client: &mut ControlClient) -> Result<Vec<String>, Failure> {
    let all = Query { limit: MAX_THREADS, ..Query::default() };
    let mut threads = client.codex_threads(all.clone())?;
    threads.extend(client.codex_threads(Query { archived: true, ..all })?);
    Ok(threads.into_iter().map(|thread| thread.row.id).collect())
}

/// Returns the beginning of an id that no other id has.
fn unique_prefix<'a>(id: &'a str, ids: &[String]) -> &'a str {
    let shared = |other: &String| id.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let longest = ids.iter().filter(|other| *other != id).map(shared).max().unwrap_or(0);
    id.get(..MIN_ID_LEN.max(longest + 1)).unwrap_or(id)
}

/// Returns the prompt: the argument, else all of stdin.
fn prompt(argument: Option<String>) -> Result<String, Failure> {
    if let Some(prompt) = argument.filter(|prompt| prompt != "-") {
        return Ok(prompt);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::usage("there is no prompt").hint("adjutant codex \"what to do\""));
    }
    let mut text = String::new();
    stdin.lock().take(MAX_PROMPT_BYTES).read_to_string(&mut text)?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt on stdin is empty").hint("adjutant codex \"what to do\""));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::unique_prefix;

    #[test]
    fn so_many_digits_of_an_id_are_shown_as_no_other_id_begins_with() {
        let ids = ["01a20975-0000-7abc", "01a20975-0001-7abc", "01a30000-0000-7abc"].map(ToOwned::to_owned);
        let shown = ids.each_ref().map(|id| unique_prefix(id, &ids));
        assert_eq!(shown, ["01a20975-0000", "01a20975-0001", "01a30000"]);
        assert_eq!(unique_prefix("t-1", &["t-1".to_owned(), "t-10".to_owned()]), "t-1");
    }
}
