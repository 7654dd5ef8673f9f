//! What a run has told so far, whichever runner it is, and what that means once the process is gone.

use std::collections::HashMap;

use super::failure::{Class, Failure};
use super::kept::Kept;
use super::reader::{Ended, Progress, Ran, ToolResult, Usage};
use super::text::{plain, shown};
use super::{Form, copilot};
use crate::process::{Cause, Exit};

/// Most commands, and most files, that a report lists.
const LISTED: usize = 1_000;
/// Most calls under way that are remembered; a run with more has lost the ends of some.
const OPEN: usize = 1_000;

/// What a run has told so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) message: Option<String>,
    pub(super) usage: Usage,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) commands: Vec<Ran>,
    pub(super) files: Vec<String>,
    /// The runner's own word that it is done, or why not.
    pub(super) end: Option<Result<(), Failure>>,
    /// The last error it told of without ending.
    pub(super) last_error: Option<Failure>,
    /// The last line that was no event.
    pub(super) last_words: Option<String>,
    /// Lines that were events.
    pub(super) events: u64,
    /// Lines that were the beginning of an event, and no more.
    pub(super) mangled: u64,
    /// Text output.
    pub(super) text: Kept,
    /// Calls under way, by the runner's id.
    open: HashMap<String, Open>,
}

/// A call under way.
#[derive(Debug)]
enum Open {
    Command(String),
    /// A tool, and the file that it changes when it does what it was asked.
    Tool(String, Option<String>),
}

impl Seen {
    /// The agent runs a command.
    pub(super) fn command_started(&mut self, id: &str, command: &str) -> Vec<Progress> {
        let command = shown(command);
        self.remember(id, Open::Command(command.clone()));
        vec![Progress::CommandStarted { command }]
    }

    /// The agent calls a tool, which changes `file` if it succeeds.
    pub(super) fn tool_started(&mut self, id: &str, tool: &str, file: Option<&str>) -> Vec<Progress> {
        let tool = shown(tool);
        self.remember(id, Open::Tool(tool.clone(), file.map(ToOwned::to_owned)));
        vec![Progress::ToolStarted { tool }]
    }

    fn remember(&mut self, id: &str, open: Open) {
        if self.open.len() < OPEN {
            self.open.insert(id.to_owned(), open);
        }
    }

    /// What was started under `id` has ended. `exit` is that of a command, where told.
    pub(super) fn ended(&mut self, id: &str, result: ToolResult, exit: Option<i32>) -> Vec<Progress> {
        match self.open.remove(id) {
            Some(Open::Command(command)) => self.command_ended(command, exit),
            Some(Open::Tool(tool, file)) => {
                let mut progress = vec![Progress::ToolEnded { tool, result }];
                if let Some(file) = file.filter(|_| result == ToolResult::Done) {
                    progress.extend(self.files_changed([file]));
                }
                progress
            }
            None => Vec::new(),
        }
    }

    /// A command has ended, whose start may not have been told.
    pub(super) fn command_ended(&mut self, command: String, exit: Option<i32>) -> Vec<Progress> {
        if self.commands.len() < LISTED {
            self.commands.push(Ran { command: command.clone(), exit });
        }
        vec![Progress::CommandEnded { command, exit }]
    }

    /// Files were changed.
    pub(super) fn files_changed(&mut self, files: impl IntoIterator<Item = String>) -> Vec<Progress> {
        let files: Vec<String> = files.into_iter().take(LISTED).map(|file| shown(&file)).collect();
        for file in &files {
            if self.files.len() < LISTED && !self.files.contains(file) {
                self.files.push(file.clone());
            }
        }
        if files.is_empty() { Vec::new() } else { vec![Progress::FilesChanged(files)] }
    }

    /// The runner tells of an error that need not be its end.
    pub(super) fn error(&mut self, failure: Failure) -> Vec<Progress> {
        let text = failure.detail.clone();
        self.last_error = Some(failure);
        say(Progress::Notice, &text)
    }

    /// Text output is the message; a good exit is the runner's word that it is done.
    pub(super) fn end_of_text(&mut self, ended: &Ended<'_>) {
        let text = std::mem::take(&mut self.text).into_text();
        if self.message.is_none() {
            self.message = Some(text);
        }
        if ended.exit == Exit::Code(0) {
            self.end = Some(Ok(()));
        }
        let told = plain(ended.stderr);
        let value = |key: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(key))?;
            Some(shown(line)).filter(|value| !value.is_empty())
        };
        self.session = value("session id: ").or_else(|| copilot::session(&told));
        self.model = value("model: ");
    }

    /// Why the run did not succeed, or `None` if it did.
    pub(super) fn failure(&mut self, ended: &Ended<'_>, has_message: bool) -> Option<Failure> {
        match ended.cause {
            Cause::Exited => {}
            Cause::Cancelled => return Some(Failure::new(Class::Cancelled, "it was cancelled")),
            Cause::TimedOut(limit) => {
                let told = self.last_error.take();
                return Some(match told {
                    // It would have tried again for ever.
                    Some(failure) if matches!(failure.class, Class::UsageLimit | Class::Authentication) => {
                        failure
                    }
                    Some(failure) => {
                        let detail = format!("it reached its time limit; its last error: {}", failure.detail);
                        Failure::new(Class::TimedOut(limit), detail)
                    }
                    None => Failure::new(Class::TimedOut(limit), "it reached its time limit"),
                });
            }
            Cause::HubGone | Cause::Lost => {
                return Some(Failure::new(Class::HubGone, "the hub went away while it ran"));
            }
        }
        let code = match ended.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => {
                return Some(Failure::new(Class::Crashed, format!("it was ended by signal {signal}")));
            }
            Exit::NotStarted => {
                return Some(Failure::new(Class::NotInstalled, "the program could not be started"));
            }
            Exit::Unknown => return Some(Failure::new(Class::HubGone, "nobody saw its end")),
        };
        match self.end.take() {
            Some(Err(failure)) => Some(failure),
            Some(Ok(())) if code != 0 => {
                let detail = format!("it said that it was done, and then exited with code {code}");
                Some(Failure::new(Class::Crashed, detail))
            }
            Some(Ok(())) if has_message => None,
            Some(Ok(())) => {
                let empty = Failure::new(Class::EmptyAnswer, "it ended well, but said nothing");
                Some(self.last_error.take().unwrap_or(empty))
            }
            None if code == 0 && self.events == 0 && self.mangled == 0 && self.last_words.is_none() => {
                Some(Failure::new(Class::EmptyAnswer, "it exited with code 0 and wrote nothing"))
            }
            None if code == 0 => {
                let cut = Failure::new(Class::BadOutput, "it exited with code 0 without telling its end");
                Some(self.last_error.take().unwrap_or(cut))
            }
            None => Some(self.unexplained(code, ended)),
        }
    }

    /// What the run says about its failure: on stderr, else in its last words on stdout.
    pub(super) fn words_on(&self, stderr: &str) -> Option<String> {
        error_lines(&plain(stderr)).filter(|text| !text.is_empty()).or_else(|| self.last_words.clone())
    }

    /// A bad exit without a final event: the last error that was told, else what stands on stderr.
    fn unexplained(&mut self, code: i32, ended: &Ended<'_>) -> Failure {
        if let Some(failure) = self.last_error.take() {
            return failure;
        }
        let Some(words) = self.words_on(ended.stderr) else {
            return Failure::new(Class::Crashed, format!("it exited with code {code} and said nothing"));
        };
        let mut failure = Failure::told(&words, Class::Crashed);
        failure.detail = shown(&format!("exit code {code}: {}", failure.detail));
        // The documented command line asks for a repository; ours does not. Nothing has run yet.
        if words.contains("--skip-git-repo-check") {
            failure.retry_with = Some(Form::Own);
        }
        failure
    }
}

/// A progress item of `text`, or none where nothing is left of it.
pub(super) fn say(kind: fn(String) -> Progress, text: &str) -> Vec<Progress> {
    let text = shown(text);
    if text.is_empty() { Vec::new() } else { vec![kind(text)] }
}

/// Adds what a step cost to what the steps before it did.
pub(super) fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// Turns dollars into millionths of a dollar; nothing for what no run costs.
pub(super) fn micro(dollars: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// The lines of stderr that tell an error, at most ten; where none says so by itself, the last three. The rest may be
/// the model's own words, which decide nothing.
fn error_lines(stderr: &str) -> Option<String> {
    let stderr = copilot::without_statistics(stderr);
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_error = |line: &&&str| {
        let start: String = line.chars().take(60).collect::<String>().to_lowercase();
        start.starts_with("error") || start.contains(" error ") || start.contains("error:")
    };
    let mut errors: Vec<&str> = lines.iter().rev().filter(is_error).take(10).copied().collect();
    if errors.is_empty() {
        errors = lines.iter().rev().take(3).copied().collect();
    }
    errors.reverse();
    (!errors.is_empty()).then(|| shown(&errors.join("\n")))
}
