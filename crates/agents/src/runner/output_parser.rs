//! Parser of a runner's output: lines of stdout become progress, and the end becomes a result.

use serde_json::Value;

use super::command_line::OutputFormat;
use super::progress::{AttemptEnd, AttemptResult};
use super::run_state::{RunAccumulator, notice, text_event};
use super::sanitize::{display_text, strip_escapes};
use super::{claude, codex, copilot, custom, gemini, opencode};
use crate::task::TaskEventKind;

/// Parses the output of one attempt: every line of stdout, then the end.
#[derive(Debug)]
pub struct OutputParser {
    format: OutputFormat,
    run: RunAccumulator,
}

impl OutputParser {
    /// Returns a parser of this format.
    pub(super) fn new(format: OutputFormat) -> Self {
        Self { format, run: RunAccumulator::default() }
    }

    /// Parses one line of stdout, without its end. A line that is not understood is skipped, because the CLIs add
    /// kinds of events with every release.
    pub fn line(&mut self, text: &str) -> Vec<TaskEventKind> {
        let run = &mut self.run;
        let read = match &self.format {
            OutputFormat::Codex => codex::read,
            OutputFormat::Copilot => copilot::read,
            OutputFormat::Claude => claude::read,
            OutputFormat::Gemini => gemini::read,
            OutputFormat::Opencode => opencode::read,
            OutputFormat::Text | OutputFormat::CopilotText | OutputFormat::Custom(_) => {
                if let OutputFormat::Custom(runner) = &self.format {
                    custom::line(runner, run, text);
                }
                run.text.line(text);
                return text_event(text);
            }
        };
        match serde_json::from_str::<Value>(text) {
            Ok(event @ Value::Object(_)) => {
                run.events += 1;
                read(run, &event)
            }
            _ if text.trim().is_empty() => Vec::new(),
            // An event that was cut, or mangled by the runner's own removal of secrets. Its beginning may name a call
            // that has ended; it is neither the message nor the end of the run.
            _ if text.starts_with('{') => {
                run.mangled += 1;
                let Some(event) = complete(text) else { return Vec::new() };
                let (message, end) = (run.message.clone(), run.end.clone());
                let progress = read(run, &event);
                (run.message, run.end) = (message, end);
                progress
            }
            _ => {
                run.last_line = Some(display_text(text));
                notice(text)
            }
        }
    }

    /// Returns whether the runner writes events, and not text alone.
    pub(crate) fn has_events(&self) -> bool {
        !matches!(self.format, OutputFormat::Text | OutputFormat::CopilotText | OutputFormat::Custom(_))
    }

    /// Returns whether the last thing that the runner reported is an error that it may retry after.
    pub(crate) fn is_retrying(&self) -> bool {
        self.run.last_error.is_some()
    }

    /// Returns whether the runner waits for its model: it writes events, and no command or tool of it runs.
    pub(crate) fn waits_for_model(&self) -> bool {
        self.has_events() && !self.run.has_open_calls()
    }

    /// Records that so many bytes of stdout are missing here, because they were over the limit.
    pub fn gap(&mut self, bytes: u64) {
        if bytes > 0 {
            self.run.text.gap(bytes);
        }
    }

    /// Returns the result of the attempt. Success needs the runner's own report of success, exit code 0 and a message
    /// that is not empty, because each of them alone has been seen with a failed run.
    pub fn finish(self, end: &AttemptEnd<'_>) -> AttemptResult {
        let Self { format, mut run } = self;
        if let Some(file) =
            end.final_message.map(String::from_utf8_lossy).filter(|text| !text.trim().is_empty())
        {
            // The file is whole even where a line was too long to be read.
            run.message = Some(strip_escapes(&file));
        }
        let stderr = strip_escapes(end.stderr);
        let mut end = AttemptEnd { stderr: &stderr, ..*end };
        match &format {
            OutputFormat::Text => run.finish_text(&end),
            OutputFormat::Custom(runner) => custom::finish(runner, &mut run, &end),
            OutputFormat::Gemini => gemini::finish(&mut run, &end),
            OutputFormat::Copilot => end.stderr = copilot::finish(&mut run, &end),
            OutputFormat::CopilotText => end.stderr = copilot::finish_text(&mut run, &end),
            OutputFormat::Codex | OutputFormat::Claude | OutputFormat::Opencode => {}
        }
        let message = run
            .message
            .take()
            .map(|text| strip_escapes(&text).trim().to_owned())
            .filter(|text| !text.is_empty());
        let failure = run.failure(&end, message.is_some());
        run.list_unfinished();
        AttemptResult {
            message,
            usage: run.usage,
            session: run.session,
            model: run.model,
            commands: run.commands,
            denied: run.denied,
            files: run.files,
            failure,
        }
    }
}

/// Parses the beginning of an object that was cut in a text, as if the text and the values around it ended there.
fn complete(beginning: &str) -> Option<Value> {
    let (mut open, mut in_text, mut escaped) = (Vec::new(), false, false);
    for letter in beginning.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '{' if !in_text => open.push('}'),
            '[' if !in_text => open.push(']'),
            '}' | ']' if !in_text => drop(open.pop()),
            _ => {}
        }
    }
    // A cut escape sequence has at most six characters.
    let tail = beginning.char_indices().rev().take(6).find(|(_, letter)| *letter == '\\').map(|(at, _)| at);
    let end: String = ['"'].into_iter().chain(open.into_iter().rev()).collect();
    let parse = |text: &str| serde_json::from_str(&format!("{text}{end}")).ok();
    parse(beginning).or_else(|| parse(&beginning[..tail?])).filter(|_| in_text)
}
