//! `adjutant log …`: recordings, read without a hub.

mod export;
mod list;
mod replay;
mod show;
mod tail;

use std::collections::HashSet;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::Value;
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::{Failure, clipped};
use adjutant_base::config::Roots;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::recorder::format::{Direction, Entry};
use adjutant_host::recorder::redact;

/// Characters of a message on one line.
const SHOWN: usize = 200;
/// Requests whose answers are waited for by a filter; one that never gets an answer must not stay for ever.
const OPEN: usize = 4096;

/// Arguments of `adjutant log`.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the recordings, the last used first
    List(list::ListArgs),
    /// Print messages while they are recorded
    Tail(tail::TailArgs),
    /// Print a recording, a line for each message
    Show(show::ShowArgs),
    /// Export a recording without its secrets
    Export(export::ExportArgs),
    /// Replay the server of a recording, or its client
    Replay(replay::ReplayArgs),
}

/// Runs one of the commands.
pub(super) fn run(args: LogArgs, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let folder = common.config(Roots::User)?.log.folder.unwrap_or_default();
    match args.command {
        Command::List(args) => list::run(&args, &folder),
        Command::Tail(args) => tail::run(&args, &folder),
        Command::Show(args) => show::run(&args, &folder),
        Command::Export(args) => export::run(&args, &folder),
        Command::Replay(args) => replay::run(&args, &folder),
    }
}

/// Which entries are wanted.
#[derive(Debug, Args)]
struct Wanted {
    /// Only messages of this method and the answers to them; `item/*` for all that begin so; may be repeated
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Only one direction: c2s (to the server), s2c (to the client), err (its stderr), note
    #[arg(long, value_name = "DIRECTION", value_parser = direction(), hide_possible_values = true)]
    direction: Option<Direction>,
    /// Show secrets as they were recorded
    #[arg(long)]
    secrets: bool,
}

fn direction() -> impl TypedValueParser<Value = Direction> {
    let all = [Direction::C2s, Direction::S2c, Direction::Err, Direction::Note];
    PossibleValuesParser::new(all.map(Direction::as_str))
        .try_map(move |name| all.into_iter().find(|one| one.as_str() == name).ok_or("no direction"))
}

/// Chooses entries, and knows which answers belong to the methods that were asked for.
struct Filter<'a> {
    wanted: &'a Wanted,
    /// The direction of an answer and its id.
    answers: HashSet<(&'static str, String)>,
}

impl<'a> Filter<'a> {
    fn new(wanted: &'a Wanted) -> Self {
        Self { wanted, answers: HashSet::new() }
    }

    /// Takes the secrets out of an entry, and tells whether it is wanted and whether there were any.
    fn pass(&mut self, entry: &mut Entry<'_>) -> Option<bool> {
        let Wanted { method, direction, secrets } = self.wanted;
        if !method.is_empty()
            && !entry.message().is_some_and(|message| self.is_of_method(entry.dir, &message))
        {
            return None;
        }
        if direction.is_some_and(|direction| direction != entry.dir) {
            return None;
        }
        Some(!secrets && redact::entry(entry))
    }

    fn is_of_method(&mut self, direction: Direction, message: &Value) -> bool {
        let id = message.get("id").map(Value::to_string);
        let Some(name) = message.get("method").and_then(Value::as_str) else {
            return id.is_some_and(|id| self.answers.remove(&(direction.as_str(), id)));
        };
        let is = |wanted: &String| match wanted.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == wanted,
        };
        let found = self.wanted.method.iter().any(is);
        if let Some(id) = id.filter(|_| found && self.answers.len() < OPEN) {
            let back = if direction == Direction::C2s { Direction::S2c } else { Direction::C2s };
            self.answers.insert((back.as_str(), id));
        }
        found
    }
}

/// Returns what an entry is called: its method and id.
fn title(message: &Value) -> String {
    let id = message.get("id").map(|id| format!("#{}", escape_line(&id.to_string()))).unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    let word = match method {
        Some(method) => escape_line(method),
        None if message.get("error").is_some() => "error".to_owned(),
        None if message.get("result").is_some() => "result".to_owned(),
        None => String::new(),
    };
    [word, id].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns an entry as a line for a person: its number, its time, its direction, what it is and what is in it.
fn shown(entry: &Entry<'_>, full: bool) -> String {
    let seconds = format!("+{}.{:06}", entry.us / 1_000_000, entry.us % 1_000_000);
    let mut text = content(entry);
    if !full {
        text = clipped(&text, SHOWN);
    }
    let more = if entry.more { " (no line end)" } else { "" };
    format!("{:>6}  {seconds:>12}  {:<4}  {text}{more}", entry.seq, entry.dir.as_str())
}

fn content(entry: &Entry<'_>) -> String {
    let mut words = Vec::new();
    if entry.missed > 0 {
        words.push(format!("({} bytes are missing here)", entry.missed));
    }
    if entry.end {
        words.push("(end)".to_owned());
    }
    if let Some(code) = entry.exit {
        words.push(format!("(exit code {code})"));
    }
    if let Some(hex) = &entry.hex {
        words.push(format!("(not UTF-8) {hex}"));
    }
    match entry.message() {
        Some(message) => {
            words.push(title(&message));
            let body = ["params", "result", "error"].iter().find_map(|member| message.get(*member));
            words.push(escape_line(&body.map_or_else(|| message.to_string(), Value::to_string)));
        }
        None => words.extend(entry.line.as_deref().map(escape_line)),
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
