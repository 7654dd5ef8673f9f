//! Prints the result of an ended task: the message on stdout, the run report on stderr, and the exit code.

use std::process::ExitCode;

use super::super::output::{self, Failure};
use super::{AGENT, HUB, as_json, short_id};
use adjutant_agents::Task;
use adjutant_agents::runner::failure::Class;
use adjutant_agents::task::Ending;
use adjutant_base::text::escape_invisible::{escape, escape_line};

/// Prints the result of an ended task. The exit code is 0 if it succeeded and no check failed.
pub(in crate::cli) fn print(task: &Task) -> Result<ExitCode, Failure> {
    let Some(outcome) = task.outcome.as_deref() else {
        return Err(Failure::new(format!("task {} ended without a known result", task.id))
            .hint("`adjutant tasks logs` shows the events of the run"));
    };
    let succeeded = outcome.status == Ending::Succeeded;
    let refuted = outcome.is_refuted() || outcome.report.checks.iter().any(|check| !check.passed);
    let code = if succeeded && !refuted { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if output::is_json() {
        output::json(&as_json(task))?;
        return Ok(code);
    }
    let message = outcome.message.as_deref().map(str::trim_end).filter(|message| !message.is_empty());
    match (&outcome.structured, message) {
        (_, Some(message)) if !succeeded => {
            output::note(format!("{HUB}the last message was:\n{}", output::marked(AGENT, message)));
        }
        (Some(value), _) => output::json(value)?,
        // Without lines of the hub between them, the lines of the agent need no mark: a program can read them.
        (None, Some(message)) if output::is_one_stream() => output::data(&output::marked(AGENT, message))?,
        (None, Some(message)) => output::data(&escape(message))?,
        (None, None) => {}
    }
    output::note(format!("{HUB}task {}: {}", short_id(&task.id), escape_line(&outcome.summary())));
    let repository = outcome.report.repository.as_ref();
    if repository.is_some_and(|repository| repository.patch.is_some()) {
        output::note(format!(
            "{HUB}the change: adjutant tasks show {} --patch | git apply",
            short_id(&task.id)
        ));
    }
    if !succeeded {
        return Ok(Failure::new(escape_line(&outcome.sentence())).hint(more(task)).report());
    }
    if refuted {
        let changes = outcome.report.read_only_changes();
        let reason = changes.unwrap_or_else(|| "not every check passed".to_owned());
        return Ok(Failure::new(format!("the agent has finished, but {}", escape_line(&reason)))
            .hint(more(task))
            .report());
    }
    Ok(code)
}

/// Returns the hint for a task that failed.
fn more(task: &Task) -> String {
    let id = short_id(&task.id);
    let failure = task.outcome.as_ref().and_then(|outcome| outcome.failure.as_ref());
    if failure.is_some_and(|failure| failure.class == Class::UsageLimit.name()) {
        return format!(
            "`adjutant tasks retry {id}` delegates it again, with `--now` before the end of the limit"
        );
    }
    format!("`adjutant tasks show {id}` shows the run report, `adjutant tasks logs {id}` its events")
}
