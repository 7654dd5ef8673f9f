//! Shows the progress of a task on stderr: a status line on a terminal, else one line for each event.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::ProgressBar;

use super::super::output::{self, clipped};
use super::{AGENT, HUB, short_id, status};
use adjutant_agents::task::TaskEventKind;
use adjutant_base::config::env;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_terminal::socket::control::tasks::TaskUpdate;

/// Interval between two frames of the status line.
const TICK_INTERVAL: Duration = Duration::from_millis(120);

/// Maximum characters of a printed line; a command may contain a whole program.
const MAX_LINE_CHARS: usize = 200;

/// Progress on stderr.
pub(in crate::cli) struct Progress {
    /// Only on a terminal.
    bar: Option<ProgressBar>,
    last: String,
}

impl Progress {
    /// Shows nothing until the first update.
    pub(in crate::cli) fn new() -> Self {
        let visible = io::stderr().is_terminal() && !output::is_quiet() && !env::is_dumb_terminal();
        let bar = visible.then(|| output::bar("{spinner} {elapsed} {wide_msg}"));
        Self { bar, last: String::new() }
    }

    /// Sets the status line of a terminal.
    pub(in crate::cli) fn wait(&mut self, status: &str) {
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(TICK_INTERVAL);
            bar.set_message(clipped(status, MAX_LINE_CHARS));
        }
    }

    /// Shows the state of the task, or an event.
    pub(in crate::cli) fn show(&mut self, update: &TaskUpdate) {
        let (mark, text, permanent) = match update {
            TaskUpdate::State(task) => {
                (HUB, format!("task {}: {} ({})", short_id(&task.id), status(task), task.runner), false)
            }
            // The last message of the agent is the result, which is printed at the end.
            TaskUpdate::Event(event) => {
                let is_message =
                    matches!(event.kind, TaskEventKind::Text { .. } | TaskEventKind::Thinking { .. });
                (if event.kind.is_of_hub() { HUB } else { AGENT }, event.kind.line(), !is_message)
            }
        };
        if permanent || self.bar.is_none() {
            self.line(mark, &text);
        }
        self.wait(&format!("{mark}{}", escape_line(&text)));
    }

    /// Prints a permanent line of the hub.
    pub(in crate::cli) fn note(&mut self, text: &str) {
        self.line(HUB, text);
    }

    fn line(&mut self, mark: &str, text: &str) {
        let text = output::marked(mark, &clipped(&escape_line(text), MAX_LINE_CHARS));
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(&text)),
            None if text != self.last => output::note(&text),
            None => {}
        }
        self.last = text;
    }

    /// Removes the status line.
    pub(in crate::cli) fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
