//! `adjutant codex`: a prompt for a Codex session of the hub, and what happens until its turn has ended.
//!
//! On pipes: what the agent says, and a line `[mcp METHOD] …` for each notification, in the wire's order.

mod decide;
mod list;
mod run;

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use clap::Args;
use tracing::level_filters::LevelFilter;

use super::output::{self, Failure};
use super::{Common, person};
use crate::config::Roots;
use crate::socket::Start;
use crate::socket::person::Person;

/// Most bytes of a prompt from stdin.
const LARGEST_PROMPT: u64 = 4 << 20;

/// Arguments of `adjutant codex`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct CodexArgs {
    /// What Codex is to do; read from stdin when it is not given
    prompt: Option<String>,
    /// Go on in this thread instead of a new one
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
    /// Put PROMPT into the running turn of the thread instead of waiting for its end
    #[arg(long, requires = "thread", conflicts_with_all = ["plain", "json"])]
    steer: bool,
    /// List the threads instead, the last used first; PROMPT is what to search for
    #[arg(long, conflicts_with_all = ["thread", "plain"])]
    list: bool,
    /// List what Codex waits for instead
    #[arg(long, conflicts_with_all = ["thread", "plain", "prompt", "list"])]
    approvals: bool,
    /// Approve what Codex waits for
    #[arg(long, value_name = "APPROVAL", conflicts_with_all = ["thread", "prompt", "list", "approvals"])]
    approve: Option<String>,
    /// Deny what Codex waits for; PROMPT is why, which the agent is told where its version can be told
    #[arg(long, value_name = "APPROVAL", conflicts_with_all = ["thread", "list", "approvals", "approve"])]
    deny: Option<String>,
    /// With --approve: also the same again in this session
    #[arg(long, requires = "approve")]
    for_session: bool,
}

/// Runs one prompt, or does what an option asks instead.
pub(super) fn run(args: CodexArgs, common: Common) -> Result<ExitCode, Failure> {
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let acts = args.list || args.approvals || args.approve.is_some() || args.deny.is_some() || args.steer;
    let view = terminal && !acts && !args.plain && !args.json;
    // A line of a log would tear the view.
    if !view {
        common.start_log(LevelFilter::WARN)?;
    }
    let config = common.config(Roots::User)?;
    let reach = || person::reach(&config, Start::IfNeeded);
    if args.list {
        return list::threads(&mut reach()?, args.prompt.as_deref().unwrap_or_default(), args.json);
    }
    if args.approvals {
        return decide::list(&mut reach()?, args.json);
    }
    if let Some(approval) = &args.approve {
        return decide::approve(&mut reach()?, approval, args.for_session);
    }
    if let Some(approval) = &args.deny {
        return decide::deny(&mut reach()?, approval, args.prompt);
    }
    if args.steer {
        return steer(&mut reach()?, args.thread.as_deref().unwrap_or_default(), args.prompt);
    }
    if view { run::view(args, &config) } else { run::run(args, config) }
}

/// Puts a prompt into a running turn.
fn steer(person: &mut Person, thread: &str, given: Option<String>) -> Result<ExitCode, Failure> {
    person.steer_codex(thread, prompt(given)?)?;
    output::note("Codex took it into the running turn");
    Ok(ExitCode::SUCCESS)
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
        return Err(Failure::usage("the prompt on stdin is empty"));
    }
    Ok(text)
}
