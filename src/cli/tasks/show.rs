//! `adjutant tasks show`.

use clap::Args;

use super::super::output::{self, Failure};
use super::{AGENT, HUB, ago, as_json, short_id, status};
use adjutant_agents::Task;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_terminal::socket::control::ControlClient;

/// The mark before each line of the task's text, which its asker wrote.
const TASK: &str = "task | ";

/// Arguments of `adjutant tasks show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The task's id, or enough of its beginning
    id: String,
    /// Print only the change, for `git apply`
    #[arg(long, conflicts_with = "json")]
    patch: bool,
}

/// Prints one task.
pub(super) fn run(args: &ShowArgs, client: &mut ControlClient) -> Result<(), Failure> {
    let task = client.task(&args.id)?;
    if output::is_json() {
        return output::json(&as_json(&task));
    }
    if args.patch {
        let outcome = task.outcome.as_deref();
        let repository = outcome.and_then(|outcome| outcome.report.repository.as_ref());
        let patch = repository.and_then(|repository| repository.patch.as_deref());
        let patch = patch.ok_or_else(|| {
            Failure::new(format!("task {} has no patch", short_id(&task.id)))
                .hint("only a task that ended in its own worktree (--isolation worktree) has a patch")
        })?;
        return output::text(patch.strip_suffix('\n').unwrap_or(patch));
    }
    lines(&task).iter().try_for_each(|line| output::data(line))
}

fn lines(task: &Task) -> Vec<String> {
    let at = |millis: i64| format!("{} ({})", stamp(instant(millis)), ago(millis));
    let mut lines = vec![
        format!("task      {}", task.id),
        format!("status    {}", status(task)),
        format!("agent     {} on {}", escape_line(&task.agent), escape_line(&task.runner)),
        format!("asked by  {}", escape_line(&task.label)),
        format!("folder    {}", escape_line(&task.workdir)),
        format!("created   {}", at(task.created_at)),
    ];
    lines.extend(task.machine.iter().map(|machine| {
        format!("machine   {} ({})", escape_line(&machine.to_string()), escape_line(&machine.id))
    }));
    lines.extend(task.waiting_reason.iter().map(|reason| format!("waits     {}", escape_line(reason))));
    lines.extend(task.started_at.map(|started| format!("started   {}", at(started))));
    lines.extend(task.ended_at.map(|ended| format!("ended     {}", at(ended))));
    let Some(outcome) = task.outcome.as_deref() else {
        lines.extend([String::new(), output::marked(TASK, task.text.trim())]);
        return lines;
    };
    lines.push(format!("report    {}", escape_line(&outcome.summary())));
    lines.extend(
        outcome.report.findings().iter().map(|finding| format!("finding   {}", escape_line(finding))),
    );
    lines.extend(outcome.report.denied.iter().map(|call| format!("denied    {}", escape_line(call))));
    if let Some(repository) = &outcome.report.repository {
        lines.extend(repository.kept.as_ref().map(|kept| format!("worktree  {}", escape_line(kept))));
        if repository.patch.is_some() {
            lines.push(format!("patch     adjutant tasks show {} --patch", short_id(&task.id)));
        }
        for file in &repository.files {
            let count =
                |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            let (plus, minus) = (count(file.insertions), count(file.deletions));
            lines.push(format!("  {}  +{plus} \u{2212}{minus}", escape_line(&file.path)));
        }
    }
    lines.extend([String::new(), output::marked(TASK, task.text.trim()), String::new()]);
    lines.push(format!("{HUB}{}", escape_line(&outcome.sentence())));
    if let Some(message) = outcome.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        lines.push(output::marked(AGENT, message));
    }
    lines
}
