//! `adjutant log …`: recordings, read without a hub.

mod export;
mod list;
mod replay;
mod show;
mod tail;

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::output::{Failure, clipped};
use super::{Common, one_of};
use adjutant_base::config::Roots;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_host::recorder::format::{Direction, Entry};
use adjutant_host::recorder::reader::{self, Found};
use adjutant_host::recorder::redact::{Redactor, Searched};

/// Maximum characters of a message on one line.
const MAX_MESSAGE_CHARS: usize = 200;
/// Maximum requests that a filter keeps for their answers, because some never get an answer.
const MAX_PENDING_REQUESTS: usize = 4096;

/// Commands of `adjutant log`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the recordings, the last used first
    List,
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
pub(super) fn run(command: Command, common: Common) -> Result<ExitCode, Failure> {
    let folder = common.config(Roots::User)?.recorder.folder.unwrap_or_default();
    match command {
        Command::List => list::run(&folder)?,
        Command::Tail(args) => tail::run(&args, &folder)?,
        Command::Show(args) => show::run(&args, &folder)?,
        Command::Export(args) => export::run(&args, &folder)?,
        Command::Replay(args) => return replay::run(&args, &folder),
    }
    Ok(ExitCode::SUCCESS)
}

/// Options that select entries.
#[derive(Debug, Args)]
struct FilterArgs {
    /// Only messages of this method and their answers; `item/*` for all methods with this prefix; may be repeated
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Only one direction: c2s (to the server), s2c (to the client), err (its stderr), note
    #[arg(long, value_name = "DIRECTION", value_parser = one_of(Direction::ALL.iter().map(|direction| (direction.name(), *direction))), hide_possible_values = true)]
    direction: Option<Direction>,
    /// Show secrets as they were recorded
    #[arg(long)]
    secrets: bool,
}

/// Redacts entries, and passes on the selected ones.
struct Filter<'a> {
    redactor: Redactor,
    selection: Selection<'a>,
}

/// The selected entries; answers belong to the requests with the selected methods.
struct Selection<'a> {
    args: &'a FilterArgs,
    /// The direction of an answer and its id.
    answers: HashSet<(Direction, String)>,
}

impl<'a> Filter<'a> {
    fn new(args: &'a FilterArgs) -> Self {
        Self { redactor: Redactor::default(), selection: Selection { args, answers: HashSet::new() } }
    }

    /// Takes an entry, and passes the selected entries that are finished to `take`, without their secrets and with the
    /// rules that found these. The redactor sees all entries, because one may say what is secret in another.
    fn pass(&mut self, entry: Entry<'_>, mut take: impl FnMut(&Entry<'_>, &[&'static str])) {
        let Self { redactor, selection } = self;
        let keeps_secrets = selection.args.secrets;
        let mut select = |entry: &Entry<'_>, rules: &[&'static str]| {
            if selection.contains(entry) {
                take(entry, rules);
            }
        };
        if keeps_secrets { select(&entry, &[]) } else { redactor.push(Searched::of(entry), select) }
    }

    /// Passes the selected entries of a whole recording to `take`, without their secrets and with the rules that found
    /// these, until it returns `false`.
    fn read(
        self,
        found: &Found,
        mut take: impl FnMut(&Entry<'_>, &[&'static str]) -> bool,
    ) -> Result<(), reader::Error> {
        let Self { mut redactor, mut selection } = self;
        let keeps_secrets = selection.args.secrets;
        let mut goes_on = true;
        let mut select = |entry: &Entry<'_>, rules: &[&'static str]| {
            goes_on = goes_on && (!selection.contains(entry) || take(entry, rules));
            goes_on
        };
        if keeps_secrets {
            return reader::entries(found, |entry| select(&entry, &[]));
        }
        let mut has_more = true;
        reader::searched_entries(found, |searched| {
            redactor.push(searched, |entry, rules| has_more = select(entry, rules));
            has_more
        })?;
        redactor.finish(|entry, rules| {
            select(entry, rules);
        });
        Ok(())
    }
}

impl Selection<'_> {
    fn contains(&mut self, entry: &Entry<'_>) -> bool {
        let FilterArgs { method, direction, .. } = self.args;
        (method.is_empty() || entry.message().is_some_and(|message| self.is_of_method(entry.dir, &message)))
            && direction.is_none_or(|direction| direction == entry.dir)
    }

    fn is_of_method(&mut self, direction: Direction, message: &Value) -> bool {
        let id = message.get("id").map(Value::to_string);
        let Some(name) = message.get("method").and_then(Value::as_str) else {
            return id.is_some_and(|id| self.answers.remove(&(direction, id)));
        };
        let found = self.args.method.iter().any(|method| match method.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == method,
        });
        if let Some(id) = id.filter(|_| found && self.answers.len() < MAX_PENDING_REQUESTS) {
            let back = if direction == Direction::C2s { Direction::S2c } else { Direction::C2s };
            self.answers.insert((back, id));
        }
        found
    }
}

/// Returns all recordings in `folder`.
fn recordings(folder: &Path) -> Result<Vec<Found>, Failure> {
    reader::list(folder).map_err(|error| {
        Failure::new(format!("{}: {error}", folder.display())).hint("check the permissions of this folder")
    })
}

/// Returns the method of a message, or the kind of its answer, and its id.
fn title(message: &Value) -> String {
    let id = message.get("id").map(|id| format!("#{}", escape_line(&id.to_string()))).unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    let kind = match method {
        Some(method) => escape_line(method),
        None if message.get("error").is_some() => "error".to_owned(),
        None if message.get("result").is_some() => "result".to_owned(),
        None => String::new(),
    };
    [kind, id].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Renders an entry as a line: its number, time, direction and content.
fn render(entry: &Entry<'_>, full: bool) -> String {
    let seconds = format!("+{}.{:06}", entry.us / 1_000_000, entry.us % 1_000_000);
    let mut text = content(entry);
    if !full {
        text = clipped(&text, MAX_MESSAGE_CHARS);
    }
    let more = if entry.more { " (no line end)" } else { "" };
    format!("{:>6}  {seconds:>12}  {:<4}  {text}{more}", entry.seq, entry.dir.name())
}

fn content(entry: &Entry<'_>) -> String {
    let mut parts = Vec::new();
    if entry.missed > 0 {
        parts.push(format!("({} bytes are missing here)", entry.missed));
    }
    if entry.end {
        parts.push("(end)".to_owned());
    }
    if let Some(code) = entry.exit {
        parts.push(format!("(exit code {code})"));
    }
    if let Some(hex) = &entry.hex {
        parts.push(format!("(not UTF-8) {hex}"));
    }
    match entry.message() {
        Some(message) => {
            parts.push(title(&message));
            let body = ["params", "result", "error"].iter().find_map(|member| message.get(*member));
            parts.push(escape_line(&body.map_or_else(|| message.to_string(), Value::to_string)));
        }
        None => parts.extend(entry.line.as_deref().map(escape_line)),
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}
