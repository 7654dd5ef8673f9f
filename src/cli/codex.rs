//! `adjutant codex`: a prompt for a Codex session of the hub, and what happens until its turn has ended; and verbs for
//! the sessions that there are.
//!
//! On pipes: what the agent says, and a line `[mcp METHOD] …` for each notification, in the wire's order.

mod decide;
mod list;
mod run;
mod show;
mod turn;

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::output::Failure;
use super::{Common, person};
use crate::config::Roots;
use crate::names::near_names;
use crate::socket::Start;
use crate::socket::person::Person;

/// Most bytes of a prompt from stdin.
const LARGEST_PROMPT: u64 = 4 << 20;

/// Characters of a thread's id.
const WHOLE: usize = 36;

/// Threads of one answer.
const MOST: u32 = 1000;

/// Arguments of `adjutant codex`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = VERBS)]
pub(super) struct CodexArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    prompt: PromptArgs,
}

const VERBS: &str = "\
Behind `--` a prompt may be the word of a command, or look like one: adjutant codex -- list";

/// What to hand to Codex, and how.
#[derive(Debug, Args)]
struct PromptArgs {
    /// What Codex is to do; read from stdin when it is not given
    prompt: Option<String>,
    /// A prompt of one word that is a command, or looks like one
    #[arg(last = true, value_name = "WORD", conflicts_with = "prompt")]
    literal: Option<String>,
    /// Go on in this thread instead of a new one; of its id the beginning is enough
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The folder that Codex works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<std::path::PathBuf>,
    /// The model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// What commands may do: read-only, workspace-write, danger-full-access
    #[arg(long, value_name = "MODE")]
    sandbox: Option<String>,
    /// When Codex asks: untrusted, on-failure, on-request, never; what a version knows differs
    #[arg(long, value_name = "POLICY")]
    approval_policy: Option<String>,
    /// A setting of Codex by its dotted name; the value is JSON, else text; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    config: Vec<String>,
    /// Print what the agent says and a line for each notification, as on a pipe
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the threads, the last used first
    List(list::ListArgs),
    /// Show one thread: where it stands, and what was said and done in it
    Show(show::ShowArgs),
    /// List what Codex waits for
    Approvals(decide::ApprovalsArgs),
    /// Approve what Codex waits for
    Approve(decide::ApproveArgs),
    /// Deny what Codex waits for
    Deny(decide::DenyArgs),
    /// Put words into a running turn instead of waiting for its end
    Steer(turn::SteerArgs),
    /// End a running turn
    Interrupt(turn::InterruptArgs),
}

/// Runs one prompt, or does what a verb asks instead.
pub(super) fn run(args: CodexArgs, common: Common) -> Result<ExitCode, Failure> {
    let CodexArgs { command, mut prompt } = args;
    if let Some(word) = &prompt.prompt {
        refuse_a_slip(word)?;
    }
    prompt.prompt = prompt.prompt.or(prompt.literal.take());
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let view = terminal && command.is_none() && !prompt.plain && !prompt.json;
    // A line of a log would tear the view.
    if !view {
        common.start_log(LevelFilter::WARN)?;
    }
    let config = common.config(Roots::User)?;
    let Some(command) = command else {
        return if view { run::view(prompt, &config) } else { run::run(prompt, config) };
    };
    let mut person = person::reach(&config, Start::IfNeeded)?;
    match command {
        Command::List(args) => list::run(&args, &mut person),
        Command::Show(args) => show::run(&args, &mut person),
        Command::Approvals(args) => decide::list(&args, &mut person),
        Command::Approve(args) => decide::approve(&args, &mut person),
        Command::Deny(args) => decide::deny(args, &mut person),
        Command::Steer(args) => turn::steer(args, &mut person),
        Command::Interrupt(args) => turn::interrupt(&args, &mut person),
    }
}

/// Refuses one word that is nearly a command: a slip of the finger would start a session, and cost what that costs.
fn refuse_a_slip(word: &str) -> Result<(), Failure> {
    if word.contains(char::is_whitespace) {
        return Ok(());
    }
    let verbs = Command::augment_subcommands(clap::Command::new("codex"));
    let near = near_names(word, verbs.get_subcommands().map(clap::Command::get_name));
    if near.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!("`{word}` looks like a command, not like a prompt"))
        .near(&near)
        .hint(format!("behind `--` it is a prompt all the same: adjutant codex -- {word}")))
}

/// Returns the whole id of the thread whose id begins so; what is not known is left to the hub to refuse.
fn whole(person: &mut Person, begin: &str) -> Result<String, Failure> {
    if begin.len() >= WHOLE {
        return Ok(begin.to_owned());
    }
    let threads = person.codex_threads("", MOST)?;
    let mut fitting = threads.iter().filter(|thread| thread.thread.starts_with(begin)).peekable();
    let exact = threads.iter().find(|thread| thread.thread == begin);
    match (exact, fitting.next(), fitting.peek()) {
        (Some(_), ..) | (None, None, _) => Ok(begin.to_owned()),
        (None, Some(one), None) => Ok(one.thread.clone()),
        (None, Some(_), Some(_)) => {
            Err(Failure::new(format!("several threads begin with `{begin}`")).hint("give more of the id"))
        }
    }
}

/// Returns the prompt: the argument, else all of stdin.
fn prompt(given: Option<String>) -> Result<String, Failure> {
    if let Some(prompt) = given.filter(|prompt| prompt != "-") {
        return Ok(prompt);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::usage("there is no prompt").hint("adjutant codex \"what to do\""));
    }
    let mut text = String::new();
    stdin.lock().take(LARGEST_PROMPT).read_to_string(&mut text)?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt on stdin is empty").hint("adjutant codex \"what to do\""));
    }
    Ok(text)
}
