//! Shows the progress of a task on stderr: a moving line on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::ProgressBar;

use super::super::output::{self, clipped};
use super::{short, status};
use adjutant_agents::task::TaskEventKind;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_terminal::socket::control::tasks::TaskUpdate;

/// How often the moving line is drawn.
const TICK: Duration = Duration::from_millis(120);

/// Characters of a line that is printed; a command may hold a whole program.
const LONGEST: usize = 200;

/// The screen, or the file that stderr is.
pub(in crate::cli) struct Progress {
    /// Only where a person looks.
    bar: Option<ProgressBar>,
    told: String,
}

impl Progress {
    /// Shows nothing yet.
    pub(in crate::cli) fn new() -> Self {
        let shown = io::stderr().is_terminal() && !output::is_quiet();
        let bar = shown.then(|| output::bar("{spinner} {elapsed} {wide_msg}"));
        Self { bar, told: String::new() }
    }

    /// Says on a terminal what is waited for.
    pub(in crate::cli) fn wait(&mut self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(TICK);
            bar.set_message(clipped(&escape_line(what), LONGEST));
        }
    }

    /// Shows where the task stands, or what happened in it.
    pub(in crate::cli) fn show(&mut self, update: &TaskUpdate) {
        let (text, stays) = match update {
            TaskUpdate::State(task) => {
                (format!("task {}: {} ({})", short(&task.id), status(task), task.runner), false)
            }
            // The last message of the agent is the result, which is printed anyway.
            TaskUpdate::Event {
                what: what @ (TaskEventKind::Text { .. } | TaskEventKind::Thinking { .. }),
                ..
            } => (what.line(), false),
            TaskUpdate::Event { what, .. } => (what.line(), true),
        };
        if stays || self.bar.is_none() {
            self.note(&text);
        }
        self.wait(&text);
    }

    /// Writes a line that stays.
    pub(in crate::cli) fn note(&mut self, text: &str) {
        let text = clipped(&escape_line(text), LONGEST);
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(&text)),
            None if text != self.told => output::note(&text),
            None => {}
        }
        self.told = text;
    }

    /// Takes the moving line away.
    pub(in crate::cli) fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
