//! `adjutant codex PROMPT`: one prompt, from its start to the end of its turn.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::{PromptArgs, prompt, resolve_full_id};
use crate::cli::hub_client;
use crate::cli::output::{self, Failure};
use adjutant_base::config::Config;
use adjutant_base::text::escape_invisible::{escape_json, escape_line};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_codex::event::End;
use adjutant_codex::text_log;
use adjutant_codex::thread_options::ThreadOptions;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::codex::{Ended, Progress, Prompt};
use adjutant_terminal::tui;

/// Exit code of a command that an interrupt ended, as in a shell.
const INTERRUPTED: u8 = 130;

/// Capacity of the queue of events for the screen.
const QUEUE_SIZE: usize = 256;

/// Event from the threads that talk to the hub.
enum Event {
    Progress(Progress),
    Ended(Result<Ended, Failure>),
    /// The interrupt was sent, or failed.
    Interrupting(Result<(), Failure>),
}

/// Runs the first turn of a thread, or the next one of `--thread`.
pub(super) fn run(mut args: PromptArgs, config: Config) -> Result<ExitCode, Failure> {
    args.prompt = Some(prompt(args.prompt.take())?);
    let (thread, start) = thread_options(args)?;
    turn(Prompt { thread, start }, config)
}

/// Prints the events of a turn. The first interrupt ends the turn, the second only this command.
pub(super) fn turn(prompt: Prompt, config: Config) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(watch(config, prompt));
    // The threads that talk to the hub end with the process.
    runtime.shutdown_background();
    let Some(ended) = ended? else { return Ok(ExitCode::from(INTERRUPTED)) };
    if output::is_json() {
        output::data(&escape_json(&json!({"ended": ended}).to_string()))?;
    } else {
        output::note(format!("[thread {}]", ended.thread));
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

/// Prints the events of a thread until it is interrupted, or the hub stops.
pub(super) fn follow(thread: &str, client: &mut ControlClient) -> Result<(), Failure> {
    let thread = resolve_full_id(client, thread)?;
    let hang_up = client.hang_up()?;
    let mut shown = Ok(true);
    let followed = client.codex_events(&thread, |progress| {
        if matches!(shown, Ok(true)) {
            shown = show(progress);
        }
        // Without a reader nothing is left to do.
        if !matches!(shown, Ok(true)) {
            hang_up.now();
        }
    });
    if shown? { Ok(followed?) } else { Ok(()) }
}

/// Shows the sessions on the whole terminal until the user leaves.
pub(super) fn view(mut args: PromptArgs, config: &Config) -> Result<ExitCode, Failure> {
    if args.prompt.as_deref() == Some("-") {
        args.prompt = Some(prompt(args.prompt.take())?);
    }
    let (mut thread, start) = thread_options(args)?;
    let mut client = hub_client::connect(config, Start::IfNeeded)?;
    // Without Codex the view could do nothing, and its error would be lost with its screen.
    client.codex_capabilities()?;
    if let Some(prefix) = &thread {
        thread = Some(resolve_full_id(&mut client, prefix)?);
    }
    drop(client);
    let hub = tui::Hub { home: config.home.clone(), socket: config.socket.clone(), start: Start::IfNeeded };
    let theme = tui::Theme { colour: output::colour(&std::io::stdout()) };
    if let Some(thread) = tui::codex::run(&hub, theme, tui::codex::Opening { thread, start })? {
        output::note(format!("adjutant codex --thread {thread} continues it"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the thread to continue, if one is named, and the options of a new one.
fn thread_options(args: PromptArgs) -> Result<(Option<String>, ThreadOptions), Failure> {
    let PromptArgs { prompt, thread, cwd, worktree, turn, sandbox, approval_policy, config, .. } = args;
    let mut turn = turn.input(prompt.unwrap_or_default())?;
    let model = turn.model.take();
    let start = ThreadOptions {
        turn,
        cwd: Some(folder(cwd.as_deref())?),
        worktree,
        model,
        sandbox,
        approval_policy,
        config: settings(&config)?,
        ..ThreadOptions::default()
    };
    Ok((thread, start))
}

/// Returns the end of the turn; `None` if the user left before.
async fn watch(config: Config, prompt: Prompt) -> Result<Option<Ended>, Failure> {
    let (sender, mut events) = mpsc::channel(QUEUE_SIZE);
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut interrupted = false;
    let mut thread: Option<String> = None;
    let interrupt = |thread: String| {
        let (sender, config) = (sender.clone(), config.clone());
        std::thread::spawn(move || {
            let sent = hub_client::connect(&config, Start::Never)
                .and_then(|mut client| Ok(client.interrupt_codex(&thread)?));
            let _ = sender.blocking_send(Event::Interrupting(sent));
        });
    };
    std::thread::spawn({
        let (sender, config) = (sender.clone(), config.clone());
        move || {
            let ended = hub_client::connect(&config, Start::IfNeeded).and_then(|mut client| {
                let mut prompt = prompt;
                if let Some(prefix) = &prompt.thread {
                    prompt.thread = Some(resolve_full_id(&mut client, prefix)?);
                }
                // The receiver is dropped when the user leaves.
                Ok(client
                    .run_codex(prompt, |progress| drop(sender.blocking_send(Event::Progress(progress))))?)
            });
            let _ = sender.blocking_send(Event::Ended(ended));
        }
    });
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(Event::Progress(progress)) => {
                    if let Progress::Thread { thread: id } = &progress {
                        // An interrupt may come before the hub has named the thread.
                        if interrupted && thread.is_none() {
                            interrupt(id.clone());
                        }
                        thread = Some(id.clone());
                    }
                    show(progress)?;
                }
                Some(Event::Ended(ended)) => return ended.map(Some),
                Some(Event::Interrupting(Ok(()))) => {
                    output::note("interrupting the turn; a second interrupt leaves it");
                }
                Some(Event::Interrupting(Err(failure))) => output::note(failure.message),
                None => return Ok(None),
            },
            _ = interrupts.recv() => {
                if interrupted {
                    return Ok(None);
                }
                interrupted = true;
                if let Some(thread) = &thread {
                    interrupt(thread.clone());
                }
            }
        }
    }
}

/// Prints a part of the answer. Returns whether a reader is left.
fn show(progress: Progress) -> Result<bool, Failure> {
    let json = output::is_json();
    let value = match progress {
        Progress::Thread { .. } if !json => return Ok(true),
        Progress::Missed { entries } if !json => {
            output::note(format!("{entries} events came faster than they were read"));
            return Ok(true);
        }
        Progress::Entry { batch, .. } if !json => {
            let mut lines = text_log::lines(&batch);
            lines.push(String::new());
            return output::raw(lines.join("\n").as_bytes());
        }
        Progress::Thread { thread } => json!({ "thread": thread }),
        Progress::Missed { entries } => json!({ "missed": entries }),
        Progress::Entry { batch, seq, at } => {
            let mut value = json!({"seq": seq, "at": stamp(instant(at)), "batch": batch});
            let events = value.pointer_mut("/batch/events").and_then(Value::as_array_mut);
            events.into_iter().flatten().for_each(put_instants);
            value
        }
    };
    output::raw(format!("{}\n", escape_json(&value.to_string())).as_bytes())
}

/// Replaces the times at which the limits in an event end by RFC 3339.
fn put_instants(event: &mut Value) {
    if let Some(of_agent) = event.get_mut("event") {
        put_instants(of_agent);
    }
    let windows = event.get_mut("windows").and_then(Value::as_array_mut);
    for window in windows.into_iter().flatten() {
        *window = output::with_instants(window.take(), &["/resets_at"]);
    }
}

fn folder(cwd: Option<&Path>) -> Result<String, Failure> {
    let folder = std::path::absolute(cwd.unwrap_or(Path::new(".")))?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", folder.display()))
            .hint("name the folder with --cwd"));
    }
    let path = folder.into_os_string().into_string();
    path.map_err(|path| Failure::usage(format!("{} is not UTF-8", path.to_string_lossy())))
}

/// Parses settings of the form `NAME=VALUE`.
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
