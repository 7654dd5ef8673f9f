//! One prompt, from its start to the end of its turn.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::{PromptArgs, prompt, resolve_full_id};
use crate::cli::hub_client;
use crate::cli::output::{self, Failure};
use adjutant_base::config::Config;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_codex::event::End;
use adjutant_codex::text_log;
use adjutant_codex::thread_options::ThreadOptions;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::codex::{Ended, Progress, Prompt};
use adjutant_terminal::tui;

/// What a shell says of a command that an interrupt ended.
const INTERRUPTED: u8 = 130;

/// Events that wait for the screen.
const BACKLOG: usize = 256;

/// What the threads that talk to the hub tell.
enum News {
    Progress(Progress),
    Ended(Result<Ended, Failure>),
    /// Whether the hub was asked to end the turn.
    Interrupting(Result<(), Failure>),
}

/// Prints what happens. The first interrupt ends the turn, the second leaves it alone and this command.
pub(super) fn run(args: PromptArgs, config: Config) -> Result<ExitCode, Failure> {
    let json = args.json;
    let mut args = args;
    args.prompt = Some(prompt(args.prompt.take())?);
    let (thread, start) = order(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(watch(config, Prompt { thread, start }, json));
    // The threads that talk to the hub end with the process.
    runtime.shutdown_background();
    let Some(ended) = ended? else { return Ok(ExitCode::from(INTERRUPTED)) };
    if json {
        output::data(&json!({"ended": ended}).to_string())?;
    } else {
        output::note(format!("thread {}", ended.thread));
    }
    match ended.end {
        End::Completed => Ok(ExitCode::SUCCESS),
        End::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        End::Failed => Err(Failure::new(escape_line(ended.failure.as_deref().unwrap_or("the turn failed")))
            .hint(format!(
                "`adjutant codex show {0}` shows the turn, `adjutant log show {0}` every line of it",
                ended.thread
            ))),
    }
}

/// Shows the sessions on the whole terminal until the user leaves.
pub(super) fn view(args: PromptArgs, config: &Config) -> Result<ExitCode, Failure> {
    let mut args = args;
    if args.prompt.as_deref() == Some("-") {
        args.prompt = Some(prompt(args.prompt.take())?);
    }
    let (mut thread, start) = order(args)?;
    if let Some(begin) = &thread {
        thread = Some(resolve_full_id(&mut hub_client::connect(config, Start::IfNeeded)?, begin)?);
    }
    let hub = tui::Hub { home: config.home.clone(), socket: config.socket.clone(), start: Start::IfNeeded };
    let theme = tui::Theme { colour: output::colour(&std::io::stdout()) };
    if let Some(thread) = tui::codex::run(&hub, theme, tui::codex::Opening { thread, start })? {
        output::note(format!("adjutant codex --thread {thread} continues it"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the thread that the command line names, and with what a new one begins.
fn order(args: PromptArgs) -> Result<(Option<String>, ThreadOptions), Failure> {
    let PromptArgs { prompt, thread, cwd, model, sandbox, approval_policy, config, .. } = args;
    let start = ThreadOptions {
        prompt: prompt.unwrap_or_default(),
        cwd: Some(folder(cwd.as_deref())?),
        model,
        sandbox,
        approval_policy,
        config: settings(&config)?,
        ..ThreadOptions::default()
    };
    Ok((thread, start))
}

/// Returns how the turn ended; nothing when the person left before.
async fn watch(config: Config, order: Prompt, json: bool) -> Result<Option<Ended>, Failure> {
    let (news, mut told) = mpsc::channel(BACKLOG);
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut interrupted = false;
    let mut thread = None;
    std::thread::spawn({
        let (news, config) = (news.clone(), config.clone());
        move || {
            let ended = hub_client::connect(&config, Start::IfNeeded).and_then(|mut client| {
                let mut order = order;
                if let Some(begin) = &order.thread {
                    order.thread = Some(resolve_full_id(&mut client, begin)?);
                }
                // Nobody listens any more when the person has left.
                Ok(client.run_codex(order, |told| drop(news.blocking_send(News::Progress(told))))?)
            });
            let _ = news.blocking_send(News::Ended(ended));
        }
    });
    loop {
        tokio::select! {
            told = told.recv() => match told {
                Some(News::Progress(told)) => {
                    if let Progress::Thread { thread: name } = &told {
                        thread = Some(name.clone());
                    }
                    show(told, json)?;
                }
                Some(News::Ended(ended)) => return ended.map(Some),
                Some(News::Interrupting(Ok(()))) => output::note("interrupting the turn; once more leaves it"),
                Some(News::Interrupting(Err(failure))) => output::note(failure.message),
                None => return Ok(None),
            },
            _ = interrupts.recv() => {
                let Some(thread) = thread.clone().filter(|_| !interrupted) else { return Ok(None) };
                interrupted = true;
                let (news, config) = (news.clone(), config.clone());
                std::thread::spawn(move || {
                    let asked = hub_client::connect(&config, Start::Never)
                        .and_then(|mut client| Ok(client.interrupt_codex(&thread)?));
                    let _ = news.blocking_send(News::Interrupting(asked));
                });
            }
        }
    }
}

fn show(told: Progress, json: bool) -> Result<(), Failure> {
    match told {
        Progress::Thread { thread } if json => output::data(&json!({"thread": thread}).to_string()),
        Progress::Thread { .. } => Ok(()),
        Progress::Entry { batch, seq, at } if json => {
            output::data(&json!({"seq": seq, "at": at, "batch": batch}).to_string())
        }
        Progress::Entry { batch, .. } => {
            text_log::lines(&batch).iter().try_for_each(|line| output::data(line))
        }
        Progress::Missed { entries } => {
            output::note(format!("{entries} events came faster than they were read"));
            Ok(())
        }
    }
}

fn folder(given: Option<&Path>) -> Result<String, Failure> {
    let folder = std::path::absolute(given.unwrap_or(Path::new(".")))?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", folder.display()))
            .hint("name the folder with --cwd"));
    }
    let shown = folder.display().to_string();
    folder.into_os_string().into_string().map_err(|_| Failure::usage(format!("{shown} is not UTF-8")))
}

/// Reads `NAME=VALUE`.
fn settings(all: &[String]) -> Result<Map<String, Value>, Failure> {
    let one = |text: &String| {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Failure::usage(format!("--config {text} is not a setting")).hint("write it as NAME=VALUE")
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((name.to_owned(), value))
    };
    all.iter().map(one).collect()
}
