//! State of a run while its output is parsed, and the failure that follows from it at the end.

use super::command_line::CommandVariant;
use super::failure::{Class, Failure};
use super::head_tail_buffer::HeadTailBuffer;
use super::progress::{AttemptEnd, ToolResult};
use super::sanitize::display_text;
use crate::run_report::{CommandRun, Usage};
use crate::task::TaskEventKind;
use adjutant_host::process::{Cause, Exit, Limit};

/// Most commands, and most files, that a result lists.
const MAX_LISTED: usize = 1_000;
/// Most open calls that are remembered; a run with more loses the ends of some.
const MAX_OPEN: usize = 1_000;

/// Everything that the output of a run has reported so far.
#[derive(Debug, Default)]
pub(super) struct RunAccumulator {
    pub(super) message: Option<String>,
    pub(super) usage: Usage,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) commands: Vec<CommandRun>,
    pub(super) denied: Vec<String>,
    pub(super) files: Vec<String>,
    /// The runner's own report of success or failure.
    pub(super) end: Option<Result<(), Failure>>,
    /// The last reported error that was not the end.
    pub(super) last_error: Option<Failure>,
    /// The last line that was not an event.
    pub(super) last_line: Option<String>,
    /// The number of lines that were events.
    pub(super) events: u64,
    /// The number of lines that were a cut event.
    pub(super) mangled: u64,
    /// Text output.
    pub(super) text: HeadTailBuffer,
    /// Open calls, by the runner's id, in the order of their starts.
    open: Vec<(String, Open)>,
}

/// An open call.
#[derive(Debug)]
enum Open {
    Command(String),
    /// A tool, and the file that it changes if it succeeds.
    Tool(String, Option<String>),
}

impl RunAccumulator {
    /// Records the start of a command.
    pub(super) fn command_started(&mut self, id: &str, command: &str) -> Vec<TaskEventKind> {
        let command = display_text(command);
        self.remember(id, Open::Command(command.clone()));
        vec![TaskEventKind::CommandStarted { command }]
    }

    /// Records the call of a tool, which changes `file` if it succeeds.
    pub(super) fn tool_started(&mut self, id: &str, tool: &str, file: Option<&str>) -> Vec<TaskEventKind> {
        let tool = display_text(tool);
        self.remember(id, Open::Tool(tool.clone(), file.map(ToOwned::to_owned)));
        vec![TaskEventKind::ToolStarted { tool }]
    }

    fn remember(&mut self, id: &str, open: Open) {
        self.open.retain(|(known, _)| known != id);
        if self.open.len() < MAX_OPEN {
            self.open.push((id.to_owned(), open));
        }
    }

    /// Returns whether a command or a tool runs.
    pub(super) fn has_open_calls(&self) -> bool {
        !self.open.is_empty()
    }

    /// Records the end of the call `id`. `exit` is the exit code of a command, where the runner reports it.
    pub(super) fn call_ended(
        &mut self,
        id: &str,
        result: ToolResult,
        exit: Option<i32>,
    ) -> Vec<TaskEventKind> {
        let position = self.open.iter().position(|(open, _)| open == id);
        let open = position.map(|position| self.open.remove(position).1);
        match open {
            Some(open) if result == ToolResult::Denied => self.denied(match open {
                Open::Command(command) => command,
                Open::Tool(tool, None) => tool,
                Open::Tool(tool, Some(file)) => format!("{tool} {}", display_text(&file)),
            }),
            Some(Open::Command(command)) => self.command_ended(command, exit),
            Some(Open::Tool(tool, file)) => {
                let mut progress =
                    vec![TaskEventKind::ToolEnded { tool, failed: result == ToolResult::Failed }];
                if let Some(file) = file.filter(|_| result == ToolResult::Done) {
                    progress.extend(self.files_changed([file]));
                }
                progress
            }
            None => Vec::new(),
        }
    }

    /// Records a call that the runner did not let run.
    pub(super) fn denied(&mut self, call: String) -> Vec<TaskEventKind> {
        if self.denied.len() < MAX_LISTED {
            self.denied.push(call.clone());
        }
        vec![TaskEventKind::Denied { call }]
    }

    /// Lists the commands whose end was not reported, because the run was ended before or a line was cut.
    pub(super) fn list_unfinished(&mut self) {
        for (_, open) in std::mem::take(&mut self.open) {
            if let Open::Command(command) = open
                && self.commands.len() < MAX_LISTED
            {
                self.commands.push(CommandRun { command, exit: None, unfinished: true });
            }
        }
    }

    /// Records the end of a command; the runner may not have reported its start.
    pub(super) fn command_ended(&mut self, mut command: String, exit: Option<i32>) -> Vec<TaskEventKind> {
        if command.is_empty() {
            // Its line was cut before it.
            "(not reported)".clone_into(&mut command);
        }
        if self.commands.len() < MAX_LISTED {
            self.commands.push(CommandRun { command: command.clone(), exit, unfinished: false });
        }
        vec![TaskEventKind::CommandEnded { command, exit }]
    }

    /// Records changed files.
    pub(super) fn files_changed(&mut self, files: impl IntoIterator<Item = String>) -> Vec<TaskEventKind> {
        let files: Vec<String> = files.into_iter().take(MAX_LISTED).map(|file| display_text(&file)).collect();
        for file in &files {
            if self.files.len() < MAX_LISTED && !self.files.contains(file) {
                self.files.push(file.clone());
            }
        }
        if files.is_empty() { Vec::new() } else { vec![TaskEventKind::FilesChanged { files }] }
    }

    /// Records an error that need not be the end.
    pub(super) fn error(&mut self, failure: Failure) -> Vec<TaskEventKind> {
        let text = failure.detail.clone();
        self.last_error = Some(failure);
        notice(&text)
    }

    /// Takes text output as the message, and exit code 0 as the runner's report of success.
    pub(super) fn finish_text(&mut self, end: &AttemptEnd<'_>) {
        let text = std::mem::take(&mut self.text).into_text();
        if self.message.is_none() {
            self.message = Some(text);
        }
        if end.exit == Exit::Code(0) {
            self.end = Some(Ok(()));
        }
        let value = |key: &str| {
            let line = end.stderr.lines().find_map(|line| line.strip_prefix(key))?;
            Some(display_text(line)).filter(|value| !value.is_empty())
        };
        self.session = value("session id: ");
        self.model = value("model: ");
    }

    /// Returns why the run did not succeed, or `None` if it did.
    pub(super) fn failure(&mut self, end: &AttemptEnd<'_>, has_message: bool) -> Option<Failure> {
        match end.cause {
            Cause::Exited => {}
            Cause::Cancelled => return Some(Failure::new(Class::Cancelled, "it was cancelled")),
            Cause::TimedOut(limit) => {
                // Some runners report their retries on stderr only. With text output, stderr may be the model's words.
                let on_stderr = || {
                    let text = error_lines(end.stderr).filter(|_| self.events > 0)?;
                    Some(Failure::classify(&text, Class::Provider))
                };
                let last_error = self.last_error.take().or_else(on_stderr);
                let reached = match limit {
                    Limit::Wall => "it reached its time limit",
                    Limit::Idle => {
                        "it made no progress for as long as `stall_seconds` or `idle_timeout_seconds` allows"
                    }
                    Limit::FirstOutput => "it wrote nothing until the time limit of its first output",
                };
                return Some(match last_error {
                    // The runner would have retried for ever.
                    Some(failure) if matches!(failure.class, Class::UsageLimit | Class::Authentication) => {
                        failure
                    }
                    Some(failure) => {
                        let detail = format!("{reached}; its last error: {}", failure.detail);
                        Failure::new(Class::TimedOut(limit), detail)
                    }
                    None => Failure::new(Class::TimedOut(limit), reached),
                });
            }
            Cause::HubGone => return Some(Failure::new(Class::HubGone, "the hub ended while it ran")),
            Cause::Lost => {
                let detail = "the supervisor of the run was killed, and the run was ended";
                return Some(Failure::new(Class::SupervisorGone, detail));
            }
        }
        let code = match end.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => {
                return Some(Failure::new(Class::Crashed, format!("it was ended by signal {signal}")));
            }
            Exit::NotStarted => {
                return Some(Failure::new(Class::NotInstalled, "the program could not be started"));
            }
            Exit::Unknown => {
                return Some(Failure::new(
                    Class::HubGone,
                    "its end is unknown: neither the hub nor a supervisor saw it",
                ));
            }
        };
        match self.end.take() {
            Some(Err(failure)) => Some(failure),
            Some(Ok(())) if code != 0 => {
                let detail = format!("it reported success, and then exited with code {code}");
                Some(Failure::new(Class::Crashed, detail))
            }
            Some(Ok(())) if has_message => None,
            Some(Ok(())) => {
                let empty = Failure::new(Class::EmptyAnswer, "it succeeded without an answer");
                Some(self.last_error.take().unwrap_or(empty))
            }
            None if code == 0 && self.events == 0 && self.mangled == 0 && self.last_line.is_none() => {
                Some(Failure::new(Class::EmptyAnswer, "it exited with code 0 and wrote nothing"))
            }
            None if code == 0 => {
                let cut = Failure::new(Class::BadOutput, "it exited with code 0 without reporting its end");
                Some(self.last_error.take().unwrap_or(cut))
            }
            None => Some(self.unexplained(code, end)),
        }
    }

    /// Returns the run's own text about its failure: from stderr, else the last line of stdout.
    pub(super) fn failure_text(&self, stderr: &str) -> Option<String> {
        error_lines(stderr).filter(|text| !text.is_empty()).or_else(|| self.last_line.clone())
    }

    /// Returns the failure of a bad exit without a final event: the last reported error, else the text on stderr.
    fn unexplained(&mut self, code: i32, end: &AttemptEnd<'_>) -> Failure {
        if let Some(failure) = self.last_error.take() {
            return failure;
        }
        let Some(text) = self.failure_text(end.stderr) else {
            return Failure::new(Class::Crashed, format!("it exited with code {code} and wrote nothing"));
        };
        let mut failure = Failure::classify(&text, Class::Crashed);
        failure.detail = display_text(&format!("exit code {code}: {}", failure.detail));
        // The documented command line needs a repository, the native one does not. Nothing has run yet.
        if text.contains("--skip-git-repo-check") {
            failure.retry_with = Some(CommandVariant::Native);
        }
        failure
    }
}

/// Returns a message of the agent as an event, or none where it is empty.
pub(super) fn text_event(text: &str) -> Vec<TaskEventKind> {
    event(text, |text| TaskEventKind::Text { text })
}

/// Returns the agent's reasoning as an event, or none where it is empty.
pub(super) fn thinking(text: &str) -> Vec<TaskEventKind> {
    event(text, |text| TaskEventKind::Thinking { text })
}

/// Returns a warning or a retry of the runner as an event, or none where it is empty.
pub(super) fn notice(text: &str) -> Vec<TaskEventKind> {
    event(text, |text| TaskEventKind::Notice { text })
}

fn event(text: &str, kind: fn(String) -> TaskEventKind) -> Vec<TaskEventKind> {
    let text = display_text(text);
    if text.is_empty() { Vec::new() } else { vec![kind(text)] }
}

/// Adds the usage of a step to the sum of the steps before it.
pub(crate) fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// Converts dollars into millionths of a dollar; `None` outside of 0 to 10⁹ dollars.
pub(super) fn to_micro_usd(dollars: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// Returns the lines of stderr that name an error, at most ten; without such a line, the last three. The other lines
/// are left out because they may be the model's own text.
fn error_lines(stderr: &str) -> Option<String> {
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
    (!errors.is_empty()).then(|| display_text(&errors.join("\n")))
}
