//! `adjutant delegate AGENT TASK`: delegates a task, shows its progress and prints its result.

use std::future::pending;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::output::{self, Failure};
use super::shutdown_signal::{HANG_UP, ShutdownSignal};
use super::source_files;
use super::tasks::progress::Progress;
use super::tasks::{as_json, parse_duration, result, short_id};
use super::{Common, hub_client};
use adjutant_agents::definition::{Isolation, Permission};
use adjutant_agents::{Task, TaskId, shell_words};
use adjutant_base::config::{Config, Roots};
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::tasks::{DelegateRequest, TaskUpdate};

/// Maximum bytes of a task on stdin; the limit of the hub is lower.
const MAX_TASK_BYTES: u64 = 8 * 1024 * 1024;

/// Time that a second signal leaves the hub to say that it cancels the task.
const CONFIRMATION_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two questions whether it does.
const CONFIRMATION_INTERVAL: Duration = Duration::from_millis(20);

/// Capacity of the queue of events for the screen.
const QUEUE_SIZE: usize = 64;

/// Arguments of `adjutant delegate`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 0: the agent has finished, and no check failed. Ctrl-C cancels the task.")]
pub(super) struct DelegateArgs {
    /// The agent, as `adjutant agents list` shows it
    agent: String,
    /// Text of the task; read from stdin if missing or `-`
    #[arg(allow_hyphen_values = true)]
    task: Option<String>,
    /// Working folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Command that checks the result in the folder after the run; may be repeated, and all must pass
    #[arg(long = "check", value_name = "COMMAND")]
    checks: Vec<String>,
    /// Queue the task, and print its id
    #[arg(long)]
    background: bool,
    /// Where the agent works: in the folder itself, or in a new git worktree
    #[arg(long, value_parser = PossibleValuesParser::new(Isolation::ALL.iter().map(|one| one.name())))]
    isolation: Option<String>,
    /// Permission level, at most the agent's own
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(Permission::ALL.iter().map(|level| level.name())))]
    permission: Option<String>,
    /// End the run after this long, like 90s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// A file with the JSON Schema that the final message must follow
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Try runners again that rest after a usage limit
    #[arg(long)]
    now: bool,
}

impl DelegateArgs {
    /// Reads the files that the arguments name, and checks all that needs no hub.
    fn request(self) -> Result<DelegateRequest, Failure> {
        let task = match self.task {
            Some(task) if task != "-" => task,
            None if io::stdin().is_terminal() => {
                return Err(Failure::usage("the task is missing")
                    .hint(format!("adjutant delegate {} \"…\"", self.agent)));
            }
            Some(_) | None => {
                let mut task = String::new();
                io::stdin().take(MAX_TASK_BYTES).read_to_string(&mut task).map_err(|error| {
                    Failure::new(format!("the task cannot be read from stdin: {error}"))
                        .hint("give it as an argument instead of `-`")
                })?;
                task
            }
        };
        let folder = self.workdir.unwrap_or_else(|| PathBuf::from("."));
        let workdir = std::fs::canonicalize(&folder).map_err(|error| {
            Failure::new(format!("cannot work in {}: {error}", folder.display()))
                .hint("name the folder with --workdir")
        })?;
        let workdir = workdir.to_str().ok_or_else(|| {
            Failure::new(format!("cannot work in {}: its path is not UTF-8", workdir.display()))
                .hint("name another folder with --workdir")
        })?;
        let checks = self.checks.iter().map(|line| {
            shell_words::split(line).map_err(|reason| {
                Failure::usage(format!("--check `{line}`: {reason}"))
                    .hint("a check is one command and its words, such as --check \"cargo test\"")
            })
        });
        let schema = self.schema.map(|file| {
            let hint = |failure: Failure| failure.hint("name a file with a JSON Schema");
            let text = source_files::read(&file).map_err(hint)?;
            serde_json::from_str(&text).map_err(|error| {
                hint(Failure::new(format!("cannot use the schema {}: {error}", file.display())))
            })
        });
        Ok(DelegateRequest {
            agent: self.agent,
            task,
            workdir: workdir.to_owned(),
            timeout_seconds: self.timeout.map(|timeout| timeout.as_secs()),
            output_schema: schema.transpose()?,
            checks: checks.collect::<Result<_, _>>()?,
            isolation: self.isolation.as_deref().and_then(Isolation::from_name),
            permission: self.permission.as_deref().and_then(Permission::from_name),
            now: self.now,
        })
    }
}

/// Delegates the task, and waits for its end without `--background`.
pub(super) fn run(args: DelegateArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let background = args.background;
    let request = args.request()?;
    if background {
        let task = hub_client::connect(&config, Start::IfNeeded)?.delegate(request)?;
        if output::is_json() {
            output::json(&as_json(&task))?;
        } else {
            output::data(task.id.as_str())?;
            output::note(format!("`adjutant tasks wait {}` waits for the result", short_id(&task.id)));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(watch(config, request));
    // The threads that talk to the hub end with the process.
    runtime.shutdown_background();
    result::print(&ended?)
}

/// Event from the threads that talk to the hub.
enum Event {
    /// The hub has stored the task.
    Accepted(Box<Task>),
    Progress(TaskUpdate),
    Ended(Result<Box<Task>, Failure>),
    NotCancelled(Failure),
    /// The hub cancels the task.
    Cancelling,
}

/// Delegates the task, shows its progress, and returns the ended task. The first signal cancels the task, the second only
/// leaves it. When the terminal closes, the task continues.
async fn watch(config: Config, request: DelegateRequest) -> Result<Task, Failure> {
    let mut stop = ShutdownSignal::new()?;
    let (sender, mut events) = mpsc::channel(QUEUE_SIZE);
    std::thread::spawn({
        let (sender, config) = (sender.clone(), config.clone());
        move || {
            let ended = follow(&config, request, &sender);
            let _ = sender.blocking_send(Event::Ended(ended));
        }
    });
    let mut progress = Progress::new();
    let mut accepted: Option<Box<Task>> = None;
    let mut cancelling = false;
    // Whether the hub has said that it cancels the task.
    let mut confirmed = false;
    let mut leave_by: Option<Instant> = None;
    loop {
        let left = |confirmed| left_running(accepted.as_ref().map(|task| &task.id), cancelling, confirmed);
        let leave = async {
            match leave_by {
                Some(end) => sleep_until(end.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = leave => {
                progress.clear();
                return Err(left(confirmed));
            }
            Some(event) = events.recv() => match event {
                Event::Accepted(task) => {
                    if cancelling {
                        cancel(config.clone(), task.id.clone(), sender.clone());
                    }
                    accepted = Some(task);
                }
                Event::Progress(update) => progress.show(&update),
                Event::Cancelling => {
                    confirmed = true;
                    if leave_by.is_some() {
                        progress.clear();
                        return Err(left(confirmed));
                    }
                }
                Event::Ended(ended) => {
                    progress.clear();
                    return ended.map(|task| *task);
                }
                Event::NotCancelled(failure) => progress.note(&format!("cannot cancel: {}", failure.message)),
            },
            signal = stop.received() => {
                if signal == HANG_UP || leave_by.is_some() || confirmed {
                    progress.clear();
                    return Err(left(confirmed));
                }
                if cancelling {
                    // A task that nobody cancels would go on.
                    leave_by = Some(Instant::now() + CONFIRMATION_TIMEOUT);
                    continue;
                }
                let id = accepted.as_ref().map(|task| task.id.clone());
                cancelling = true;
                progress.note("cancelling until no process of the task is left; a second signal leaves that to the hub");
                if let Some(id) = id {
                    cancel(config.clone(), id, sender.clone());
                }
            }
        }
    }
}

fn follow(
    config: &Config,
    request: DelegateRequest,
    sender: &mpsc::Sender<Event>,
) -> Result<Box<Task>, Failure> {
    let mut client = hub_client::connect(config, Start::IfNeeded)?;
    let task = client.delegate(request)?;
    let id = task.id.clone();
    let _ = sender.blocking_send(Event::Accepted(Box::new(task)));
    let ended = client.follow_task(id.as_str(), 0, true, |update| {
        let _ = sender.blocking_send(Event::Progress(update));
    });
    ended.map(Box::new).map_err(|error| {
        Failure::from(error).hint(format!("`adjutant tasks wait {}` continues waiting", short_id(&id)))
    })
}

/// Cancels on a second connection, because the first is busy with the events, and asks on a third one until the hub has the
/// request, because the second is answered once no process is left.
fn cancel(config: Config, id: TaskId, sender: mpsc::Sender<Event>) {
    std::thread::spawn({
        let (config, id, sender) = (config.clone(), id.clone(), sender.clone());
        move || {
            let Ok(mut client) = hub_client::connect(&config, Start::Never) else { return };
            while let Ok(task) = client.task(id.as_str()) {
                if task.cancelling || task.state.is_ended() {
                    let _ = sender.blocking_send(Event::Cancelling);
                    return;
                }
                std::thread::sleep(CONFIRMATION_INTERVAL);
            }
        }
    });
    std::thread::spawn(move || {
        let cancelled = hub_client::connect(&config, Start::Never)
            .and_then(|mut client| Ok(client.cancel_task(id.as_str())?));
        if let Err(failure) = cancelled {
            let _ = sender.blocking_send(Event::NotCancelled(failure));
        }
    });
}

fn left_running(id: Option<&TaskId>, cancelling: bool, confirmed: bool) -> Failure {
    match id {
        Some(id) if cancelling && !confirmed => {
            Failure::new(format!("left task {id}; the hub has not said that it cancels the task"))
                .hint(format!("`adjutant tasks cancel {}` cancels it", short_id(id)))
        }
        Some(id) if cancelling => Failure::new(format!("left task {id} while it is being cancelled"))
            .hint(format!("`adjutant tasks show {}` shows the result", short_id(id))),
        Some(id) => Failure::new(format!("left task {id}; it continues")).hint(format!(
            "`adjutant tasks wait {0}` waits for it, `adjutant tasks cancel {0}` cancels it",
            short_id(id)
        )),
        None => Failure::new("left before the hub had accepted the task")
            .hint("`adjutant tasks list` shows whether it did"),
    }
}
